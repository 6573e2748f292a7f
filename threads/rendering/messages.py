"""Renders messages. The page, older pages and published events use the same template.

What differs between viewers (own messages, times in their zone, grouping) is passed in for a page.
A published fragment is the same for all viewers, and the browser sets these.
"""

import html
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

from django.template.loader import get_template
from django.urls import reverse

from core.fragments import CachedFragment, render_fragment, slot
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.unknown_kinds import record_unknown
from threads.models import Message, Person
from threads.models.message import (
    ACTION,
    EDIT_WINDOW_SECONDS,
    MESSAGE_TYPES,
    REACTIONS,
    SYSTEM,
    TEXT,
)
from threads.registry import message_renderers
from threads.rendering.attachments import (
    AttachmentView,
    attachment_views,
    is_supported,
    label_of,
    preview_of,
)
from threads.rendering.labels import time_label
from threads.rendering.markdown import to_html

# Shown for a message of a type that only a newer version of the software can show.
UNKNOWN_MESSAGE = "This message can't be shown here yet. Reload the page in a moment."
MESSAGE_TEMPLATE = "threads/message.html"


@dataclass
class MessageView:
    id: str
    seq: int
    tally: int
    type: str
    author: Person | None
    html: str
    attachments: list[AttachmentView]
    label: str
    at: datetime
    time_label: str
    url: str
    client_id: str
    rev: int
    edited: bool
    removed: bool
    hidden: bool
    unavailable: bool
    redacted: bool
    reactions: list[dict[str, Any]]
    quote: dict[str, Any] | None
    card: dict[str, Any] | None
    can_be_edited_until: str


def message_view(message: Message, cached: CachedThread, zone: tzinfo = UTC) -> MessageView:
    at = keys.parse_iso(message.created_at).astimezone(zone)
    body = _shown_body(message)
    attachments = [] if message.is_withheld else message.attachments or []
    return MessageView(
        id=message.id,
        seq=message.seq,
        tally=message.tally,
        type=shown_type(message),
        author=cached.get_person(message.author_id) if message.author_id else None,
        html=to_html(body),
        attachments=attachment_views(attachments),
        label=label_of(attachments),
        at=at,
        time_label=time_label(at),
        url=message_url(message.thread_id, message.id),
        client_id=message.client_id or "",
        rev=message.rev,
        edited=bool(message.edited_at),
        removed=message.is_withheld,
        hidden=bool(message.hidden_at),
        unavailable=message.is_unavailable and not message.is_withheld,
        redacted="redactedAt" in (message.flags or {}),
        reactions=_reactions_of(message),
        quote=_quote_of(message, cached),
        card=_card_of(message, cached),
        can_be_edited_until=_edit_deadline(message)
        if message.body and body and message.type in MESSAGE_TYPES and not message.action
        else "",
    )


def shown_type(message: Message) -> str:
    if message.type in MESSAGE_TYPES:
        return message.type
    return TEXT if message.author_id else SYSTEM


def _card_of(message: Message, cached: CachedThread) -> dict[str, Any] | None:
    render = message_renderers.get(ACTION) if message.action else None
    return render(message, cached) if render else None


def _shown_body(message: Message) -> str:
    if message.is_withheld:
        return ""
    is_unknown = message.type not in MESSAGE_TYPES
    if is_unknown:
        record_unknown(f"message {message.type}")
    if message.body:
        return message.body
    attachments = message.attachments or []
    is_unknown |= bool(attachments) and not any(map(is_supported, attachments))
    return UNKNOWN_MESSAGE if is_unknown else ""


def _reactions_of(message: Message) -> list[dict[str, Any]]:
    given = {} if message.is_withheld else message.reactions or {}
    return [
        {"emoji": emoji, "users": given[emoji], "count": len(given[emoji])}
        for emoji in REACTIONS
        if given.get(emoji)
    ]


def _quote_of(message: Message, cached: CachedThread) -> dict[str, Any] | None:
    """Built from the quoted message itself, so that a quote follows its edits and removal. If any
    participant cannot see it, the quote is only a link: the fragment is the same for all."""
    if message.reply_to is None or message.is_withheld:
        return None
    quoted = cached.quoted.get(message.reply_to)
    newest_arrival = max(person.visible_from_seq for person in cached.people.values())
    link_only = quoted is None or quoted.is_unavailable or quoted.seq < newest_arrival
    author = cached.get_person(quoted.author_id) if quoted and quoted.author_id else {}
    return {
        "id": message.reply_to,
        "url": message_url(message.thread_id, message.reply_to),
        "author_name": "" if link_only else author.get("name", ""),
        "text": "" if link_only else quote_text(quoted),
        "is_link_only": link_only,
    }


def quote_text(quoted: Message | None) -> str:
    if quoted is None or quoted.is_withheld:
        return "This message was removed."
    return preview_of(quoted.body or "", quoted.attachments)


def message_url(thread_id: str, message_id: str) -> str:
    """The page around the message, scrolled to it."""
    return f"{_messages_url(thread_id)}{message_id}/#{message_id}"


@lru_cache(maxsize=10_000)
def thread_url(thread_id: str) -> str:
    return reverse("threads:thread", args=[thread_id])


@lru_cache(maxsize=10_000)
def _messages_url(thread_id: str) -> str:
    return reverse("threads:messages", args=[thread_id])


def render_message(message: Message, cached: CachedThread) -> str:
    """The fragment in a published event, the same for every viewer."""
    if is_plain(message):
        author = cached.get_person(message.author_id or "")
        return render_plain(message, author, keys.parse_iso(message.created_at))
    return render_fragment(MESSAGE_TEMPLATE, {"message": message_view(message, cached)})


# --- Plain text messages, as most are: rendered from a cached fragment


def render_plain(
    message: Message,
    author: Person,
    at: datetime,
    *,
    is_mine: bool = False,
    is_grouped: bool = False,
) -> str:
    """`at` is the time of the message in the zone in which it is shown."""
    fragment = _plain_fragment(tuple(author.items()), is_mine, is_grouped)
    return fragment.fill(_values_of(message, at))


_NOT_PLAIN = (
    *("attachments", "action", "reply_to", "reactions"),
    *("rev", "edited_at", "removed_at", "hidden_at", "flags"),
)


def is_plain(message: Message) -> bool:
    """A new text message without attachments, quote, reactions or revisions."""
    get = message.attribute_values.get
    return get("type") == TEXT and bool(get("body")) and not any(map(get, _NOT_PLAIN))


def _values_of(message: Message, at: datetime) -> dict[str, object]:
    stored, message_id = message.attribute_values, message.id
    return {
        "id": message_id,
        "seq": stored["seq"],
        "tally": stored["tally"],
        "html": to_html(stored["body"]),
        "at": at.isoformat(),
        "time": time_label(at),
        "url": message_url(message.thread_id, message_id),
        "client": html.escape(stored.get("client_id") or ""),
        "until": _edit_deadline(message),
    }


def _edit_deadline(message: Message) -> str:
    deadline = keys.parse_iso(message.created_at) + timedelta(seconds=EDIT_WINDOW_SECONDS)
    return keys.iso(deadline)


@lru_cache(maxsize=4096)
def _plain_fragment(
    author: tuple[tuple[str, Any], ...], is_mine: bool, is_grouped: bool
) -> CachedFragment:
    view = SimpleNamespace(
        id=slot("id"),
        seq=slot("seq"),
        tally=slot("tally"),
        type=TEXT,
        author=dict(author),
        html=slot("html"),
        at={"isoformat": slot("at")},
        time_label=slot("time"),
        url=slot("url"),
        client_id=slot("client"),
        can_be_edited_until=slot("until"),
    )
    context = {"message": view, "mine": is_mine, "joins": is_grouped}
    return CachedFragment(get_template(MESSAGE_TEMPLATE).render(context))
