from datetime import timedelta
from typing import Any

from threads.dynamodb import keys
from threads.dynamodb.attributes import (
    BooleanAttribute,
    DocumentAttribute,
    IntAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
)
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item

BUYER, SELLER, ADMIN = "buyer", "seller", "admin"
INBOX, REQUESTS, ARCHIVED_FOLDER, SPAM = "inbox", "requests", "archived", "spam"
# The state of a contact request until it is accepted, on the items of its sender and recipient.
REQUEST_SENT, REQUEST_RECEIVED, REQUEST_DECLINED = "asked", "pending", "declined"
REQUEST_LIFETIME = timedelta(days=14)


class Participant(Item):
    """A user's membership in a thread: cursors, personal settings, and their inbox row."""

    pk_prefix, sk_prefix = "THR#", keys.PARTICIPANTS
    max_bytes = 16 * KB

    role = UnicodeAttribute(attr_name="roleContext")
    person = DocumentAttribute()

    last_read_message_id = UnicodeAttribute(attr_name="lastReadMsgId", null=True)
    last_read_seq = IntAttribute(attr_name="lastReadSeq", default=0)
    last_read_tally = IntAttribute(attr_name="lastReadTally", default=0)
    last_read_at = UnicodeAttribute(attr_name="lastReadAt", null=True)
    # The number of the user's own messages after the read cursor, which do not count as unread.
    own_since_read = IntAttribute(attr_name="ownSinceRead", default=0)
    delivered_seq = IntAttribute(attr_name="deliveredSeq", default=0)
    first_undelivered_seq = IntAttribute(attr_name="firstUndeliveredSeq", null=True)
    first_undelivered_message_id = UnicodeAttribute(attr_name="firstUndeliveredMsgId", null=True)
    visible_from_seq = IntAttribute(attr_name="visibleFromSeq", null=True, default=1)

    folder = UnicodeAttribute()
    pinned = BooleanAttribute(default=False)
    muted = BooleanAttribute(null=True, default=False)
    muted_until = UnicodeAttribute(attr_name="mutedUntil", null=True)
    marked_unread = BooleanAttribute(attr_name="markedUnread", null=True)
    # The users of a two-person thread who blocked the other one; the same on both items.
    blocked_by = UnicodeSetAttribute(attr_name="blockedBy", null=True)
    blocked_until = UnicodeAttribute(attr_name="blockedUntil", null=True)
    # Attempts to move off the marketplace in this thread before a booking.
    strikes = IntAttribute(null=True)
    request_state = UnicodeAttribute(attr_name="requestState", null=True)
    # Reason and case of a sending hold, until staff have decided.
    sending_hold = DocumentAttribute(attr_name="sendingHold", null=True)

    subject = UnicodeAttribute()
    kind = UnicodeAttribute()
    other_side = DocumentAttribute(attr_name="otherSide")
    others_count = IntAttribute(attr_name="othersCount", null=True, default=1)
    last_message_at = UnicodeAttribute(attr_name="lastMessageAt")
    last_message = DocumentAttribute(attr_name="lastMessage")
    last_seq = IntAttribute(attr_name="lastSeq")
    last_tally = IntAttribute(attr_name="lastTally")
    # As on the thread, so that a row shows who has to act without reading it, and if the user has a
    # pending action, its type: `<user>#<type>`. One attribute, which the index projects.
    waits_on = UnicodeAttribute(attr_name="waitingFor", null=True)

    inbox_pk = UnicodeAttribute(attr_name="GSI1PK")
    inbox_sk = UnicodeAttribute(attr_name="GSI1SK")
    pending_pk = UnicodeAttribute(attr_name="GSI3PK", null=True)
    pending_sk = UnicodeAttribute(attr_name="GSI3SK", null=True)
    unread_pk = UnicodeAttribute(attr_name="GSI4PK", null=True)
    unread_sk = UnicodeAttribute(attr_name="GSI4SK", null=True)

    @property
    def thread_id(self) -> str:
        return self.pk.removeprefix(self.pk_prefix)

    @property
    def user_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)

    @property
    def waiting_for(self) -> str | None:
        """The user who has to act or reply."""
        return self.waits_on and self.waits_on.partition("#")[0]

    @property
    def step(self) -> str:
        """The type of the pending action of that user; empty without one."""
        return (self.waits_on or "").partition("#")[2]

    @property
    def position(self) -> str:
        """The place of the row in its folder. The sort key of the index may be up to a minute
        behind it (keys.MAX_POSITION_LAG)."""
        return keys.inbox_sk(self.last_message_at, self.thread_id, pinned=self.pinned)

    @property
    def unread(self) -> int:
        """The exact number of unread messages by other users."""
        return max(0, self.last_tally - self.last_read_tally - self.own_since_read)

    @property
    def has_unread(self) -> bool:
        return bool(self.unread or self.marked_unread)

    @property
    def last_message_shown(self) -> dict[str, Any]:
        """The preview for this user: the author of a hidden message sees that staff hid it."""
        last = dict(self.last_message)
        for_author = last.pop("authorText", None)
        return (
            last | {"text": for_author} if for_author and last["author"] == self.user_id else last
        )

    @property
    def hides_activity(self) -> bool:
        """Whether ticks, typing and presence are hidden between the two users of a thread."""
        return bool(self.blocked_by or self.request_state)

    @property
    def is_request_expired(self) -> bool:
        """A request holds one message, so the time of the last one is that of the request."""
        return self.last_message_at < request_cutoff()

    @property
    def is_muted(self) -> bool:
        """Muted permanently, or until a time in the future."""
        return self.muted and (self.muted_until is None or self.muted_until > keys.now())


def request_cutoff() -> str:
    """Requests from before this time have expired."""
    return keys.iso(keys.parse_iso(keys.now()) - REQUEST_LIFETIME)


class Invitation(Participant):
    """A user who was invited and has not accepted, with a row in their requests only."""

    pk_prefix, sk_prefix = "THR#", keys.INVITATIONS
    max_bytes = 16 * KB

    @property
    def inviter_id(self) -> str:
        return str(self.other_side["id"])


class FormerParticipant(Item):
    """A user who is no longer in the thread, kept for the names of the authors of messages."""

    pk_prefix, sk_prefix = "THR#", keys.FORMER_PARTICIPANTS
    max_bytes = 16 * KB

    person = DocumentAttribute()
    # The hold when they left, so that leaving and returning does not end it.
    sending_hold = DocumentAttribute(attr_name="sendingHold", null=True)
    # They left voluntarily, so adding them again requires their consent.
    has_left = BooleanAttribute(attr_name="hasLeft", null=True)

    @property
    def user_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)


class LeftThread(Item):
    """A thread that this user has left or was invited to. It contains their name, which the
    deletion of their account has to remove."""

    pk_prefix, sk_prefix = "USER#", keys.LEFT_THREADS
    max_bytes = 1 * KB

    left_at = UnicodeAttribute(attr_name="leftAt")

    @property
    def thread_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)


Person = dict[str, Any]
"""A copy of the profile for pages: id, handle, name, avatar, timeZone."""
