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
# A first contact, until it is accepted: on the item of who asked, and of who was asked.
REQUEST_SENT, REQUEST_RECEIVED, REQUEST_DECLINED = "asked", "pending", "declined"
REQUEST_LIFETIME = timedelta(days=14)


class Participant(Item):
    """A person's membership in a thread: cursors, settings of their own, and their inbox row."""

    pk_prefix, sk_prefix = "THR#", keys.PARTICIPANTS
    max_bytes = 16 * KB

    role = UnicodeAttribute(attr_name="roleContext")
    person = DocumentAttribute()

    last_read_message_id = UnicodeAttribute(attr_name="lastReadMsgId", null=True)
    last_read_seq = IntAttribute(attr_name="lastReadSeq", default=0)
    last_read_tally = IntAttribute(attr_name="lastReadTally", default=0)
    last_read_at = UnicodeAttribute(attr_name="lastReadAt", null=True)
    # How many of one's own messages came after the read cursor: they are not unread.
    own_since_read = IntAttribute(attr_name="ownSinceRead", default=0)
    delivered_seq = IntAttribute(attr_name="deliveredSeq", default=0)
    first_undelivered_seq = IntAttribute(attr_name="firstUndeliveredSeq", null=True)
    first_undelivered_message_id = UnicodeAttribute(attr_name="firstUndeliveredMsgId", null=True)
    visible_from_seq = IntAttribute(attr_name="visibleFromSeq", default=1)

    folder = UnicodeAttribute()
    pinned = BooleanAttribute(default=False)
    muted = BooleanAttribute(default=False)
    muted_until = UnicodeAttribute(attr_name="mutedUntil", null=True)
    marked_unread = BooleanAttribute(attr_name="markedUnread", null=True)
    # Who has put a block between the two of a thread; both items name whoever did.
    blocked_by = UnicodeSetAttribute(attr_name="blockedBy", null=True)
    blocked_until = UnicodeAttribute(attr_name="blockedUntil", null=True)
    # How often this person tried to leave the marketplace here, before a booking.
    strikes = IntAttribute(null=True)
    request_state = UnicodeAttribute(attr_name="requestState", null=True)
    # Why they may not write here until staff have decided, and under which case.
    sending_hold = DocumentAttribute(attr_name="sendingHold", null=True)

    subject = UnicodeAttribute()
    kind = UnicodeAttribute()
    other_side = DocumentAttribute(attr_name="otherSide")
    others_count = IntAttribute(attr_name="othersCount", default=1)
    last_message_at = UnicodeAttribute(attr_name="lastMessageAt")
    last_message = DocumentAttribute(attr_name="lastMessage")
    last_seq = IntAttribute(attr_name="lastSeq")
    last_tally = IntAttribute(attr_name="lastTally")
    # As on the thread: a row says who owes whom an answer without reading it.
    waiting_for = UnicodeAttribute(attr_name="waitingFor", null=True)

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
    def unread(self) -> int:
        """Exact, and counts only what others wrote."""
        return max(0, self.last_tally - self.last_read_tally - self.own_since_read)

    @property
    def has_unread(self) -> bool:
        return bool(self.unread or self.marked_unread)

    @property
    def last_message_shown(self) -> dict[str, Any]:
        """As this person reads it: of a message that staff have hidden, its author learns that."""
        last = dict(self.last_message)
        for_author = last.pop("authorText", None)
        return (
            last | {"text": for_author} if for_author and last["author"] == self.user_id else last
        )

    @property
    def hides_activity(self) -> bool:
        """From the other of two: neither ticks nor typing nor presence pass between them."""
        return bool(self.blocked_by or self.request_state)

    @property
    def is_request_expired(self) -> bool:
        """Nobody answered in time. Until then it holds one message, whose time this is."""
        return self.last_message_at < request_cutoff()

    @property
    def is_muted(self) -> bool:
        """For good, or until a time that has not come yet."""
        return self.muted and (self.muted_until is None or self.muted_until > keys.now())


def request_cutoff() -> str:
    """What was asked before that has expired."""
    return keys.iso(keys.parse_iso(keys.now()) - REQUEST_LIFETIME)


class Invitation(Participant):
    """Somebody who was invited and has not accepted: a row in their requests and nothing else."""

    pk_prefix, sk_prefix = "THR#", keys.INVITATIONS
    max_bytes = 16 * KB

    @property
    def inviter_id(self) -> str:
        return str(self.other_side["id"])


class FormerParticipant(Item):
    """Somebody who is no longer in the thread; what they wrote is, and needs a name."""

    pk_prefix, sk_prefix = "THR#", keys.FORMER_PARTICIPANTS
    max_bytes = 16 * KB

    person = DocumentAttribute()
    # As it was when they left: coming back is no way round it.
    sending_hold = DocumentAttribute(attr_name="sendingHold", null=True)
    # They left by themselves: coming back needs their consent.
    has_left = BooleanAttribute(attr_name="hasLeft", null=True)

    @property
    def user_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)


class LeftThread(Item):
    """A thread that this person has left or was invited to: it names them although they are not in
    it, until their account is deleted."""

    pk_prefix, sk_prefix = "USER#", keys.LEFT_THREADS
    max_bytes = 1 * KB

    left_at = UnicodeAttribute(attr_name="leftAt")

    @property
    def thread_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)


Person = dict[str, Any]
"""The copy of a profile that a page needs: id, handle, name, avatar, timeZone."""
