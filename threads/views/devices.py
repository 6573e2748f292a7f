"""The page "Your devices": where one is signed in, what is live, and signing out elsewhere."""

from dataclasses import dataclass
from datetime import datetime

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts.models import SignIn
from accounts.sign_in.sessions import list_sign_ins, session_hash
from core.refusals import Refusal
from realtime.broadcast.presence import list_live_connections
from threads.actions.connections import list_connections, sign_out_device
from threads.views.threads import AuthenticatedRequest


@dataclass
class Device:
    id: int
    name: str
    address: str
    since: datetime
    open_pages: int
    is_this: bool


@require_safe
@login_required
def devices(request: AuthenticatedRequest) -> HttpResponse:
    alive = async_to_sync(list_live_connections)(request.user.id)
    live = [one.session_hash for one in list_connections(request.user) if one.id in alive]
    found = [_device(request, one, live) for one in list_sign_ins(request.user)]
    found.sort(key=lambda device: not device.is_this)
    return render(request, "threads/devices.html", {"devices": found})


def _device(request: AuthenticatedRequest, sign_in: SignIn, live: list[str]) -> Device:
    return Device(
        id=sign_in.pk,
        name=sign_in.device,
        address=sign_in.address or "",
        since=sign_in.created_at,
        open_pages=live.count(session_hash(sign_in.session_key)),
        is_this=sign_in.session_key == request.session.session_key,
    )


@require_POST
@login_required
def sign_out(request: AuthenticatedRequest, sign_in_id: int) -> HttpResponse:
    sign_in = SignIn.objects.filter(pk=sign_in_id, user=request.user).first()
    if sign_in is None:
        raise Refusal("PERSON_NOT_FOUND", "There is no such device.")
    if sign_in.session_key == request.session.session_key:
        return redirect("account_logout")
    sign_out_device(request.user, sign_in=sign_in)
    messages.success(request, f"{sign_in.device} is signed out.")
    return redirect("threads:devices")


@require_POST
@login_required
def sign_out_others(request: AuthenticatedRequest) -> HttpResponse:
    others = SignIn.objects.filter(user=request.user)
    for sign_in in others.exclude(session_key=request.session.session_key):
        sign_out_device(request.user, sign_in=sign_in)
    messages.success(request, "You are signed out everywhere else.")
    return redirect("threads:devices")
