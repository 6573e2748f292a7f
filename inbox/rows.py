"""A row of the inbox, as a page shows it."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from inbox.queries import list_folder
from threads.labels import row_label
from threads.models import Participant, Person, keys
from threads.models.participant import ARCHIVED_FOLDER, INBOX

LABELS = {INBOX: "Inbox", ARCHIVED_FOLDER: "Archived"}


@dataclass
class Row:
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
    last_at: datetime
    last_at_label: str
    unread: int
    pinned: bool
    muted: bool
    is_current: bool


@dataclass
class Column:
    """A folder beside the conversation that is open."""

    folder: str
    folders: list[tuple[str, str, str, bool]]
    rows: list[Row]
    next_rows: str


def column_of(user: User, folder: str, *, after: str = "", current: str = "") -> Column:
    page = list_folder(user, folder, after=after)
    query = urlencode({"folder": folder, "after": page.cursor})
    return Column(
        folder=folder,
        folders=[(key, label, folder_url(key), key == folder) for key, label in LABELS.items()],
        rows=[row_of(user, participant, current=current) for participant in page.rows],
        next_rows=f"{reverse('inbox:rows')}?{query}" if page.cursor else "",
    )


def folder_url(folder: str) -> str:
    return reverse("inbox:inbox") if folder == INBOX else reverse("inbox:folder", args=[folder])


def row_of(user: User, participant: Participant, *, current: str = "") -> Row:
    at = keys.moment(participant.last_message_at).astimezone(timezone.get_current_timezone())
    last = participant.last_message
    return Row(
        thread_id=participant.thread_id,
        url=reverse("threads:thread", args=[participant.thread_id]),
        subject=participant.subject,
        kind=participant.kind,
        folder=participant.folder,
        other=participant.other_side,
        others_count=participant.others_count,
        last_text=last["text"],
        last_author_id=last["author"] or "",
        last_is_mine=last["author"] == user.id,
        last_at=at,
        last_at_label=row_label(at, timezone.localdate()),
        unread=participant.unread,
        pinned=participant.pinned,
        muted=participant.muted,
        is_current=participant.thread_id == current,
    )
