"""Requests, invitations, participants and blocks, as forms of the thread page post them."""

from django.contrib import messages as notices
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.http import AuthenticatedRequest
from accounts.models import User
from accounts.queries import find_user, get_person
from core.refusals import Refusal
from threads import queries
from threads.actions.blocks import block_person, unblock_person
from threads.actions.participants import INVITED, add_participant, leave_thread, remove_participant
from threads.actions.requests import accept_request, decline_request
from threads.forms import AddParticipant, ParticipantCommand
from threads.models.participant import REQUESTS


@require_POST
@login_required
def accept(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    accept_request(request.user, thread_id=thread_id)
    return redirect("threads:thread", thread_id)


@require_POST
@login_required
def decline(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    """Also blocks the sender or moves the thread to spam, if the button says so."""
    also = request.POST.get("also", "")
    sender = _sender(request, thread_id) if also == "block" else None
    decline_request(request.user, thread_id=thread_id, as_spam=also == "spam")
    if sender is not None:
        block_person(request.user, blocked=sender)
    done = {"block": "Blocked", "spam": "Moved to spam"}.get(also, "Declined")
    notices.success(request, f"{done}. They won't be notified.")
    return redirect("inbox:folder", REQUESTS)


@require_POST
@login_required
def leave(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    leave_thread(request.user, thread_id=thread_id)
    return redirect("inbox:inbox")


@require_POST
@login_required
def add(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    arguments = AddParticipant.parse({**request.POST.dict(), "thread": thread_id})
    queries.access_participants(request.user, thread_id)
    user = get_person(arguments["handle"])
    outcome = add_participant(request.user, thread_id=thread_id, user=user)
    if outcome == INVITED:
        notices.success(request, f"{user.display_name} was invited and will join once they accept.")
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


def _sender(request: AuthenticatedRequest, thread_id: str) -> User:
    """The sender of the request, or of the invitation."""
    try:
        _, invitation = queries.open_invitation(request.user, thread_id)
    except Refusal:
        return _other(request, thread_id)
    user = find_user(invitation.inviter_id)
    if user is None:
        raise Refusal("THREAD_NOT_FOUND")
    return user


def _other(request: AuthenticatedRequest, thread_id: str) -> User:
    """The participant that the form names. A user outside the thread is reported as not found."""
    command = ParticipantCommand.parse({**request.POST.dict(), "thread": thread_id})
    cached = queries.access_participants(request.user, thread_id)
    user = find_user(command["user_id"]) if command["user_id"] in cached.people else None
    if user is None:
        raise Refusal("THREAD_NOT_FOUND")
    return user
