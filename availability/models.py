"""Times at which a user is not available, and the secret link to their bookings."""

from django.db import models
from django.db.models import F, Q

from accounts.models import User
from core.ids import new_id

MAX_NOTE_CHARS = 120
MAX_NAME_CHARS = 60
MAX_URL_CHARS = 2000


def new_block_id() -> str:
    return new_id("blk")


def new_feed_id() -> str:
    return new_id("cal")


class TimeBlock(models.Model):
    """A time that the user has blocked. Only the user sees the note."""

    id = models.CharField(primary_key=True, max_length=32, default=new_block_id, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="time_blocks")
    # The client's idempotency key.
    key = models.CharField(max_length=64)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    is_all_day = models.BooleanField(default=False)
    note = models.CharField(max_length=MAX_NOTE_CHARS, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="one_block_an_attempt"),
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("starts_at")), name="a_block_ends_later"
            ),
        ]
        indexes = [models.Index(fields=["user", "ends_at"], name="blocks_by_end")]

    def __str__(self) -> str:
        return self.note or "Blocked"


class CalendarFeed(models.Model):
    """A calendar of the user elsewhere, of which only the busy times are stored."""

    class FetchError(models.TextChoices):
        UNREACHABLE = "unreachable", "We couldn't reach the calendar's server."
        MISSING = "missing", "There's no calendar at that address. Check the link."
        DENIED = "denied", "That calendar is private. Use its secret or public iCal address."
        INSECURE = "insecure", "The connection to that server isn't secure."
        NOT_A_CALENDAR = "not_a_calendar", "That address isn't a calendar in iCal format."
        TOO_LARGE = "too_large", "That calendar is larger than 2 MB."
        TOO_COMPLEX = "too_complex", "That calendar has too many events to import."

    id = models.CharField(primary_key=True, max_length=32, default=new_feed_id, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="calendar_feeds")
    name = models.CharField(max_length=MAX_NAME_CHARS)
    # Often contains a secret of the other service; shown to no one.
    url = models.CharField(max_length=MAX_URL_CHARS)
    created_at = models.DateTimeField(auto_now_add=True)
    # When it is fetched next; moved into the future by the process that fetches it.
    due_at = models.DateTimeField(db_index=True)
    attempted_at = models.DateTimeField(null=True)
    succeeded_at = models.DateTimeField(null=True)
    failures = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=20, choices=FetchError, blank=True)
    # For conditional requests: what the server sent with the content that was read last.
    etag = models.CharField(max_length=200, blank=True)
    last_modified = models.CharField(max_length=60, blank=True)
    # When and in which zone the content was read. Days of all-day events depend on the zone.
    read_at = models.DateTimeField(null=True)
    read_in_zone = models.CharField(max_length=64, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "url"], name="one_feed_an_address")]

    def __str__(self) -> str:
        return self.name


class BusyTime(models.Model):
    """A busy time of an imported calendar, without its title. Overlapping ones are merged."""

    user = models.ForeignKey(User, models.CASCADE, related_name="busy_times")
    feed = models.ForeignKey(CalendarFeed, models.CASCADE, related_name="busy_times")
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(ends_at__gt=F("starts_at")), name="a_busy_time_ends_later"
            )
        ]
        indexes = [models.Index(fields=["user", "ends_at"], name="busy_times_by_end")]

    def __str__(self) -> str:
        return f"{self.starts_at} to {self.ends_at}"


class BookingsLink(models.Model):
    """The secret link to a user's bookings as a calendar. Only a hash of its token is stored."""

    user = models.OneToOneField(User, models.CASCADE, related_name="bookings_link")
    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"since {self.created_at:%d %b %Y}"
