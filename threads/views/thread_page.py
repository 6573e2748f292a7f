"""What the thread page shows, for one reader."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from core.refusals import Refusal
from threads.actions.messages import check_can_write
from threads.actions.participant_permissions import can_add, can_remove
from threads.cache import CachedThread
from threads.events import get_banner, list_cursors
from threads.forms import SendMessage
from threads.models import Invitation, Participant, Person, Thread
from threads.models.participant import REQUEST_DECLINED, REQUEST_RECEIVED
from threads.queries import OpenedThread
from threads.registry import page_sections
from threads.rendering.markdown import strip_links
from threads.rendering.messages import build_timeline


@dataclass
class ParticipantView:
    id: str
    name: str
    handle: str
    avatar: str
    role: str
    time_zone: str
    local_time: datetime
    is_me: bool
    can_be_removed: bool


@dataclass
class ThreadView:
    id: str
    subject: str
    kind: str
    status: str
    city: str
    is_locked: bool
    banner: str
    last_seq: int
    rev: int


def thread_page(
    user: User, opened: OpenedThread, *, current_tab: str = "", **extra: Any
) -> dict[str, Any]:
    people = people_of(user, opened)
    others = [person for person in people if not person.is_me]
    me = opened.me
    refusal = _why_not(user, opened)
    return {
        "thread": thread_view(opened.cached.thread),
        "people": people,
        "invited": invited_people(opened.cached),
        "others": others,
        "newest": opened.messages[-1] if opened.messages else None,
        "unread": me.unread,
        "first_unread": _first_unread(user, opened),
        "cursors": list_cursors(opened, reader_id=user.id),
        "compose": compose_form(opened),
        "can_write": refusal is None,
        "refusal": refusal,
        "is_pinned": me.pinned,
        "is_muted": me.is_muted,
        "is_marked_unread": bool(me.marked_unread),
        "folder": me.folder,
        "asks_me": is_request_recipient(me),
        "is_declined": me.request_state == REQUEST_DECLINED,
        "is_request_expired": me.is_request_expired,
        "is_blocked_by_me": user.id in (me.blocked_by or ()),
        "can_add_people": refusal is None and can_add(opened.cached.thread, me),
        "is_group": opened.cached.is_group,
        "in_safe_mode": opened.cached.thread.safe_mode_required or user.safe_mode,
        "requires_safe_mode": opened.cached.thread.safe_mode_required,
        "can_set_safe_mode": refusal is None and _began(user, opened),
        **timeline_page(user, opened),
        **_sections(user, opened, refusal is None, current_tab),
        **extra,
    }


def _sections(
    user: User, opened: OpenedThread, can_write: bool, current_tab: str
) -> dict[str, Any]:
    context: dict[str, Any] = {}
    for section in page_sections:
        context |= section(user, opened, can_write, current_tab)
    return context


def is_request_recipient(me: Participant) -> bool:
    """Whether this is a request to them that they have not accepted."""
    return me.request_state in (REQUEST_RECEIVED, REQUEST_DECLINED)


def _began(user: User, opened: OpenedThread) -> bool:
    return user.id in (opened.cached.thread.buyer_id, opened.cached.thread.seller_id)


def _first_unread(user: User, opened: OpenedThread) -> str:
    """Where the line "new messages" goes, if it is in sight."""
    read = opened.me.last_read_seq
    unread = [m for m in opened.messages if m.seq > read and m.author_id not in (None, user.id)]
    return unread[0].id if opened.me.unread and unread else ""


def timeline_page(user: User, opened: OpenedThread) -> dict[str, Any]:
    """The stretch of messages, and where it goes on."""
    thread_id = opened.cached.thread.id
    messages = opened.messages
    entries = build_timeline(
        messages, opened.cached, reader_id=user.id, zone=timezone.get_current_timezone()
    )
    if is_request_recipient(opened.me):
        # Of somebody whom one does not know yet: to be read, and not to be followed.
        for entry in entries:
            entry.message.html = strip_links(entry.message.html)
    older = opened.has_older and messages
    newer = opened.has_newer and messages
    return {
        "timeline": entries,
        "has_unavailable": any(entry.message.unavailable for entry in entries),
        "older_url": page_url(thread_id, "before", messages[0].id) if older else "",
        "newer_url": page_url(thread_id, "after", messages[-1].id) if newer else "",
    }


def page_url(thread_id: str, side: str, message_id: str) -> str:
    return reverse("threads:messages", args=[thread_id]) + f"?{side}={message_id}"


def thread_view(thread: Thread) -> ThreadView:
    return ThreadView(
        id=thread.id,
        subject=thread.subject,
        kind=thread.kind,
        status=thread.status,
        city=thread.city or "",
        is_locked=thread.is_locked,
        banner=get_banner(thread),
        last_seq=thread.last_seq,
        rev=thread.rev,
    )


def people_of(user: User, opened: OpenedThread) -> list[ParticipantView]:
    thread, me = opened.cached.thread, opened.me
    return [
        _person_view(person, user, may_remove=can_remove(thread, me, person))
        for person in opened.cached.people.values()
    ]


def _person_view(person: Participant, user: User, *, may_remove: bool) -> ParticipantView:
    copy = person.person
    return ParticipantView(
        id=person.user_id,
        name=copy["name"],
        handle=copy["handle"],
        avatar=copy.get("avatar", ""),
        role=person.role,
        time_zone=copy["timeZone"],
        local_time=datetime.now(ZoneInfo(copy["timeZone"])),
        is_me=person.user_id == user.id,
        can_be_removed=may_remove,
    )


def invited_people(cached: CachedThread) -> list[Person]:
    """As long as they can accept. Somebody who declined looks like somebody who waits."""
    return [one.person for one in cached.invited.values() if not one.is_request_expired]


def invitation_page(cached: CachedThread, invitation: Invitation) -> dict[str, Any]:
    """What somebody sees before they accept: nothing that was said."""
    return {
        "thread": {"id": cached.thread.id, "subject": cached.thread.subject},
        "inviter": invitation.other_side,
        "names": [one.person["name"] for one in cached.people.values()],
        "is_declined": invitation.request_state == REQUEST_DECLINED,
        "is_over": invitation.is_request_expired or invitation.inviter_id not in cached.people,
        "folder": invitation.folder,
    }


def compose_form(opened: OpenedThread) -> SendMessage:
    """With an id of its own, so that sending the same page twice stores one message."""
    return SendMessage(
        initial={"client_id": str(uuid4()), "seen_seq": opened.cached.thread.last_seq}
    )


def _why_not(user: User, opened: OpenedThread) -> Refusal | None:
    try:
        check_can_write(opened.cached, user.id)
    except Refusal as refusal:
        return refusal
    return None
