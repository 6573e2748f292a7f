"""Items of one person's own: profile, drafts, limits, and what their starts became."""

from threads.dynamodb import keys
from threads.dynamodb.attributes import BooleanAttribute, IntAttribute, UnicodeAttribute
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item


class Profile(Item):
    """A copy of the relational profile, for pages that need names without a join."""

    pk_prefix, sk_prefix = "USER#", keys.PROFILE
    max_bytes = 4 * KB

    handle = UnicodeAttribute()
    display_name = UnicodeAttribute(attr_name="displayName")
    avatar = UnicodeAttribute(null=True)
    verified = BooleanAttribute()
    city = UnicodeAttribute(null=True)
    time_zone = UnicodeAttribute(attr_name="timeZone")
    last_seen_at = UnicodeAttribute(attr_name="lastSeenAt", null=True)
    # Of the outbox entry that brought it: an older one does not undo a newer.
    rev = IntAttribute(null=True)


class BlockVersion(Item):
    """Counts every block and unblock of this person: an unchanged version means the same blocks."""

    pk_prefix, sk_prefix = "USER#", keys.BLOCKS
    max_bytes = 1 * KB

    version = IntAttribute()


class Draft(Item):
    """What a person was writing in a thread, on whichever device."""

    pk_prefix, sk_prefix = "USER#", keys.DRAFTS
    max_bytes = 72 * KB

    text = UnicodeAttribute()
    version = IntAttribute()
    updated_at = UnicodeAttribute(attr_name="updatedAt")


class RateBucket(Item):
    """How much of something a person may still do now."""

    pk_prefix, sk_prefix = "USER#", keys.RATES
    max_bytes = 1 * KB

    tokens = IntAttribute()
    updated_at = UnicodeAttribute(attr_name="updatedAt")


class StartMarker(Item):
    """The thread that a start became, so that starting it again makes no second one."""

    pk_prefix, sk_prefix = "USER#", keys.START_MARKERS
    max_bytes = 1 * KB

    thread_id = UnicodeAttribute(attr_name="threadId")
    hash = UnicodeAttribute()
