"""Liveness and readiness checks for process managers and load balancers."""

import ipaddress
import threading
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import redis
import structlog
from allauth.account.adapter import get_adapter
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import connection as database
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from messaging_site.server.drain import draining
from threads.dynamodb.table import connection as table

log = structlog.get_logger(__name__)

# With a larger offset messages would be stored in the future.
MAX_CLOCK_OFFSET_SECONDS = 5.0

Checks = dict[str, str]


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """503 if a required store does not answer, the clock is off or the server is draining.

    An outage of Redis does not count: the server still works without it, and removing all servers
    from the balancer would make the outage worse.
    """
    checks = {"server": "draining"} if draining.is_set() else readiness.checks()
    is_ready = all(result == "ok" for name, result in checks.items() if name != "redis")
    report: dict[str, Any] = {"ready": is_ready}
    if _is_trusted(request):
        report["checks"] = checks
    return JsonResponse(report, status=200 if is_ready else 503)


def _is_trusted(request: HttpRequest) -> bool:
    """Whether the client is in HEALTH_NETWORKS and its address can be trusted."""
    if "X-Forwarded-For" in request.headers and not settings.ALLAUTH_TRUSTED_PROXY_COUNT:
        return False
    try:
        address = ipaddress.ip_address(get_adapter(request).get_client_ip(request))
    except (PermissionDenied, ValueError):
        return False
    return any(address in ipaddress.ip_network(one) for one in settings.HEALTH_NETWORKS)


class Readiness:
    """Caches the last report, so that the load on the stores does not depend on the callers."""

    def __init__(self) -> None:
        self._checking = threading.Lock()
        self._last: Checks | None = None
        self._checked_at = 0.0

    def checks(self) -> Checks:
        """Callers during a check get the previous report; they wait only for the first one."""
        last = self._last
        if last is not None and self._is_fresh():
            return last
        if not self._checking.acquire(blocking=last is None):
            assert last is not None
            return last
        try:
            if self._last is None or not self._is_fresh():
                self._last = run_checks()
                self._checked_at = time.monotonic()
            return self._last
        finally:
            self._checking.release()

    def clear(self) -> None:
        self._last = None

    def _is_fresh(self) -> bool:
        return time.monotonic() - self._checked_at < settings.READY_CACHE_SECONDS


readiness = Readiness()


def run_checks() -> Checks:
    """Queries each store once and compares the clock with the response of DynamoDB."""
    described: list[dict[str, Any]] = []
    return {
        "database": _run_check("database", _check_database),
        "dynamodb": _run_check("dynamodb", lambda: described.append(_describe_table())),
        "redis": _run_check("redis", _check_redis),
        "clock": _run_check("clock", partial(_check_clock, described)),
    }


def _run_check(name: str, check: Callable[[], None]) -> str:
    try:
        check()
    except Exception as error:
        log.warning("readiness_check_failed", check=name, error=str(error))
        return type(error).__name__
    return "ok"


def _check_database() -> None:
    with database.cursor() as cursor:
        cursor.execute("SELECT 1")


def _describe_table() -> dict[str, Any]:
    store = table()
    response: dict[str, Any] = store.connection.dispatch(
        "DescribeTable", {"TableName": store.table_name}
    )
    return response


def _check_redis() -> None:
    if settings.REDIS_URL:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as client:
            client.ping()


class ClockOffsetError(Exception):
    pass


def _check_clock(described: list[dict[str, Any]]) -> None:
    """Compares the clock with the Date header of DynamoDB."""
    if not described:
        return
    date = described[0]["ResponseMetadata"]["HTTPHeaders"].get("date")
    if not date:
        return
    offset = abs(parsedate_to_datetime(date).timestamp() - time.time())
    if offset > MAX_CLOCK_OFFSET_SECONDS:
        raise ClockOffsetError(f"this machine says {time.time():.0f}, DynamoDB says {date}")
