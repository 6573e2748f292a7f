from threads.dynamodb import keys
from threads.dynamodb.attributes import (
    BooleanAttribute,
    DocumentAttribute,
    DocumentsAttribute,
    IntAttribute,
    UnicodeAttribute,
)
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item

INQUIRY, PROJECT = "inquiry", "project"
OPEN, ARCHIVED, LOCKED = "open", "archived", "locked"
MAX_PARTICIPANTS = 50


class Thread(Item):
    """A conversation: its participants, status and newest message."""

    pk_prefix, sk_prefix = "THR#", keys.THREAD
    max_bytes = 192 * KB

    kind = UnicodeAttribute()
    subject = UnicodeAttribute()
    group_id = UnicodeAttribute(attr_name="lbgId", null=True)
    leg_id = UnicodeAttribute(attr_name="legId", null=True)
    buyer_id = UnicodeAttribute(attr_name="buyerUserId")
    seller_id = UnicodeAttribute(attr_name="sellerUserId")
    participants = DocumentsAttribute()
    # The parties of the booking, who have access to the panel; added participants do not.
    party_ids = DocumentsAttribute(attr_name="parties", null=True)
    # Incremented when participants change; a send with a stale roster fails its condition.
    roster_version = IntAttribute(attr_name="rosterVersion")
    city = UnicodeAttribute(null=True)
    status = UnicodeAttribute()
    safe_mode_required = BooleanAttribute(attr_name="safeModeRequired")
    created_at = UnicodeAttribute(attr_name="createdAt")
    updated_at = UnicodeAttribute(attr_name="updatedAt")

    last_seq = IntAttribute(attr_name="lastSeq")
    # Counts messages by users, not system messages; unread counts are differences of tallies.
    last_tally = IntAttribute(attr_name="lastTally")
    last_message_id = UnicodeAttribute(attr_name="lastMsgId")
    last_message_at = UnicodeAttribute(attr_name="lastMessageAt")
    last_message = DocumentAttribute(attr_name="lastMessage")
    # Incremented by every change that is not a send, so that clients can fetch missed changes.
    rev = IntAttribute()
    waiting_for = UnicodeAttribute(attr_name="waitingFor", null=True)
    # Cards, offers and contracts that require an action, each with its user.
    waits = DocumentsAttribute(null=True)
    lock_reason = UnicodeAttribute(attr_name="lockReason", null=True)
    soft_block = DocumentAttribute(attr_name="softBlock", null=True)

    booking_pk = UnicodeAttribute(attr_name="GSI2PK", null=True)
    booking_sk = UnicodeAttribute(attr_name="GSI2SK", null=True)

    @property
    def id(self) -> str:
        return self.pk.removeprefix(self.pk_prefix)

    @property
    def is_project(self) -> bool:
        return self.kind == PROJECT

    @property
    def parties(self) -> list[str]:
        return self.party_ids or [self.buyer_id, self.seller_id]

    @property
    def is_locked(self) -> bool:
        return self.status == LOCKED

    @property
    def is_group(self) -> bool:
        return len(self.participants) > 2
