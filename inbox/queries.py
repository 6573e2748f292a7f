"""A person's own conversations: a folder's page is one Query, complete with preview and unread."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from accounts.models import User
from contracts.queries import list_booked_threads
from core.ids import ULID_PATTERN
from core.refusals import Refusal
from inbox.models import IndexedThread
from threads.dynamodb import keys
from threads.dynamodb.table import Index, Item, KeyCondition, count, query
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
# What a page brings along: a screen of them and a few more. The rest comes when one scrolls.
FIRST_PAGE_SIZE = 15
# A filter shows no more than that, and says so.
MAX_ROWS = 100
FOLDERS = (INBOX, REQUESTS, ARCHIVED_FOLDER, SPAM)
UNREAD, ACTION_REQUIRED, PROJECTS = "unread", "action-required", "projects"
# Where a page ends: the index's own sort key, which names the thread.
CURSOR = re.compile(
    rf"(?:{keys.PINNED})?\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z#(thrd_{ULID_PATTERN})",
    re.ASCII,
)


@dataclass
class FolderPage:
    rows: list[Participant]
    # What to ask the next page with; empty at the end.
    cursor: str = ""
    # Of a filter: there are more than it shows.
    is_truncated: bool = False


def list_folder(
    user: User,
    folder: str,
    *,
    after: str = "",
    size: int = PAGE_SIZE,
    fresh: RecentRows | None = None,
) -> FolderPage:
    """Pinned, then newest; rows that were written a moment ago are as the table has them."""
    fresh = fresh or RecentRows(user.id)
    page = query(
        keys.inbox_pk(user.id, folder),
        unexpired_requests() if folder == REQUESTS else None,
        # Some of them may no longer belong here.
        limit=size + len(fresh.threads),
        index=Item.inbox,
        newest_first=True,
        after=_start_key(user, folder, after) if after else None,
    )
    end = page.next_key["GSI1SK"]["S"] if page.next_key else ""
    rows = fresh.merge(
        page.of(Participant),
        lambda row: (
            _is_in(row, folder) and end <= row.inbox_sk and (row.inbox_sk < after or not after)
        ),
    )
    rows.sort(key=_place, reverse=True)
    if len(rows) > size:
        rows, end = rows[:size], rows[size - 1].inbox_sk
    return FolderPage(rows, end)


def _is_in(row: Participant, folder: str) -> bool:
    is_over = folder == REQUESTS and row.inbox_sk < request_cutoff()
    return row.folder == folder and not is_over


def _place(row: Participant) -> str:
    return row.inbox_sk


def list_unread(user: User, fresh: RecentRows | None = None) -> FolderPage:
    # One more than is shown, to know whether there are more.
    page = query(
        keys.unread_pk(user.id), limit=MAX_ROWS + 1, index=Item.unread_threads, newest_first=True
    )
    threads = [row.thread_id for row in page.of(Participant)]
    # The index may lag behind what the items themselves say.
    rows = [row for row in _read(user, threads[:MAX_ROWS], fresh) if row.has_unread]
    return _filtered(rows, is_truncated=len(threads) > MAX_ROWS)


def list_action_required(user: User, fresh: RecentRows | None = None) -> FolderPage:
    """Where a card, an offer or a contract to be signed waits for this person."""
    threads, more = _threads_with_actions(user)
    waiting = set(threads[:MAX_ROWS])
    rows = [row for row in _read(user, waiting, fresh) if row.thread_id in waiting]
    return _filtered(rows, is_truncated=more or len(threads) > MAX_ROWS)


def list_projects(user: User, fresh: RecentRows | None = None) -> FolderPage:
    """By one's bookings. Those of a guest are known to search, and before that as recent writes."""
    threads = list_booked_threads(user, most=MAX_ROWS + 1)
    guest = IndexedThread.objects.filter(people__user_id=user.id, kind=PROJECT)
    threads += (
        guest.exclude(pk__in=threads).order_by("-pk").values_list("pk", flat=True)[: MAX_ROWS + 1]
    )
    rows = [row for row in _read(user, threads[:MAX_ROWS], fresh) if row.kind == PROJECT]
    return _filtered(rows, is_truncated=len(threads) > MAX_ROWS)


FILTERS = {UNREAD: list_unread, ACTION_REQUIRED: list_action_required, PROJECTS: list_projects}


def list_rows(
    user: User,
    folder: str,
    *,
    after: str = "",
    size: int = PAGE_SIZE,
    fresh: RecentRows | None = None,
) -> FolderPage:
    """A folder, or a filter of the inbox."""
    fresh = fresh or RecentRows(user.id)
    if folder in FILTERS:
        return FILTERS[folder](user, fresh)
    return list_folder(user, folder, after=after, size=size, fresh=fresh)


def _read(user: User, thread_ids: Iterable[str], fresh: RecentRows | None) -> list[Participant]:
    """These rows, and those that the index may not show yet."""
    return (fresh or RecentRows(user.id)).list_with_recent(thread_ids)


def _filtered(rows: list[Participant], *, is_truncated: bool) -> FolderPage:
    """Filters are inside the inbox; pinned first, then the newest."""
    shown = sorted((row for row in rows if row.folder == INBOX), key=_place, reverse=True)
    return FolderPage(shown[:MAX_ROWS], is_truncated=is_truncated or len(shown) > MAX_ROWS)


def count_rows(user: User, fresh: RecentRows | None = None) -> dict[str, int]:
    """What the list of folders says beside their names: exact up to 99, and 100 is more."""
    fresh = fresh or RecentRows(user.id)
    return {
        UNREAD: _count(
            fresh,
            lambda row: row.unread_pk is not None,
            keys.unread_pk(user.id),
            index=Item.unread_threads,
        ),
        ACTION_REQUIRED: len(_threads_with_actions(user)[0]),
        REQUESTS: _count(
            fresh,
            lambda row: _is_in(row, REQUESTS),
            keys.inbox_pk(user.id, REQUESTS),
            unexpired_requests(),
            index=Item.inbox,
        ),
    }


def _count(
    fresh: RecentRows,
    belongs: Callable[[Participant], bool],
    pk: str,
    where: KeyCondition | None = None,
    *,
    index: Index,
) -> int:
    """By number alone, unless the index may lag: then which ones it has must be known."""
    if not fresh.threads:
        return count(pk, where, most=MAX_ROWS, index=index)
    page = query(pk, where, limit=MAX_ROWS + len(fresh.threads), index=index)
    return min(MAX_ROWS, len(fresh.merge(page.of(Participant), belongs)))


def _threads_with_actions(user: User) -> tuple[list[str], bool]:
    page = query(
        keys.user_pk(user.id), Item.sk.startswith(keys.PENDING_ACTIONS), limit=MAX_ROWS + 1
    )
    return list(dict.fromkeys(item.thread_id for item in page.of(PendingAction))), page.more


def get_row(user: User, thread_id: str) -> Participant:
    """Their own row, or that of their invitation."""
    pk = keys.thread_pk(thread_id)
    row = Participant.find(pk, keys.participant_sk(user.id))
    row = row or Invitation.find(pk, keys.invitation_sk(user.id))
    if row is None:
        raise Refusal("THREAD_NOT_FOUND")
    return row


def _start_key(user: User, folder: str, cursor: str) -> dict[str, dict[str, str]]:
    """Not trusted: it can only name a place in the asker's own folder."""
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
