"""A person's own conversations: a folder's page is one Query, complete with preview and unread."""

import re
from dataclasses import dataclass

from accounts.ids import ULID_PATTERN
from accounts.models import User
from accounts.refusals import Refusal
from contracts.queries import list_booked_threads
from inbox.models import IndexedThread
from threads.models import ActionWaiting, Participant, keys
from threads.models.participant import (
    ARCHIVED_FOLDER,
    INBOX,
    REQUESTS,
    SPAM,
)
from threads.models.table import Item, count, query
from threads.models.thread import PROJECT
from threads.queries import get_rows, open_requests

PAGE = 50
# What a page brings along: a screen of them and a few more. The rest comes when one scrolls.
FIRST_PAGE = 15
# A filter shows no more than that, and says so.
MOST = 100
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
    is_cut: bool = False


def list_folder(user: User, folder: str, *, after: str = "", size: int = PAGE) -> FolderPage:
    """Pinned, then newest."""
    page = query(
        keys.inbox_pk(user.id, folder),
        open_requests() if folder == REQUESTS else None,
        limit=size,
        index=Item.inbox,
        newest_first=True,
        after=_start_key(user, folder, after) if after else None,
    )
    rows = page.of(Participant)
    return FolderPage(rows, rows[-1].inbox_sk if page.more and rows else "")


def list_unread(user: User) -> FolderPage:
    # One more than is shown, to know whether there are more.
    page = query(
        keys.unread_pk(user.id), limit=MOST + 1, index=Item.unread_threads, newest_first=True
    )
    threads = [row.thread_id for row in page.of(Participant)]
    # The index may lag behind what the items themselves say.
    rows = [row for row in _rows(user, threads[:MOST]) if row.has_unread]
    return FolderPage(rows, is_cut=len(threads) > MOST)


def list_action_required(user: User) -> FolderPage:
    """Where a card, an offer or a contract to be signed waits for this person."""
    threads, more = _threads_with_actions(user)
    return FolderPage(_rows(user, threads[:MOST]), is_cut=more or len(threads) > MOST)


def list_projects(user: User) -> FolderPage:
    """By one's bookings. Guests have none: theirs are known to search, a moment later."""
    threads = list_booked_threads(user, most=MOST + 1)
    guest = IndexedThread.objects.filter(people__user_id=user.id, kind=PROJECT)
    threads += (
        guest.exclude(pk__in=threads).order_by("-pk").values_list("pk", flat=True)[: MOST + 1]
    )
    rows = [row for row in _rows(user, threads[:MOST]) if row.kind == PROJECT]
    return FolderPage(rows, is_cut=len(threads) > MOST)


FILTERS = {UNREAD: list_unread, ACTION_REQUIRED: list_action_required, PROJECTS: list_projects}


def list_rows(user: User, folder: str, *, after: str = "", size: int = PAGE) -> FolderPage:
    """A folder, or a filter of the inbox."""
    if folder in FILTERS:
        return FILTERS[folder](user)
    return list_folder(user, folder, after=after, size=size)


def _rows(user: User, thread_ids: list[str]) -> list[Participant]:
    """Filters are inside the inbox; pinned first, then the newest."""
    rows = [row for row in get_rows(user, thread_ids) if row.folder == INBOX]
    return sorted(rows, key=lambda row: row.inbox_sk, reverse=True)


def count_rows(user: User) -> dict[str, int]:
    """What the list of folders says beside their names: exact up to 99, and 100 is more."""
    return {
        UNREAD: count(keys.unread_pk(user.id), most=MOST, index=Item.unread_threads),
        ACTION_REQUIRED: len(_threads_with_actions(user)[0]),
        REQUESTS: count(
            keys.inbox_pk(user.id, REQUESTS), open_requests(), most=MOST, index=Item.inbox
        ),
    }


def _threads_with_actions(user: User) -> tuple[list[str], bool]:
    page = query(keys.user_pk(user.id), Item.sk.startswith(keys.WAITING), limit=MOST + 1)
    return list(dict.fromkeys(item.thread_id for item in page.of(ActionWaiting))), page.more


def get_row(user: User, thread_id: str) -> Participant:
    row = Participant.find(keys.thread_pk(thread_id), keys.participant_sk(user.id))
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
