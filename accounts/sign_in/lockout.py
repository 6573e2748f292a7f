"""Too many wrong passwords: this account is closed to this address for a while, to no other.

django-axes counts; here is what it counts by, and what it answers.
"""

import ipaddress
import math
from collections.abc import Mapping
from typing import Any

from allauth.account.adapter import get_adapter
from axes.helpers import get_cool_off
from axes.models import AccessAttempt
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone


def account_name(request: HttpRequest, credentials: Mapping[str, Any] | None) -> str:
    given = credentials or {}
    return str(given.get("email") or given.get("username") or "").lower()


def client_address(request: HttpRequest) -> str | None:
    try:
        address = ipaddress.ip_address(get_adapter(request).get_client_ip(request))
    except PermissionDenied:  # Not from the network: a session that a command or a test opens.
        return None
    if address.version == 4:
        return str(address)
    # One line at home is a whole /64: whoever has one has as many addresses as they like.
    return str(ipaddress.ip_network((address, 64), strict=False).network_address)


def lockout_response(
    request: HttpRequest, response: HttpResponse | None, credentials: Mapping[str, Any] | None
) -> HttpResponse:
    seconds = _seconds_left(account_name(request, credentials), client_address(request))
    minutes = math.ceil(seconds / 60)
    refused = render(request, "account/locked.html", {"minutes": minutes}, status=429)
    refused["Retry-After"] = str(seconds)
    return refused


def _seconds_left(account: str, address: str | None) -> int:
    attempts = AccessAttempt.objects.filter(username=account, ip_address=address)
    newest = attempts.order_by("-attempt_time").first()
    since = newest.attempt_time if newest else timezone.now()
    left = (since + get_cool_off() - timezone.now()).total_seconds()
    return max(1, math.ceil(left))
