"""Middleware for correlation ids, refusals and the rate limit of writes."""

import secrets
from collections.abc import Callable

import structlog
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.decorators import sync_only_middleware

from accounts.sign_in.lockout import client_address
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from threads.dynamodb.errors import should_log
from threads.dynamodb.retry import time_budget

log = structlog.get_logger(__name__)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "TRACE")
GetResponse = Callable[[HttpRequest], HttpResponse]


def new_correlation_id() -> str:
    return secrets.token_hex(8)


@sync_only_middleware
def correlation(get_response: GetResponse) -> GetResponse:
    """Adds an id to the log lines, the response and the error pages of a request."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request.corr_id = new_correlation_id()  # type: ignore[attr-defined]
        with structlog.contextvars.bound_contextvars(corr_id=request.corr_id):  # type: ignore[attr-defined]
            response = get_response(request)
        response["X-Correlation-Id"] = request.corr_id  # type: ignore[attr-defined]
        return response

    return middleware


@sync_only_middleware
def refusals(get_response: GetResponse) -> GetResponse:
    """Renders refusals as responses, and gives all retries of a request one deadline."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with time_budget():
            return get_response(request)

    def process_exception(request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, OperationalError):
            log.warning("database_unavailable", path=request.path, error=str(error))
            return render_database_unavailable(request)
        if not isinstance(error, Refusal):
            return None
        if should_log(error):
            log.info("request_refused", code=error.code, path=request.path)
        response = render_refusal(request, error)
        # Django would log every 503 again, as an error.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response

    middleware.process_exception = process_exception  # type: ignore[attr-defined]
    return middleware


@sync_only_middleware
def limit_writes(get_response: GetResponse) -> GetResponse:
    """Applies one rate limit to all unsafe requests of a user or client address."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_view(request: HttpRequest, *view: object) -> HttpResponse | None:
        if request.method in SAFE_METHODS:
            return None
        user_id = getattr(request.user, "id", None)
        try:
            check_rate_limit("write", user_id or client_address(request) or "unknown")
        except Refusal as refusal:
            return render_refusal(request, refusal)
        return None

    middleware.process_view = process_view  # type: ignore[attr-defined]
    return middleware


def render_database_unavailable(request: HttpRequest) -> HttpResponse:
    """Renders without queries; the base template would query the signed-in user."""
    refusal = Refusal("TRY_AGAIN", "Parley isn't available right now.")
    fields = refusal.as_dict(getattr(request, "corr_id", ""))
    response: HttpResponse
    if "application/json" in request.headers.get("Accept", ""):
        response = JsonResponse(fields, status=refusal.status)
    else:
        response = HttpResponse(render_to_string("503.html"), status=refusal.status)
    response["Retry-After"] = "5"
    return response


def render_refusal(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    corr_id = request.corr_id  # type: ignore[attr-defined]
    fields = refusal.as_dict(corr_id)
    response: HttpResponse
    if "application/json" in request.headers.get("Accept", ""):
        response = JsonResponse(fields, status=refusal.status)
    elif refusal.status == 404:
        # The same page as for an unknown URL, so that it does not reveal what exists.
        response = render(request, "404.html", status=404)
    else:
        response = render(request, "refused.html", {"refusal": fields}, status=refusal.status)
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response
