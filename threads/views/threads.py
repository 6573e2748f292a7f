"""Pages of threads: they read what was sent, call an action, and say what came of it."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django.contrib import messages as notices
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import User
from accounts.queries import find_user, get_person
from core.ids import is_id
from core.refusals import Refusal
from threads import queries
from threads.actions.blocks import block_person, unblock_person
from threads.actions.cursors import mark_read
from threads.actions.messages import send_message
from threads.actions.participants import INVITED, add_participant, leave_thread, remove_participant
from threads.actions.requests import accept_request, decline_request
from threads.actions.safe_mode import lift_safe_mode, require_safe_mode
from threads.actions.start import start_thread
from threads.forms import (
    AddParticipant,
    MoveCursor,
    ParticipantCommand,
    SendMessage,
    StartThread,
)
from threads.models.packs import allow_placeholders
from threads.models.participant import REQUESTS
from threads.rendering.notices import policy_notice
from threads.views.files import upload_files
from threads.views.thread_page import invitation_page, thread_page, timeline_page


class AuthenticatedRequest(HttpRequest):
    """Somebody who is signed in."""

    user: User
    corr_id: str


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def start(request: AuthenticatedRequest, handle: str) -> HttpResponse:
    person = get_person(handle)
    if person == request.user:
        return redirect("accounts:profile", handle)
    is_first = not queries.can_message_directly(request.user, person)
    form = StartThread(
        request.POST or None,
        initial={"client_id": str(uuid4())},
        asked=person if is_first else None,
    )
    refusal = None
    if form.is_valid():
        try:
            thread_id = start_thread(request.user, seller=person, **form.arguments())
        except Refusal as error:
            refusal = error
        else:
            return redirect("threads:thread", thread_id)
    context = {
        "person": person,
        "form": form,
        "is_first": is_first,
        "refusal": _say(request, refusal),
    }
    return render(request, "threads/start.html", context, status=_status(form, refusal))


def _status(form: StartThread, refusal: Refusal | None) -> int:
    if refusal is not None:
        return refusal.status
    return 400 if form.is_bound else 200


@require_safe
@login_required
def thread(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    try:
        with allow_placeholders():
            opened = queries.open_thread_at_first_unread(request.user, thread_id)
    except Refusal as refusal:
        if refusal.code != "THREAD_NOT_FOUND":
            raise
        return _show_invitation(request, thread_id)
    return _show(request, "threads/thread.html", thread_page(request.user, opened))


def _show(request: AuthenticatedRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    response = render(request, template, context)
    if context["has_unavailable"]:
        # Nobody may keep placeholders for what the messages say.
        response["Cache-Control"] = "no-store"
    return response


def _show_invitation(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """Somebody who was invited sees who is there and what about, and answers."""
    state, invitation = queries.open_invitation(request.user, thread_id)
    return render(request, "threads/invitation.html", invitation_page(state, invitation))


@require_safe
@login_required
def message(request: AuthenticatedRequest, thread_id: str, message_id: str) -> HttpResponse:
    """A link to one message: the thread around it, with it in sight."""
    with allow_placeholders():
        opened = queries.open_thread_at(request.user, thread_id, message_id)
    context = thread_page(request.user, opened, target=message_id)
    return _show(request, "threads/thread.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def messages(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    if request.method == "POST":
        return _send(request, thread_id)
    return _list(request, thread_id)


def _send(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """Sending without a socket. What was typed stays in the box if it is refused."""
    arguments = SendMessage.parse({**request.POST.dict(), "thread": thread_id})
    try:
        arguments["attachments"] += upload_files(request, thread_id)
        sent = send_message(request.user, **arguments)
    except Refusal as refusal:
        if refusal.status == 404:
            raise
        return _show_refused(request, thread_id, refusal)
    notice = policy_notice(sent)
    if notice:
        notices.warning(request, notice)
    return redirect(f"{reverse('threads:thread', args=[thread_id])}#{sent.id}")


def _show_refused(request: AuthenticatedRequest, thread_id: str, refusal: Refusal) -> HttpResponse:
    with allow_placeholders():
        opened = queries.open_thread(request.user, thread_id)
    context = thread_page(request.user, opened, refusal=_say(request, refusal))
    context["compose"].initial["body"] = request.POST.get("body", "")
    response = render(request, "threads/thread.html", context, status=refusal.status)
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response


def _list(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """An older or newer stretch, or the one around a message: a fragment for a script, a page for
    everybody else."""
    with allow_placeholders():
        opened = _stretch(request, thread_id)
        if request.headers.get("X-Fragment"):
            context = timeline_page(request.user, opened)
            return _show(request, "threads/stretch.html", context)
        opened.cached = queries.open_thread(request.user, thread_id).cached
    return _show(request, "threads/thread.html", thread_page(request.user, opened))


def _stretch(request: AuthenticatedRequest, thread_id: str) -> queries.OpenedThread:
    for name, find in STRETCHES.items():
        message_id = request.GET.get(name, "")
        if is_id("msg", message_id):
            return find(request.user, thread_id, message_id)
    raise Refusal("THREAD_NOT_FOUND")


STRETCHES: dict[str, Callable[[User, str, str], queries.OpenedThread]] = {
    "before": lambda user, thread_id, id_: queries.list_older(user, thread_id, before=id_),
    "after": lambda user, thread_id, id_: queries.list_newer(user, thread_id, after=id_),
    "at": queries.open_thread_at,
}


@require_POST
@login_required
def read(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    arguments = MoveCursor.parse({**request.POST.dict(), "thread": thread_id})
    mark_read(request.user, **arguments)
    return redirect("threads:thread", thread_id)


@require_POST
@login_required
def safe_mode(request: AuthenticatedRequest, thread_id: str, way: str) -> HttpResponse:
    change = require_safe_mode if way == "on" else lift_safe_mode
    change(request.user, thread_id=thread_id)
    return redirect("threads:thread", thread_id)


@require_POST
@login_required
def leave(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    leave_thread(request.user, thread_id=thread_id)
    return redirect("inbox:inbox")


@require_POST
@login_required
def accept(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    accept_request(request.user, thread_id=thread_id)
    return redirect("threads:thread", thread_id)


@require_POST
@login_required
def decline(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """With a block, or as spam, if one says so with the same button."""
    also = request.POST.get("also", "")
    asker = _asker(request, thread_id) if also == "block" else None
    decline_request(request.user, thread_id=thread_id, as_spam=also == "spam")
    if asker is not None:
        block_person(request.user, blocked=asker)
    said = {"block": "Blocked. ", "spam": "Moved to spam. "}.get(also, "Declined. ")
    notices.success(request, f"{said}They are not told.")
    return redirect("inbox:folder", REQUESTS)


@require_POST
@login_required
def add(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    arguments = AddParticipant.parse({**request.POST.dict(), "thread": thread_id})
    queries.access_participants(request.user, thread_id)
    user = get_person(arguments["handle"])
    outcome = add_participant(request.user, thread_id=thread_id, user=user)
    if outcome == INVITED:
        said = f"{user.display_name} was invited and joins once they accept."
        notices.success(request, said)
    return redirect("threads:thread", thread_id)


@require_POST
@login_required
def remove(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    arguments = ParticipantCommand.parse({**request.POST.dict(), "thread": thread_id})
    remove_participant(request.user, **arguments)
    return redirect("threads:thread", thread_id)


@require_POST
@login_required
def block(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    block_person(request.user, blocked=_other(request, thread_id))
    return redirect("threads:thread", thread_id)


@require_POST
@login_required
def unblock(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    unblock_person(request.user, blocked=_other(request, thread_id))
    return redirect("threads:thread", thread_id)


def _asker(request: AuthenticatedRequest, thread_id: str) -> User:
    """Who has asked, by a first message or by an invitation."""
    try:
        _, invitation = queries.open_invitation(request.user, thread_id)
    except Refusal:
        return _other(request, thread_id)
    user = find_user(invitation.inviter_id)
    if user is None:
        raise Refusal("THREAD_NOT_FOUND")
    return user


def _other(request: AuthenticatedRequest, thread_id: str) -> User:
    """Somebody of this thread; whoever else was named does not exist."""
    user_id = ParticipantCommand.parse({**request.POST.dict(), "thread": thread_id})["user_id"]
    cached = queries.access_participants(request.user, thread_id)
    user = find_user(user_id) if user_id in cached.people else None
    if user is None:
        raise Refusal("THREAD_NOT_FOUND")
    return user


def _say(request: AuthenticatedRequest, refusal: Refusal | None) -> dict[str, Any] | None:
    return refusal.as_dict(request.corr_id) if refusal else None
