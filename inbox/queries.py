"""A person's own conversations: a folder's page is one Query, complete with preview and unread."""

import re
from dataclasses import dataclass

from accounts.ids import ULID_PATTERN
from accounts.models import User
from accounts.refusals import Refusal
from threads.models import Participant, keys
from threads.models.participant import ARCHIVED_FOLDER, INBOX
from threads.models.table import Item, query

PAGE = 50
FOLDERS = (INBOX, ARCHIVED_FOLDER)
# Where a page ends: the index's own sort key, which names the thread.
CURSOR = re.compile(
    rf"(?:{keys.PINNED})?\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z#(thrd_{ULID_PATTERN})",
    re.ASCII,
)


@dataclass
class FolderPage:
    rows: list[Participant]
    # What to ask the next page with; empty at the end.
    cursor: str


def list_folder(user: User, folder: str, *, after: str = "") -> FolderPage:
    """Pinned, then newest."""
    page = query(
        keys.inbox_pk(user.id, folder),
        limit=PAGE,
        index=Item.inbox,
        newest_first=True,
        after=_start_key(user, folder, after) if after else None,
    )
    rows = page.of(Participant)
    return FolderPage(rows, rows[-1].inbox_sk if page.more and rows else "")


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
