"""Changes to a user's calendar: blocks, imported calendars and the link to their bookings."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from availability.models import BookingsLink, CalendarFeed, TimeBlock
from core.rate_limits import check_rate_limit
from core.refusals import Refusal

MAX_BLOCKS = 500
MAX_FEEDS = 5
REFRESH_INTERVAL = timedelta(minutes=1)
TOKEN_BYTES = 32


@transaction.atomic
def add_block(
    user: User,
    *,
    key: str,
    starts_at: datetime,
    ends_at: datetime,
    is_all_day: bool,
    note: str = "",
) -> TimeBlock:
    """A repeat with the same key returns the block that exists."""
    check_rate_limit("calendar", user.id)
    _lock(user)
    existing = TimeBlock.objects.filter(user=user, key=key).first()
    if existing is not None:
        return existing
    if TimeBlock.objects.filter(user=user, ends_at__gt=timezone.now()).count() >= MAX_BLOCKS:
        raise Refusal(
            "CALENDAR_LIMIT",
            f"You can block up to {MAX_BLOCKS} times.",
            hint="Remove some that you no longer need.",
        )
    fields = {"starts_at": starts_at, "ends_at": ends_at, "is_all_day": is_all_day, "note": note}
    return TimeBlock.objects.create(user=user, key=key, **fields)


def _lock(user: User) -> None:
    """Serialises additions, so that the limits hold."""
    list(User.objects.select_for_update(no_key=True).filter(pk=user.pk))


def remove_block(user: User, *, block_id: str) -> None:
    """A repeat has no effect."""
    TimeBlock.objects.filter(user=user, pk=block_id).delete()


@transaction.atomic
def add_feed(user: User, *, name: str, url: str) -> CalendarFeed:
    """The worker fetches it within seconds. A repeat returns the feed that exists."""
    check_rate_limit("calendar", user.id)
    _lock(user)
    feeds = CalendarFeed.objects.filter(user=user)
    existing = feeds.filter(url=url).first()
    if existing is not None:
        return existing
    if feeds.count() >= MAX_FEEDS:
        raise Refusal(
            "CALENDAR_LIMIT",
            f"You can import up to {MAX_FEEDS} calendars.",
            hint="Remove one that you no longer need.",
        )
    return CalendarFeed.objects.create(user=user, name=name, url=url, due_at=timezone.now())


def remove_feed(user: User, *, feed_id: str) -> None:
    """Removes the feed with its busy times. A repeat has no effect."""
    CalendarFeed.objects.filter(user=user, pk=feed_id).delete()


def refresh_feed(user: User, *, feed_id: str) -> CalendarFeed:
    """Makes the feed due now. The time of the last attempt limits this across all processes."""
    check_rate_limit("calendar", user.id)
    feed = CalendarFeed.objects.filter(user=user, pk=feed_id).first()
    if feed is None:
        raise Refusal("CALENDAR_NOT_FOUND")
    now = timezone.now()
    is_rested = Q(attempted_at=None) | Q(attempted_at__lt=now - REFRESH_INTERVAL)
    if not CalendarFeed.objects.filter(is_rested, pk=feed.pk).update(due_at=now):
        raise Refusal(
            "RATE_LIMITED",
            "This calendar was updated less than a minute ago.",
            hint="Wait a moment before you refresh it again.",
            retry_after=int(REFRESH_INTERVAL.total_seconds()),
        )
    return feed


def create_link(user: User) -> str:
    """Creates the link, or replaces it; returns its token, which is not stored."""
    check_rate_limit("calendar", user.id)
    token = secrets.token_urlsafe(TOKEN_BYTES)
    fields = {"token_hash": hash_token(token), "created_at": timezone.now()}
    try:
        with transaction.atomic():
            BookingsLink.objects.update_or_create(user=user, defaults=fields)
    except IntegrityError as error:  # Created in another tab at the same time.
        raise Refusal("TRY_AGAIN") from error
    return token


def remove_link(user: User) -> None:
    BookingsLink.objects.filter(user=user).delete()


def hash_token(token: str) -> str:
    """Tokens are random, so that a plain hash cannot be reversed."""
    return hashlib.sha256(token.encode()).hexdigest()


def delete_calendar(user: User) -> None:
    """Deletes everything of the calendar when the account is deleted. Idempotent."""
    for model in (TimeBlock, CalendarFeed, BookingsLink):
        model.objects.filter(user=user).delete()
