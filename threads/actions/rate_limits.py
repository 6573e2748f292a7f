"""How many first contacts a person may make, and how many files they may bring: buckets in the
table, which fill again by themselves, the same for every server.

A bucket is read with whatever else an action has to know, and written with what it pays for, on
the condition that it is as it was read. What is done often and costs little has buckets of another
kind (core/rate_limits.py).
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

# Stored as whole numbers: a bucket fills by less than one in most moments.
TOKEN = 1000
# By then every bucket is full again.
BUCKET_LIFETIME_SECONDS = 24 * 3600


@dataclass(frozen=True)
class StoredLimit:
    what: str
    most: int
    seconds: int
    # What is said when it is empty, and what can be done again then.
    message: str
    again: str


def start_limits(user: User) -> list[StoredLimit]:
    """An account that is known, or has been here for a while, may do more than a new one."""
    age = timezone.now() - user.date_joined
    is_known = user.verified or age.days >= settings.NEW_ACCOUNT_DAYS
    hour, day = settings.START_LIMITS_KNOWN if is_known else settings.START_LIMITS
    said = "You have written to many new people in a short time."
    again = "You can write to somebody new again"
    return [
        StoredLimit("start-hour", hour, 3600, said, again),
        StoredLimit("start-day", day, 24 * 3600, said, again),
    ]


def upload_limits() -> list[StoredLimit]:
    said = "You have brought many files in a short time."
    return [StoredLimit("upload", settings.UPLOAD_LIMIT, 3600, said, "You can bring more")]


def bucket_keys(user: User, limits: list[StoredLimit]) -> list[Key]:
    return [(keys.user_pk(user.id), keys.rate_sk(limit.what)) for limit in limits]


def take_token(user: User, limits: list[StoredLimit]) -> None:
    """By itself, before what it pays for: for what the table has no part in."""
    backoff = Backoff()
    while True:
        write = Transaction()
        take_token_in(write, user, limits, get_many(bucket_keys(user, limits)))
        try:
            write.commit()
            return
        except TransactionCancelled:
            # Another of theirs came in between.
            backoff.wait()


def check_tokens_left(limits: list[StoredLimit], found: list[Item]) -> None:
    """Refuses with the seconds to wait, if one of them is empty. Takes nothing."""
    for limit in limits:
        _check_left(limit, _left(_find(limit, found), limit, time.time()))


def take_token_in(
    write: Transaction, user: User, limits: list[StoredLimit], found: list[Item]
) -> None:
    """Refuses with the seconds to wait, if one of them is empty."""
    now = time.time()
    for limit in limits:
        bucket = _find(limit, found)
        left = _left(bucket, limit, now)
        _check_left(limit, left)
        put = RateBucket(
            keys.user_pk(user.id),
            keys.rate_sk(limit.what),
            tokens=left - TOKEN,
            updated_at=keys.now(),
            ttl=int(now) + BUCKET_LIFETIME_SECONDS,
        )
        as_read = (
            RateBucket.updated_at == bucket.updated_at
            if bucket
            else RateBucket.pk.does_not_exist() | (RateBucket.ttl <= int(now))
        )
        write.put(limit.what, put, as_read)


def _find(limit: StoredLimit, found: list[Item]) -> RateBucket | None:
    buckets = (item for item in found if isinstance(item, RateBucket))
    return next((one for one in buckets if one.sk == keys.rate_sk(limit.what)), None)


def _check_left(limit: StoredLimit, left: int) -> None:
    if left < TOKEN:
        wait = math.ceil((TOKEN - left) / TOKEN * limit.seconds / limit.most)
        hint = f"{limit.again} {_in(wait)}."
        raise Refusal("RATE_LIMITED", limit.message, hint=hint, retry_after=wait)


def _left(bucket: RateBucket | None, limit: StoredLimit, now: float) -> int:
    if bucket is None:
        return limit.most * TOKEN
    passed = max(0.0, now - keys.parse_iso(bucket.updated_at).timestamp())
    filled = bucket.tokens + int(passed * TOKEN * limit.most / limit.seconds)
    return min(limit.most * TOKEN, filled)


def _in(seconds: int) -> str:
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return f"in {minutes} min"
    return f"in {math.ceil(minutes / 60)} h"
