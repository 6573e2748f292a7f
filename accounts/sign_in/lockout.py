"""Locks an account for one client address after too many wrong passwords.

django-axes counts the attempts; this module provides its keys and its response.
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
    except PermissionDenied:  # No client address: the session was opened by a command or a test.
        return None
    if address.version == 4:
        return str(address)
    # A single connection usually has a whole /64, so addresses in it count as one.
    return str(ipaddress.ip_network((address, 64), strict=False).network_address)


def lockout_response(
    request: HttpRequest, original: HttpResponse | None, credentials: Mapping[str, Any] | None
) -> HttpResponse:
    seconds = _seconds_left(account_name(request, credentials), client_address(request))
    minutes = math.ceil(seconds / 60)
    response = render(request, "account/locked.html", {"minutes": minutes}, status=429)
    response["Retry-After"] = str(seconds)
    return response


def _seconds_left(account: str, address: str | None) -> int:
    attempts = AccessAttempt.objects.filter(username=account, ip_address=address)
    newest = attempts.order_by("-attempt_time").first()
    since = newest.attempt_time if newest else timezone.now()
    left = (since + get_cool_off() - timezone.now()).total_seconds()
    return max(1, math.ceil(left))
