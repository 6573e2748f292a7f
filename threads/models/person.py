"""Items in a user's partition: profile, blocks, drafts, rate limits, idempotency markers."""

from threads.dynamodb import keys
from threads.dynamodb.attributes import BooleanAttribute, IntAttribute, UnicodeAttribute
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item


class Profile(Item):
    """A copy of the relational profile, for pages that need names without a SQL query."""

    pk_prefix, sk_prefix = "USER#", keys.PROFILE
    max_bytes = 4 * KB

    handle = UnicodeAttribute()
    display_name = UnicodeAttribute(attr_name="displayName")
    avatar = UnicodeAttribute(null=True)
    verified = BooleanAttribute()
    city = UnicodeAttribute(null=True)
    time_zone = UnicodeAttribute(attr_name="timeZone")
    last_seen_at = UnicodeAttribute(attr_name="lastSeenAt", null=True)
    # The id of the outbox entry that wrote it, so that an older one does not overwrite it.
    rev = IntAttribute(null=True)


class BlockVersion(Item):
    """Counts every block and unblock of this user: an unchanged version means unchanged blocks."""

    pk_prefix, sk_prefix = "USER#", keys.BLOCKS
    max_bytes = 1 * KB

    version = IntAttribute()


class Draft(Item):
    """The unsent text of a user in a thread, shared by their devices."""

    pk_prefix, sk_prefix = "USER#", keys.DRAFTS
    max_bytes = 72 * KB

    text = UnicodeAttribute()
    version = IntAttribute()
    updated_at = UnicodeAttribute(attr_name="updatedAt")


class RateBucket(Item):
    """A token bucket of a user's rate limit."""

    pk_prefix, sk_prefix = "USER#", keys.RATES
    max_bytes = 1 * KB

    tokens = IntAttribute()
    updated_at = UnicodeAttribute(attr_name="updatedAt")


class StartMarker(Item):
    """Idempotency marker: the thread started for a client id."""

    pk_prefix, sk_prefix = "USER#", keys.START_MARKERS
    max_bytes = 1 * KB

    thread_id = UnicodeAttribute(attr_name="threadId")
    hash = UnicodeAttribute()
