"""The thread page, its messages and the page that starts a thread."""

from collections.abc import Callable
from uuid import uuid4

from django.contrib import messages as notices
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.http import AuthenticatedRequest
from accounts.models import User
from accounts.queries import get_person
from core.ids import is_id
from core.pages import render_page
from core.refusals import Refusal
from threads import queries
from threads.actions.cursors import mark_read
from threads.actions.messages import send_message
from threads.actions.safe_mode import lift_safe_mode, require_safe_mode
from threads.actions.start import start_thread
from threads.forms import MoveCursor, SendMessage, StartThread
from threads.models.packs import allow_placeholders
from threads.rendering.notices import policy_notice
from threads.views.files import upload_files
from threads.views.thread_page import (
    invitation_page,
    read_with_sidebar,
    render_thread,
    sidebar_context,
    thread_page,
    timeline_page,
)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def start(request: AuthenticatedRequest, handle: str) -> HttpResponse:
    person = get_person(handle)
    if person == request.user:
        return redirect("people:profile", handle)
    is_first = not queries.can_message_directly(request.user, person)
    form = StartThread(
        request.POST or None,
        initial={"client_id": str(uuid4())},
        recipient=person if is_first else None,
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
        "refusal": refusal.as_dict(request.corr_id) if refusal else None,
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
        opened, sidebar = read_with_sidebar(
            request,
            thread_id,
            lambda: queries.open_thread_at_first_unread(request.user, thread_id),
        )
    except Refusal as refusal:
        if refusal.code != "THREAD_NOT_FOUND":
            raise
        return _render_invitation(request, thread_id)
    return render_thread(request, thread_page(request.user, opened) | sidebar)


def _render_invitation(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """An invited user sees the participants and the subject, and can accept or decline."""
    cached, invitation = queries.open_invitation(request.user, thread_id)
    context = invitation_page(cached, invitation) | sidebar_context(request, thread_id)
    return render_page(request, "threads/invitation.html", context)


@require_safe
@login_required
def message(request: AuthenticatedRequest, thread_id: str, message_id: str) -> HttpResponse:
    """The link to one message: the thread page, scrolled to it."""
    opened, sidebar = read_with_sidebar(
        request, thread_id, lambda: queries.open_thread_at(request.user, thread_id, message_id)
    )
    context = thread_page(request.user, opened, target=message_id)
    return render_thread(request, context | sidebar)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def messages(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    if request.method == "POST":
        return _send(request, thread_id)
    return _list(request, thread_id)


def _send(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """Sends without a websocket. A refused text stays in the composer."""
    arguments = SendMessage.parse({**request.POST.dict(), "thread": thread_id})
    try:
        arguments["attachments"] += upload_files(request, thread_id)
        sent = send_message(request.user, **arguments)
    except Refusal as refusal:
        if refusal.status == 404:
            raise
        return _render_refused(request, thread_id, refusal)
    notice = policy_notice(sent)
    if notice:
        notices.warning(request, notice)
    return redirect(f"{reverse('threads:thread', args=[thread_id])}#{sent.id}")


def _render_refused(
    request: AuthenticatedRequest, thread_id: str, refusal: Refusal
) -> HttpResponse:
    opened, sidebar = read_with_sidebar(
        request, thread_id, lambda: queries.open_thread(request.user, thread_id)
    )
    context = thread_page(request.user, opened, refusal=refusal.as_dict(request.corr_id))
    context |= sidebar
    context["compose"]["body"] = request.POST.get("body", "")
    response = render_page(request, "threads/thread.html", context, status=refusal.status)
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response


def _list(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """An older or newer page of messages, or the one around a message. Scripts get a fragment,
    other clients the thread page."""
    with allow_placeholders():
        opened = _open_page(request, thread_id)
        if request.headers.get("X-Fragment"):
            context = timeline_page(request.user, opened)
            return render_thread(request, context, "threads/message_page.html")
        opened.cached = queries.open_thread(request.user, thread_id).cached
    context = thread_page(request.user, opened) | sidebar_context(request, thread_id)
    return render_thread(request, context)


def _open_page(request: AuthenticatedRequest, thread_id: str) -> queries.OpenedThread:
    for name, open_page in MESSAGE_PAGES.items():
        message_id = request.GET.get(name, "")
        if is_id("msg", message_id):
            return open_page(request.user, thread_id, message_id)
    raise Refusal("THREAD_NOT_FOUND")


# By query parameter, whose value is a message id.
MESSAGE_PAGES: dict[str, Callable[[User, str, str], queries.OpenedThread]] = {
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
