"""Is it alive, and can it do its work? For whatever starts, watches and balances the service."""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

import redis
import structlog
from django.conf import settings
from django.db import connection as database
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from messaging_site.leaving import leaving
from threads.models.table import connection as table

log = structlog.get_logger(__name__)

# A clock further off than this would write messages into the future.
MOST_CLOCK_OFFSET = 5.0


@require_safe
def alive(request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok\n", content_type="text/plain")


@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """Each store that is needed answers, and the clock is right; says which does not.

    Not while we leave. Without Redis the work goes on: servers that left the balancer for its sake
    would make a small outage a large one.
    """
    if leaving.is_set():
        return JsonResponse({"ready": False, "checks": {"server": "leaving"}}, status=503)
    found = {name: _try(name, check) for name, check in CHECKS.items()}
    is_ready = all(answer == "ok" for name, answer in found.items() if name != "redis")
    return JsonResponse({"ready": is_ready, "checks": found}, status=200 if is_ready else 503)


def _try(name: str, check: Callable[[], None]) -> str:
    try:
        check()
    except Exception as error:
        log.warning("not_ready", check=name, error=str(error))
        return type(error).__name__
    return "ok"


def _database() -> None:
    with database.cursor() as cursor:
        cursor.execute("SELECT 1")


def _dynamodb() -> None:
    table().describe_table()


def _redis() -> None:
    if settings.REDIS_URL:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as client:
            client.ping()


class ClockIsOff(Exception):
    pass


def _clock() -> None:
    """Against the store's own Date header, which is the time that counts."""
    answer = table().connection.dispatch("DescribeTable", {"TableName": table().table_name})
    told = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    if told and abs(parsedate_to_datetime(told).timestamp() - time.time()) > MOST_CLOCK_OFFSET:
        raise ClockIsOff(f"this machine says {time.time():.0f}, the store says {told}")


CHECKS: dict[str, Callable[[], None]] = {
    "database": _database,
    "dynamodb": _dynamodb,
    "redis": _redis,
    "clock": _clock,
}
