"""Times on every page are in the reader's own zone."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.decorators import sync_and_async_middleware

from accounts.time_zones import zone_of

Sync = Callable[[HttpRequest], HttpResponseBase]
Async = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def time_zone(get_response: Any) -> Sync | Async:
    """Asks for the person only where a session says that somebody is signed in."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        signed_in = _has_session(request) and SESSION_KEY in request.session
        with _clock_of(request.user if signed_in else None):
            return get_response(request)

    async def async_middleware(request: HttpRequest) -> HttpResponseBase:
        signed_in = _has_session(request) and await request.session.ahas_key(SESSION_KEY)
        with _clock_of(await request.auser() if signed_in else None):
            return await get_response(request)

    return async_middleware if iscoroutinefunction(get_response) else middleware


def _has_session(request: HttpRequest) -> bool:
    return settings.SESSION_COOKIE_NAME in request.COOKIES


def _clock_of(user: Any) -> contextlib.AbstractContextManager[None]:
    if user is None or user.is_anonymous:
        return contextlib.nullcontext()
    return timezone.override(zone_of(user.time_zone))
