"""Rows of the inbox as a page shows them, and the column of rows with its folders."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString

from accounts.models import User
from contracts.next_step import describe_others_step, describe_own_step, kind_of_pending
from core.fragments import render_fragment, render_list
from inbox.queries import (
    FILTERS,
    FIRST_PAGE_SIZE,
    MAX_ROWS,
    PAGE_SIZE,
    PROJECTS,
    UNREAD,
    WAITING,
    FolderPage,
    count_rows,
    list_rows,
)
from threads.dynamodb import keys
from threads.dynamodb.concurrent_reads import read_both
from threads.models import Participant, Person
from threads.models.participant import ARCHIVED_FOLDER, BUYER, INBOX, REQUESTS, SPAM
from threads.models.recent_rows import RecentRows
from threads.rendering.labels import row_label
from threads.rendering.messages import thread_url

FOLDER_LABELS = {
    INBOX: "Inbox",
    REQUESTS: "Requests",
    ARCHIVED_FOLDER: "Archived",
    SPAM: "Spam",
}
FILTER_LABELS = {
    INBOX: "All",
    UNREAD: "Unread",
    WAITING: "Waiting for you",
    PROJECTS: "Projects",
}
LABELS = FILTER_LABELS | FOLDER_LABELS


@dataclass
class InboxRow:
    thread_id: str
    url: str
    subject: str
    kind: str
    folder: str
    other: Person
    others_count: int
    last_text: str
    last_author_id: str
    last_is_mine: bool
    last_at: str
    last_at_label: str
    unread: int
    is_marked: bool
    is_request: bool
    waits_for: str
    # The pending action that it shows: its type, and what to do.
    step: str
    step_text: str
    pinned: bool
    muted: bool
    muted_until: str
    is_current: bool

    @property
    def html(self) -> SafeString:
        return render_fragment("inbox/row.html", {"row": self})


@dataclass
class FolderLink:
    """A link to a folder or a filter."""

    key: str
    label: str
    url: str
    is_current: bool
    count: int = 0

    @property
    def count_label(self) -> str:
        return format_count(self.count)


@dataclass
class InboxColumn:
    """A folder, beside the content of the page."""

    key: str
    label: str
    # The inbox, if `key` is a filter.
    folder: str
    rows: list[InboxRow]
    next_rows: str
    is_truncated: bool
    folders: list[FolderLink]
    filters: list[FolderLink]

    @property
    def has_rows(self) -> bool:
        return bool(self.rows)

    @property
    def head(self) -> dict[str, Any]:
        names = ("folder", "label", "folders", "filters")
        return {name: getattr(self, name) for name in names}

    @property
    def rows_html(self) -> SafeString:
        return render_list("inbox/row.html", "row", self.rows)


def get_column(user: User, key: str, *, after: str = "", current: str = "") -> InboxColumn:
    size = PAGE_SIZE if after else FIRST_PAGE_SIZE
    recent = RecentRows(user.id)
    if key in FILTERS:
        # Filters may use SQL, and read the recent rows together with their own.
        page = list_rows(user, key, recent=recent)
        counts = count_rows(user, recent)
    else:
        counts, page = read_both(
            lambda: count_rows(user, recent),
            lambda: list_rows(user, key, after=after, size=size, recent=recent),
        )
    column = _make_column(user, key, page, current)
    column.folders = [_link(each, FOLDER_LABELS[each], column.folder) for each in FOLDER_LABELS]
    for link in column.folders:
        link.count = counts[UNREAD] if link.key == INBOX else counts.get(link.key, 0)
    if column.folder == INBOX:
        column.filters = [_link(each, FILTER_LABELS[each], key) for each in FILTER_LABELS]
        for link in column.filters:
            link.count = counts.get(link.key, 0)
    return column


def get_column_rows(user: User, key: str, *, after: str = "", size: int = PAGE_SIZE) -> InboxColumn:
    """The rows without folders and counts, for a page that already shows these."""
    return _make_column(user, key, list_rows(user, key, after=after, size=size))


def _make_column(user: User, key: str, page: FolderPage, current: str = "") -> InboxColumn:
    query = urlencode({"folder": key, "after": page.cursor})
    return InboxColumn(
        key=key,
        label=LABELS[key],
        folder=INBOX if key in FILTERS else key,
        rows=[row_of(user, participant, key, current=current) for participant in page.rows],
        next_rows=f"{reverse('inbox:rows')}?{query}" if page.cursor else "",
        is_truncated=page.is_truncated,
        folders=[],
        filters=[],
    )


def _link(key: str, label: str, current: str) -> FolderLink:
    return FolderLink(key, label, folder_url(key), key == current)


def format_count(count: int) -> str:
    return f"{MAX_ROWS - 1}+" if count >= MAX_ROWS else str(count)


@cache
def folder_url(key: str) -> str:
    return reverse("inbox:inbox") if key == INBOX else reverse("inbox:folder", args=[key])


def row_of(
    user: User, participant: Participant, key: str = INBOX, *, current: str = ""
) -> InboxRow:
    zone = timezone.get_current_timezone()
    at = keys.parse_iso(participant.last_message_at).astimezone(zone)
    last = participant.last_message_shown
    url = thread_url(participant.thread_id)
    return InboxRow(
        thread_id=participant.thread_id,
        # The thread page shows the same folder beside the thread.
        url=url if key == INBOX else f"{url}?{urlencode({'in': key})}",
        subject=participant.subject,
        kind=participant.kind,
        folder=participant.folder,
        other=participant.other_side,
        others_count=participant.others_count,
        last_text=last["text"],
        last_author_id=last["author"] or "",
        last_is_mine=last["author"] == user.id,
        last_at=at.isoformat(),
        last_at_label=row_label(at, datetime.now(zone).date()),
        unread=participant.unread,
        is_marked=bool(participant.marked_unread),
        is_request=bool(participant.request_state),
        waits_for=_waits_for(user, participant),
        step=participant.step,
        step_text=_step_text(user, participant),
        pinned=participant.pinned,
        muted=participant.is_muted,
        muted_until=participant.muted_until or "",
        is_current=participant.thread_id == current,
    )


def _waits_for(user: User, participant: Participant) -> str:
    """Whose pending action the row shows. A message that is not answered yet is none."""
    if not participant.step:
        return ""
    return "you" if participant.waiting_for == user.id else "them"


def _step_text(user: User, participant: Participant) -> str:
    if not participant.step:
        return ""
    is_mine, other = participant.waiting_for == user.id, participant.other_side
    kind = kind_of_pending(participant.step, is_buyer=(participant.role == BUYER) == is_mine)
    if is_mine:
        return describe_own_step(kind)
    is_other = participant.waiting_for == other["id"]
    return describe_others_step(kind, other["name"] if is_other else "others")
