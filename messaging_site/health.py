"""Is it alive, and can it do its work? For whatever starts, watches and balances the service."""

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

# A clock further off than this would write messages into the future.
MAX_CLOCK_OFFSET = 5.0

Checks = dict[str, str]


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Each store that is needed answers, and the clock is right; says which does not.

    Not while the server drains. Without Redis the work goes on: servers that left the balancer for
    its sake would make a small outage a large one.
    """
    found = {"server": "draining"} if draining.is_set() else readiness.checks()
    is_ready = all(answer == "ok" for name, answer in found.items() if name != "redis")
    report: dict[str, Any] = {"ready": is_ready}
    if _is_trusted(request):
        report["checks"] = found
    return JsonResponse(report, status=200 if is_ready else 503)


def _is_trusted(request: HttpRequest) -> bool:
    """Whether the caller is in one of HEALTH_NETWORKS, as far as its address can be believed."""
    if "X-Forwarded-For" in request.headers and not settings.ALLAUTH_TRUSTED_PROXY_COUNT:
        return False
    try:
        address = ipaddress.ip_address(get_adapter(request).get_client_ip(request))
    except (PermissionDenied, ValueError):
        return False
    return any(address in ipaddress.ip_network(one) for one in settings.HEALTH_NETWORKS)


class Readiness:
    """Caches the last report, so that the stores are asked once however many callers there are."""

    def __init__(self) -> None:
        self._checking = threading.Lock()
        self._last: Checks | None = None
        self._checked_at = 0.0

    def checks(self) -> Checks:
        """Callers during a check get the previous report; only the first report is waited for."""
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
    """Asks each store once; the clock is compared with the answer of DynamoDB."""
    described: list[dict[str, Any]] = []
    return {
        "database": _try("database", _check_database),
        "dynamodb": _try("dynamodb", lambda: described.append(_describe_table())),
        "redis": _try("redis", _check_redis),
        "clock": _try("clock", partial(_check_clock, described)),
    }


def _try(name: str, check: Callable[[], None]) -> str:
    try:
        check()
    except Exception as error:
        log.warning("not_ready", check=name, error=str(error))
        return type(error).__name__
    return "ok"


def _check_database() -> None:
    with database.cursor() as cursor:
        cursor.execute("SELECT 1")


def _describe_table() -> dict[str, Any]:
    store = table()
    answer: dict[str, Any] = store.connection.dispatch(
        "DescribeTable", {"TableName": store.table_name}
    )
    return answer


def _check_redis() -> None:
    if settings.REDIS_URL:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as client:
            client.ping()


class ClockIsOff(Exception):
    pass


def _check_clock(described: list[dict[str, Any]]) -> None:
    """Against the store's own Date header, which is the time that counts."""
    if not described:
        return
    told = described[0]["ResponseMetadata"]["HTTPHeaders"].get("date")
    if told and abs(parsedate_to_datetime(told).timestamp() - time.time()) > MAX_CLOCK_OFFSET:
        raise ClockIsOff(f"this machine says {time.time():.0f}, the store says {told}")
