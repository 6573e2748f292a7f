"""Rate limits of new contacts and uploads: token buckets in the table, shared by all servers.

A bucket is read with the other items of an action, and written in its transaction on the condition
that it is unchanged. Frequent and cheap commands are limited in memory (core/rate_limits.py).
"""

import math
import time
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from accounts.models import User
from core.refusals import Refusal
from threads.dynamodb import keys
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import Item, Key, get_many
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.models import RateBucket

# Tokens are stored as integers, in thousandths.
TOKEN = 1000
# By then every bucket is full.
BUCKET_LIFETIME_SECONDS = 24 * 3600


@dataclass(frozen=True)
class StoredLimit:
    name: str
    burst: int
    seconds: int
    # The refusal of an empty bucket, and the beginning of its hint.
    message: str
    hint: str


def start_limits(user: User) -> list[StoredLimit]:
    """Limits of new contacts; verified and older accounts have higher ones."""
    age = timezone.now() - user.date_joined
    is_established = user.verified or age.days >= settings.NEW_ACCOUNT_DAYS
    hour, day = settings.START_LIMITS_KNOWN if is_established else settings.START_LIMITS
    message = "You've messaged many new people in a short time."
    hint = "You can message someone new again"
    return [
        StoredLimit("start-hour", hour, 3600, message, hint),
        StoredLimit("start-day", day, 24 * 3600, message, hint),
    ]


def upload_limits() -> list[StoredLimit]:
    message = "You've uploaded many files in a short time."
    return [StoredLimit("upload", settings.UPLOAD_LIMIT, 3600, message, "You can upload more")]


def bucket_keys(user: User, limits: list[StoredLimit]) -> list[Key]:
    return [(keys.user_pk(user.id), keys.rate_sk(limit.name)) for limit in limits]


def take_token(user: User, limits: list[StoredLimit]) -> None:
    """Takes a token in a transaction of its own, for actions outside the table."""
    backoff = Backoff()
    while True:
        write = Transaction()
        take_token_in(write, user, limits, get_many(bucket_keys(user, limits)))
        try:
            write.commit()
            return
        except TransactionCancelled:
            # A concurrent action of the same user changed a bucket.
            backoff.wait()


def check_tokens_left(limits: list[StoredLimit], found: list[Item]) -> None:
    """Refuses with the seconds to wait if a bucket is empty, without taking a token."""
    for limit in limits:
        _check_left(limit, _tokens_left(_find_bucket(limit, found), limit, time.time()))


def take_token_in(
    write: Transaction, user: User, limits: list[StoredLimit], found: list[Item]
) -> None:
    """Takes a token of each bucket in a transaction; refuses if one is empty."""
    now = time.time()
    for limit in limits:
        bucket = _find_bucket(limit, found)
        left = _tokens_left(bucket, limit, now)
        _check_left(limit, left)
        put = RateBucket(
            keys.user_pk(user.id),
            keys.rate_sk(limit.name),
            tokens=left - TOKEN,
            updated_at=keys.now(),
            ttl=int(now) + BUCKET_LIFETIME_SECONDS,
        )
        as_read = (
            RateBucket.updated_at == bucket.updated_at
            if bucket
            else RateBucket.pk.does_not_exist() | (RateBucket.ttl <= int(now))
        )
        write.put(limit.name, put, as_read)


def _find_bucket(limit: StoredLimit, found: list[Item]) -> RateBucket | None:
    buckets = (item for item in found if isinstance(item, RateBucket))
    return next((one for one in buckets if one.sk == keys.rate_sk(limit.name)), None)


def _check_left(limit: StoredLimit, left: int) -> None:
    if left < TOKEN:
        wait = math.ceil((TOKEN - left) / TOKEN * limit.seconds / limit.burst)
        hint = f"{limit.hint} {_format_wait(wait)}."
        raise Refusal("RATE_LIMITED", limit.message, hint=hint, retry_after=wait)


def _tokens_left(bucket: RateBucket | None, limit: StoredLimit, now: float) -> int:
    if bucket is None:
        return limit.burst * TOKEN
    passed = max(0.0, now - keys.parse_iso(bucket.updated_at).timestamp())
    filled = bucket.tokens + int(passed * TOKEN * limit.burst / limit.seconds)
    return min(limit.burst * TOKEN, filled)


def _format_wait(seconds: int) -> str:
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return f"in {minutes} min"
    return f"in {math.ceil(minutes / 60)} h"
