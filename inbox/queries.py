"""A user's inbox rows by folder and filter. One page of a folder is usually one Query."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from accounts.models import User
from contracts.queries import list_booked_threads
from core.ids import ULID_PATTERN
from core.refusals import Refusal
from inbox.models import IndexedThread
from threads.dynamodb import keys
from threads.dynamodb.concurrent_reads import read_all
from threads.dynamodb.table import Index, Item, KeyCondition, Page, count, query
from threads.models import Invitation, Participant, PendingAction
from threads.models.participant import (
    ARCHIVED_FOLDER,
    INBOX,
    REQUESTS,
    SPAM,
    request_cutoff,
)
from threads.models.recent_rows import RecentRows
from threads.models.thread import PROJECT
from threads.queries import unexpired_requests

PAGE_SIZE = 50
# Rows in the page itself: a bit more than a screen. Scrolling loads the rest.
FIRST_PAGE_SIZE = 15
# Four more rows are seldom charged: 4 KB, the unit of a read, are six to eight rows.
EXTRA_ROWS = 4
# The most rows of a filter, and the highest exact count.
MAX_ROWS = 100
FOLDERS = (INBOX, REQUESTS, ARCHIVED_FOLDER, SPAM)
UNREAD, WAITING, PROJECTS = "unread", "waiting", "projects"
# The end of a page: the position of its last row, which contains the thread id.
CURSOR = re.compile(
    rf"(?:{keys.PINNED})?\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z#(thrd_{ULID_PATTERN})",
    re.ASCII,
)


@dataclass
class FolderPage:
    rows: list[Participant]
    # The parameter of the next page; empty at the end.
    cursor: str = ""
    # A filter has more rows than it shows.
    is_truncated: bool = False


def list_folder(
    user: User,
    folder: str,
    *,
    after: str = "",
    size: int = PAGE_SIZE,
    recent: RecentRows | None = None,
) -> FolderPage:
    """Pinned rows first, then the newest. Recently written rows are read from the table, since the
    index may lag behind."""
    recent, indexed = recent or RecentRows(user.id), []
    for page in _index_pages(user, folder, after, size + len(recent.threads)):
        indexed += page.of(Participant)
        end = keys.last_position(page.next_key["GSI1SK"]["S"]) if page.next_key else ""
        rows = [
            row
            for row in recent.merge(indexed, lambda row: _belongs(row, folder))
            if end <= row.position and (row.position < after or not after)
        ]
        # Rows further down may be placed among the others.
        if len(rows) >= size:
            break
    rows.sort(key=_sort_key, reverse=True)
    has_more = page.has_more or len(rows) > size
    return FolderPage(rows[:size], rows[size - 1].position if has_more else "")


def _index_pages(user: User, folder: str, after: str, size: int) -> Iterator[Page]:
    """Pages of the index with some rows more than needed: usually the last one is older than the
    others by more than a minute, so that their order is certain and no other page is read."""
    next_key = _start_key(user, folder, after) if after else None
    while True:
        page = query(
            keys.inbox_pk(user.id, folder),
            unexpired_requests() if folder == REQUESTS else None,
            limit=size + EXTRA_ROWS,
            index=Item.inbox,
            newest_first=True,
            after=next_key,
        )
        yield page
        next_key = page.next_key
        if next_key is None:
            return


def _belongs(row: Participant, folder: str) -> bool:
    is_expired = folder == REQUESTS and row.inbox_sk < request_cutoff()
    return row.folder == folder and not is_expired


def _sort_key(row: Participant) -> str:
    return row.position


def list_unread(user: User, recent: RecentRows | None = None) -> FolderPage:
    # One more than shown, to find out whether there are more.
    page = query(
        keys.unread_pk(user.id), limit=MAX_ROWS + 1, index=Item.unread_threads, newest_first=True
    )
    threads = [row.thread_id for row in page.of(Participant)]
    # The index may lag behind the items.
    rows = [row for row in _read(user, threads[:MAX_ROWS], recent) if row.has_unread]
    return _filtered(rows, is_truncated=len(threads) > MAX_ROWS)


def list_waiting(user: User, recent: RecentRows | None = None) -> FolderPage:
    """Threads in which this user has a pending action."""
    threads, has_more = _threads_with_actions(user)
    pending = set(threads[:MAX_ROWS])
    rows = [row for row in _read(user, pending, recent) if row.thread_id in pending]
    return _filtered(rows, is_truncated=has_more or len(threads) > MAX_ROWS)


def list_projects(user: User, recent: RecentRows | None = None) -> FolderPage:
    """The threads of the user's bookings, and from the search index those they are a guest in."""
    threads = list_booked_threads(user, limit=MAX_ROWS + 1)
    guest = IndexedThread.objects.filter(people__user_id=user.id, kind=PROJECT)
    threads += (
        guest.exclude(pk__in=threads).order_by("-pk").values_list("pk", flat=True)[: MAX_ROWS + 1]
    )
    rows = [row for row in _read(user, threads[:MAX_ROWS], recent) if row.kind == PROJECT]
    return _filtered(rows, is_truncated=len(threads) > MAX_ROWS)


FILTERS = {UNREAD: list_unread, WAITING: list_waiting, PROJECTS: list_projects}


def list_rows(
    user: User,
    folder: str,
    *,
    after: str = "",
    size: int = PAGE_SIZE,
    recent: RecentRows | None = None,
) -> FolderPage:
    """A folder, or a filter of the inbox."""
    recent = recent or RecentRows(user.id)
    if folder in FILTERS:
        return FILTERS[folder](user, recent)
    return list_folder(user, folder, after=after, size=size, recent=recent)


def _read(user: User, thread_ids: Iterable[str], recent: RecentRows | None) -> list[Participant]:
    """The rows of these threads and the recently written ones."""
    return (recent or RecentRows(user.id)).list_with_recent(thread_ids)


def _filtered(rows: list[Participant], *, is_truncated: bool) -> FolderPage:
    """Filters show rows of the inbox folder only: pinned first, then the newest."""
    shown = sorted((row for row in rows if row.folder == INBOX), key=_sort_key, reverse=True)
    return FolderPage(shown[:MAX_ROWS], is_truncated=is_truncated or len(shown) > MAX_ROWS)


def count_rows(user: User, recent: RecentRows | None = None) -> dict[str, int]:
    """The counts beside folders and filters, exact up to 99; MAX_ROWS means more."""
    recent = recent or RecentRows(user.id)
    unread, waiting, requests = read_all(
        [
            lambda: _count(
                recent,
                lambda row: row.unread_pk is not None,
                keys.unread_pk(user.id),
                index=Item.unread_threads,
            ),
            lambda: len(_threads_with_actions(user)[0]),
            lambda: _count(
                recent,
                lambda row: _belongs(row, REQUESTS),
                keys.inbox_pk(user.id, REQUESTS),
                unexpired_requests(),
                index=Item.inbox,
            ),
        ]
    )
    return {UNREAD: unread, WAITING: waiting, REQUESTS: requests}


def _count(
    recent: RecentRows,
    belongs: Callable[[Participant], bool],
    pk: str,
    where: KeyCondition | None = None,
    *,
    index: Index,
) -> int:
    """A count by the index, unless it may lag behind: then the rows themselves are merged."""
    if not recent.threads:
        return count(pk, where, limit=MAX_ROWS, index=index)
    page = query(pk, where, limit=MAX_ROWS + len(recent.threads), index=index)
    return min(MAX_ROWS, len(recent.merge(page.of(Participant), belongs)))


def _threads_with_actions(user: User) -> tuple[list[str], bool]:
    page = query(
        keys.user_pk(user.id), Item.sk.startswith(keys.PENDING_ACTIONS), limit=MAX_ROWS + 1
    )
    return list(dict.fromkeys(item.thread_id for item in page.of(PendingAction))), page.has_more


def get_row(user: User, thread_id: str) -> Participant:
    """The user's row, or that of their invitation."""
    pk = keys.thread_pk(thread_id)
    row = Participant.find(pk, keys.participant_sk(user.id))
    row = row or Invitation.find(pk, keys.invitation_sk(user.id))
    if row is None:
        raise Refusal("THREAD_NOT_FOUND")
    return row


def _start_key(user: User, folder: str, cursor: str) -> dict[str, dict[str, str]]:
    """The cursor is untrusted: it can only point into the user's own folder."""
    found = CURSOR.fullmatch(cursor)
    if found is None:
        raise Refusal("BAD_FRAME")
    key = {
        "pk": keys.thread_pk(found[1]),
        "sk": keys.participant_sk(user.id),
        "GSI1PK": keys.inbox_pk(user.id, folder),
        "GSI1SK": cursor,
    }
    return {name: {"S": value} for name, value in key.items()}
