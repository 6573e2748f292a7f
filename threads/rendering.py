"""A message as a page shows it: one template for the page, for older pages and for the socket.

What differs between readers (mine or theirs, times in their zone, what joins what) is passed for a
page, and decided in the browser for what is pushed, since that is rendered once for everybody.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from django.template.loader import get_template
from django.urls import reverse

from threads.labels import day_label, time_label
from threads.markdown import to_html, to_text
from threads.models import Message, Person, keys
from threads.models.message import SYSTEM
from threads.state import ThreadState

JOINS_WITHIN = timedelta(minutes=5)


@dataclass
class MessageView:
    id: str
    seq: int
    tally: int
    type: str
    author: Person | None
    html: str
    text: str
    at: datetime
    time_label: str
    url: str
    client_id: str
    edited: bool
    removed: bool


@dataclass
class Entry:
    """A message in its place: under which day, whose, and whether it joins the one before."""

    message: MessageView
    day: str
    mine: bool
    joins: bool


def view_of(message: Message, state: ThreadState, zone: tzinfo = UTC) -> MessageView:
    at = keys.moment(message.created_at).astimezone(zone)
    removed = bool(message.removed_at or message.hidden_at)
    body = "" if removed else message.body or ""
    return MessageView(
        id=message.id,
        seq=message.seq,
        tally=message.tally,
        type=message.type,
        author=state.name_of(message.author_id) if message.author_id else None,
        html=to_html(body),
        text=to_text(body),
        at=at,
        time_label=time_label(at),
        url=message_url(message.thread_id, message.id),
        client_id=message.client_id or "",
        edited=bool(message.edited_at),
        removed=removed,
    )


def message_url(thread_id: str, message_id: str) -> str:
    """A page around the message, which a browser goes to by itself."""
    return f"{reverse('threads:message', args=[thread_id, message_id])}#{message_id}"


def render_message(message: Message, state: ThreadState) -> str:
    """The fragment that is pushed: the same for every reader."""
    return _render({"message": view_of(message, state)})


def _render(context: dict[str, Any]) -> str:
    return get_template("threads/message.html").render(context)


def arrange(
    messages: Iterable[Message], state: ThreadState, *, reader_id: str, zone: tzinfo
) -> list[Entry]:
    """Oldest first, with days and groups, for one reader."""
    today = datetime.now(zone).date()
    entries: list[Entry] = []
    before: MessageView | None = None
    for message in messages:
        view = view_of(message, state, zone)
        new_day = before is None or before.at.date() != view.at.date()
        entries.append(
            Entry(
                message=view,
                day=day_label(view.at.date(), today) if new_day else "",
                mine=message.author_id == reader_id,
                joins=not new_day and joins(before, view),
            )
        )
        before = view
    return entries


def joins(before: MessageView | None, view: MessageView) -> bool:
    """Consecutive ones of one author within five minutes read as one."""
    if before is None or SYSTEM in (before.type, view.type):
        return False
    same = before.author and view.author and before.author["id"] == view.author["id"]
    return bool(same) and view.at - before.at <= JOINS_WITHIN
