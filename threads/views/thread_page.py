"""The template context of the thread page, for one viewer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from core.pages import CLIENT_ID_SLOT, clock_slot, render_cacheable_page, render_page
from core.refusals import Refusal
from threads.actions.invitations import EXPIRED_HINT
from threads.cache import CachedThread
from threads.dynamodb.concurrent_reads import read_both
from threads.events import get_banner, list_cursors
from threads.models import Invitation, Participant, Person, Thread
from threads.models.packs import allow_placeholders
from threads.models.participant import REQUEST_DECLINED, REQUEST_RECEIVED
from threads.permissions import can_add, can_remove, check_can_write
from threads.queries import OpenedThread
from threads.registry import page_sections, sidebars
from threads.rendering.timeline import Timeline


@dataclass
class ParticipantView:
    id: str
    name: str
    handle: str
    avatar: str
    role: str
    time_zone: str
    # A slot, since it differs in every response.
    local_time: str
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
    user: User, opened: OpenedThread, *, current_tab: str = "", target: str = "", **extra: Any
) -> dict[str, Any]:
    people = people_of(user, opened)
    me = opened.me
    refusal = _write_refusal(user, opened)
    context = {
        "thread": thread_view(opened.cached.thread),
        "people": people,
        "others": [person for person in people if not person.is_me],
        "newest": opened.messages[-1] if opened.messages else None,
        "unread": me.unread,
        "target": target,
        "cursors": list_cursors(opened, reader_id=user.id),
        "compose": compose_form(opened),
        "can_write": refusal is None,
        "refusal": refusal,
        "is_marked_unread": bool(me.marked_unread),
        "asks_me": is_request_recipient(me),
        "is_declined": me.request_state == REQUEST_DECLINED,
        "is_request_expired": me.is_request_expired,
        "is_blocked_by_me": user.id in (me.blocked_by or ()),
        "in_safe_mode": opened.cached.thread.safe_mode_required or user.safe_mode,
        **timeline_page(user, opened, first_unread=_first_unread(user, opened), target=target),
        **_sections(user, opened, refusal is None, current_tab),
    }
    return context | {"head": _head(user, opened, context)} | extra


def _head(user: User, opened: OpenedThread, context: dict[str, Any]) -> dict[str, Any]:
    """Everything that the header of the thread shows, with the list of people and the menu."""
    thread, me, can_write = opened.cached.thread, opened.me, context["can_write"]
    names = (
        *("people", "others", "is_blocked_by_me", "can_offer", "progress"),
        *("next_step", "staff_proposals"),
    )
    return {name: context.get(name) for name in names} | {
        "thread": {"id": thread.id, "subject": thread.subject},
        "has_panel": bool(context.get("panel")),
        "invited": invited_people(opened.cached),
        "folder": me.folder,
        "is_pinned": me.pinned,
        "is_muted": me.is_muted,
        "can_add_people": can_write and can_add(thread, me),
        "requires_safe_mode": thread.safe_mode_required,
        "can_set_safe_mode": can_write and _is_principal(user, opened),
    }


def render_thread(
    request: HttpRequest, context: dict[str, Any], template: str = "threads/thread.html"
) -> HttpResponse:
    # Placeholders of archived messages must not be cached.
    render = render_page if context["has_unavailable"] else render_cacheable_page
    return render(request, template, context)


def read_with_sidebar(
    request: HttpRequest, thread_id: str, read: Callable[[], OpenedThread]
) -> tuple[OpenedThread, dict[str, Any]]:
    """Reads the thread and what its sidebar shows at the same time."""
    with allow_placeholders():
        sidebar, opened = read_both(lambda: sidebar_context(request, thread_id), read)
    return opened, sidebar


def sidebar_context(request: HttpRequest, thread_id: str) -> dict[str, Any]:
    context: dict[str, Any] = {}
    for sidebar in sidebars:
        context |= sidebar(request, thread_id)
    return context


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


def _is_principal(user: User, opened: OpenedThread) -> bool:
    return user.id in (opened.cached.thread.buyer_id, opened.cached.thread.seller_id)


def _first_unread(user: User, opened: OpenedThread) -> str:
    """The message below the line "New messages", if it is on this page."""
    read = opened.me.last_read_seq
    unread = [m for m in opened.messages if m.seq > read and m.author_id not in (None, user.id)]
    return unread[0].id if opened.me.unread and unread else ""


def timeline_page(user: User, opened: OpenedThread, **marks: str) -> dict[str, Any]:
    """One page of messages, with links to the pages before and after it. `marks` are the ids of
    the first unread message and of the target, if the page shows them."""
    thread_id = opened.cached.thread.id
    messages = opened.messages
    timeline = Timeline(
        messages,
        opened.cached,
        user.id,
        timezone.get_current_timezone(),
        without_links=is_request_recipient(opened.me),
        **marks,
    )
    older = opened.has_older and messages
    newer = opened.has_newer and messages
    return {
        "timeline": timeline,
        "has_unavailable": timeline.has_unavailable,
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
        local_time=clock_slot(copy["timeZone"]),
        is_me=person.user_id == user.id,
        can_be_removed=may_remove,
    )


def invited_people(cached: CachedThread) -> list[Person]:
    """Until the invitation expires: a declined invitation must look like an open one."""
    return [one.person for one in cached.invited.values() if not one.is_request_expired]


def invitation_page(cached: CachedThread, invitation: Invitation) -> dict[str, Any]:
    """What an invited user sees before accepting: no messages."""
    return {
        "thread": {"id": cached.thread.id, "subject": cached.thread.subject},
        "inviter": invitation.other_side,
        "names": [one.person["name"] for one in cached.people.values()],
        "is_declined": invitation.request_state == REQUEST_DECLINED,
        "is_over": invitation.is_request_expired or invitation.inviter_id not in cached.people,
        "folder": invitation.folder,
        "expired_hint": EXPIRED_HINT,
    }


def compose_form(opened: OpenedThread) -> dict[str, Any]:
    """With a client id, so that posting the same page twice stores one message."""
    return {
        "client_id": CLIENT_ID_SLOT,
        "seen_seq": opened.cached.thread.last_seq,
        "body": "",
    }


def _write_refusal(user: User, opened: OpenedThread) -> Refusal | None:
    try:
        check_can_write(opened.cached, user.id)
    except Refusal as refusal:
        return refusal
    return None
