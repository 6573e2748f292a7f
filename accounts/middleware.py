"""Times on every page are in the reader's own zone."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.decorators import sync_and_async_middleware

from accounts.models import User
from core.time_zones import zone_of

Sync = Callable[[HttpRequest], HttpResponseBase]
Async = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def time_zone(get_response: Any) -> Sync | Async:
    """Who has no session costs no query; who has one is needed by the page's own frame anyway."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        with _clock_of(request.user):
            return get_response(request)

    async def async_middleware(request: HttpRequest) -> HttpResponseBase:
        with _clock_of(await request.auser()):
            return await get_response(request)

    return async_middleware if iscoroutinefunction(get_response) else middleware


def _clock_of(reader: User | AnonymousUser) -> contextlib.AbstractContextManager[None]:
    if isinstance(reader, AnonymousUser):
        return contextlib.nullcontext()
    return timezone.override(zone_of(reader.time_zone))
