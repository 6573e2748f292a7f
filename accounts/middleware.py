"""Finds the signed-in user, activates their time zone, and clears kept pages after a sign-out."""

import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponseBase
from django.utils import timezone
from django.utils.decorators import sync_and_async_middleware, sync_only_middleware

from accounts.models import User
from accounts.sign_in.sessions import find_loaded_user
from core.time_zones import zone_of

Sync = Callable[[HttpRequest], HttpResponseBase]
Async = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class SessionUserMiddleware(AuthenticationMiddleware):
    """Uses the user that was read with the session. If anything is unusual, such as a changed
    password or a suspended account, Django's own check decides, with its own query."""

    def process_request(self, request: HttpRequest) -> None:
        super().process_request(request)
        user = find_loaded_user(request.session)
        if user is not None:
            # Where Django keeps the user of a request.
            request.user = request._cached_user = user  # type: ignore[attr-defined]


@sync_and_async_middleware
def time_zone(get_response: Any) -> Sync | Async:
    """Adds no query: anonymous requests have no session, and pages load the user anyway."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        with _override_time_zone(request.user):
            return get_response(request)

    async def async_middleware(request: HttpRequest) -> HttpResponseBase:
        with _override_time_zone(await request.auser()):
            return await get_response(request)

    return async_middleware if iscoroutinefunction(get_response) else middleware


def _override_time_zone(user: User | AnonymousUser) -> contextlib.AbstractContextManager[None]:
    if isinstance(user, AnonymousUser):
        return contextlib.nullcontext()
    return timezone.override(zone_of(user.time_zone))


@sync_only_middleware
def clear_cache(get_response: Sync) -> Sync:
    """Browsers keep pages to revalidate them. When a session ends they have to remove them, since
    the Back button shows a kept page without asking."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        cookie = response.cookies.get(settings.SESSION_COOKIE_NAME)
        if cookie is not None and not cookie.value:
            response["Clear-Site-Data"] = '"cache"'
        return response

    return middleware
