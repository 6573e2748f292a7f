"""The edge of every page: a correlation id for each request, and refusals as answers."""

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
    """Every log line of a request carries its id, and so does every error that a person sees."""

    def middleware(request: HttpRequest) -> HttpResponse:
        request.corr_id = new_correlation_id()  # type: ignore[attr-defined]
        with structlog.contextvars.bound_contextvars(corr_id=request.corr_id):  # type: ignore[attr-defined]
            response = get_response(request)
        response["X-Correlation-Id"] = request.corr_id  # type: ignore[attr-defined]
        return response

    return middleware


@sync_only_middleware
def refusals(get_response: GetResponse) -> GetResponse:
    """Refusals become answers. All retries of one request share one deadline."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with time_budget():
            return get_response(request)

    def process_exception(request: HttpRequest, error: Exception) -> HttpResponse | None:
        if isinstance(error, OperationalError):
            log.warning("page_without_database", path=request.path, error=str(error))
            return without_database(request)
        if not isinstance(error, Refusal):
            return None
        if should_log(error):
            log.info("refused", code=error.code, path=request.path)
        response = refuse(request, error)
        # Otherwise Django logs every 503 once more, as an error.
        response._has_been_logged = True  # type: ignore[attr-defined]
        return response

    middleware.process_exception = process_exception  # type: ignore[attr-defined]
    return middleware


@sync_only_middleware
def limit_writes(get_response: GetResponse) -> GetResponse:
    """One rate limit for every change that comes by a page, whatever the view."""

    def middleware(request: HttpRequest) -> HttpResponse:
        return get_response(request)

    def process_view(request: HttpRequest, *view: object) -> HttpResponse | None:
        if request.method in SAFE_METHODS:
            return None
        user_id = getattr(request.user, "id", None)
        try:
            check_rate_limit("write", user_id or client_address(request) or "nobody")
        except Refusal as refusal:
            return refuse(request, refusal)
        return None

    middleware.process_view = process_view  # type: ignore[attr-defined]
    return middleware


def without_database(request: HttpRequest) -> HttpResponse:
    """Made without any query: the page frame would ask who is signed in."""
    refusal = Refusal("TRY_AGAIN", "Parley is not available right now.")
    described = refusal.as_dict(getattr(request, "corr_id", ""))
    response: HttpResponse
    if "application/json" in request.headers.get("Accept", ""):
        response = JsonResponse(described, status=refusal.status)
    else:
        response = HttpResponse(render_to_string("503.html"), status=refusal.status)
    response["Retry-After"] = "5"
    return response


def refuse(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    corr_id = request.corr_id  # type: ignore[attr-defined]
    described = refusal.as_dict(corr_id)
    response: HttpResponse
    if "application/json" in request.headers.get("Accept", ""):
        response = JsonResponse(described, status=refusal.status)
    elif refusal.status == 404:
        # What one may not see does not exist: the page of an address that leads nowhere.
        response = render(request, "404.html", status=404)
    else:
        response = render(request, "refused.html", {"refusal": described}, status=refusal.status)
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response
