"""A page of messages for one viewer, with days and groups."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from core.fragments import render_fragment
from core.ids import is_id
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.models import Message
from threads.models.message import ACTION, SYSTEM
from threads.rendering.labels import day_label
from threads.rendering.markdown import strip_links
from threads.rendering.messages import (
    MESSAGE_TEMPLATE,
    is_plain,
    message_view,
    render_plain,
    shown_type,
)

GROUP_WITHIN = timedelta(minutes=5)


@dataclass
class Timeline:
    """Messages, oldest first. `first_unread` and `target` are ids of messages, if there are any."""

    messages: list[Message]
    cached: CachedThread
    reader_id: str
    zone: tzinfo
    first_unread: str = ""
    target: str = ""
    # Links of an unknown sender do not work before the request is accepted.
    without_links: bool = False

    @property
    def has_unavailable(self) -> bool:
        return any(one.is_unavailable and not one.is_withheld for one in self.messages)

    def render(self, csrf_token: str) -> SafeString:
        return mark_safe("".join(self._fragments(csrf_token)))

    def _fragments(self, csrf_token: str) -> Iterator[str]:
        today = datetime.now(self.zone).date()
        before: Message | None = None
        before_at = datetime.min.replace(tzinfo=self.zone)
        for message in self.messages:
            at = keys.parse_iso(message.created_at).astimezone(self.zone)
            is_new_day = before is None or before_at.date() != at.date()
            if is_new_day:
                yield render_fragment("threads/day.html", {"day": day_label(at.date(), today)})
            if message.id == self.first_unread:
                yield render_fragment("threads/unread_line.html", {})
            is_near = not is_new_day and at - before_at <= GROUP_WITHIN
            is_grouped = is_near and _are_by_one_author(before, message)
            repeats_card = not is_new_day and _repeats_card(before, message)
            yield self._render(message, at, is_grouped, repeats_card, csrf_token)
            before, before_at = message, at

    def _render(
        self,
        message: Message,
        at: datetime,
        is_grouped: bool,
        repeats_card: bool,
        csrf_token: str,
    ) -> str:
        is_mine = message.author_id == self.reader_id
        if is_plain(message) and message.id != self.target and not self.without_links:
            author = self.cached.get_person(message.author_id or "")
            return render_plain(message, author, at, is_mine=is_mine, is_grouped=is_grouped)
        view = message_view(message, self.cached, self.zone)
        if self.without_links:
            view = replace(view, html=strip_links(view.html))
        context: dict[str, Any] = {"message": view, "mine": is_mine, "joins": is_grouped}
        if repeats_card:
            context["repeats_card"] = True
        if message.id == self.target:
            context["target"] = message.id
        if view.card:
            # Only cards have forms, and parts for one user.
            context |= {"reader": self.reader_id, "csrf_token": csrf_token}
        return render_fragment(MESSAGE_TEMPLATE, context)


def _are_by_one_author(before: Message | None, message: Message) -> bool:
    """Then they form a group. Cards and system messages are shown alone."""
    if before is None or not message.author_id or before.author_id != message.author_id:
        return False
    return not {shown_type(before), shown_type(message)} & {SYSTEM, ACTION}


def _repeats_card(before: Message | None, message: Message) -> bool:
    """Whether a system message is directly below the card that it is about: the card says the same.

    The client id of the card's message is the card's id; those of its system messages start with
    it (contracts/cards/steps.py).
    """
    card_id, _, version = (message.client_id or "").partition(":")
    if before is None or message.type != SYSTEM or not version or not is_id("card", card_id):
        return False
    return (before.client_id or "").partition(":")[0] == card_id
