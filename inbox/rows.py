"""A row of the inbox, as a page shows it, and the column of rows with its folders."""

from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from inbox.queries import (
    ACTION_REQUIRED,
    FILTERS,
    FIRST_PAGE_SIZE,
    MAX_ROWS,
    PAGE_SIZE,
    PROJECTS,
    UNREAD,
    count_rows,
    list_rows,
)
from threads.dynamodb import keys
from threads.models import Participant, Person
from threads.models.participant import ARCHIVED_FOLDER, INBOX, REQUESTS, SPAM
from threads.models.recent_rows import RecentRows
from threads.rendering.labels import row_label

FOLDER_LABELS = {
    INBOX: "Inbox",
    REQUESTS: "Requests",
    ARCHIVED_FOLDER: "Archived",
    SPAM: "Spam",
}
FILTER_LABELS = {
    INBOX: "All",
    UNREAD: "Unread",
    ACTION_REQUIRED: "Action required",
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
    pinned: bool
    muted: bool
    muted_until: str
    is_current: bool


@dataclass
class FolderLink:
    """A folder or a filter, as one chooses it."""

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
    """A folder beside the conversation that is open."""

    key: str
    label: str
    # A filter is inside the inbox.
    folder: str
    rows: list[InboxRow]
    next_rows: str
    is_truncated: bool
    folders: list[FolderLink]
    filters: list[FolderLink]


def get_column(user: User, key: str, *, after: str = "", current: str = "") -> InboxColumn:
    size = PAGE_SIZE if after else FIRST_PAGE_SIZE
    fresh = RecentRows(user.id)
    column = get_column_rows(user, key, after=after, current=current, size=size, fresh=fresh)
    counts = count_rows(user, fresh)
    column.folders = [_place(each, FOLDER_LABELS[each], column.folder) for each in FOLDER_LABELS]
    for place in column.folders:
        place.count = counts[UNREAD] if place.key == INBOX else counts.get(place.key, 0)
    if column.folder == INBOX:
        column.filters = [_place(each, FILTER_LABELS[each], key) for each in FILTER_LABELS]
        for place in column.filters:
            place.count = counts.get(place.key, 0)
    return column


def get_column_rows(
    user: User,
    key: str,
    *,
    after: str = "",
    current: str = "",
    size: int = PAGE_SIZE,
    fresh: RecentRows | None = None,
) -> InboxColumn:
    """The rows alone, for a page that has the rest."""
    page = list_rows(user, key, after=after, size=size, fresh=fresh)
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


def _place(key: str, label: str, current: str) -> FolderLink:
    return FolderLink(key, label, folder_url(key), key == current)


def format_count(count: int) -> str:
    return f"{MAX_ROWS - 1}+" if count >= MAX_ROWS else str(count)


def folder_url(key: str) -> str:
    return reverse("inbox:inbox") if key == INBOX else reverse("inbox:folder", args=[key])


def row_of(
    user: User, participant: Participant, key: str = INBOX, *, current: str = ""
) -> InboxRow:
    at = keys.parse_iso(participant.last_message_at).astimezone(timezone.get_current_timezone())
    last = participant.last_message_shown
    url = reverse("threads:thread", args=[participant.thread_id])
    return InboxRow(
        thread_id=participant.thread_id,
        # So that the list beside the conversation stays the one that it was opened from.
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
        last_at_label=row_label(at, timezone.localdate()),
        unread=participant.unread,
        is_marked=bool(participant.marked_unread),
        is_request=bool(participant.request_state),
        waits_for=_waits_for(user, participant),
        pinned=participant.pinned,
        muted=participant.is_muted,
        muted_until=participant.muted_until or "",
        is_current=participant.thread_id == current,
    )


def _waits_for(user: User, participant: Participant) -> str:
    if not participant.waiting_for:
        return ""
    return "you" if participant.waiting_for == user.id else "them"
