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
    """One conversation: who is in it, and where it stands."""

    pk_prefix, sk_prefix = "THR#", keys.THREAD
    max_bytes = 192 * KB

    kind = UnicodeAttribute()
    subject = UnicodeAttribute()
    group_id = UnicodeAttribute(attr_name="lbgId", null=True)
    leg_id = UnicodeAttribute(attr_name="legId", null=True)
    buyer_id = UnicodeAttribute(attr_name="buyerUserId")
    seller_id = UnicodeAttribute(attr_name="sellerUserId")
    participants = DocumentsAttribute()
    # Whose booking it is: they have the panel, and whoever was added has not.
    party_ids = DocumentsAttribute(attr_name="parties", null=True)
    # Grows with every person who comes or goes: a send that thinks of other people is refused.
    roster_version = IntAttribute(attr_name="rosterVersion")
    city = UnicodeAttribute(null=True)
    status = UnicodeAttribute()
    safe_mode_required = BooleanAttribute(attr_name="safeModeRequired")
    created_at = UnicodeAttribute(attr_name="createdAt")
    updated_at = UnicodeAttribute(attr_name="updatedAt")

    last_seq = IntAttribute(attr_name="lastSeq")
    # Counts what people wrote, not what the service said: unread is a difference of tallies.
    last_tally = IntAttribute(attr_name="lastTally")
    last_message_id = UnicodeAttribute(attr_name="lastMsgId")
    last_message_at = UnicodeAttribute(attr_name="lastMessageAt")
    last_message = DocumentAttribute(attr_name="lastMessage")
    # Grows with every change that is not a send: how a client that was away finds those.
    rev = IntAttribute()
    waiting_for = UnicodeAttribute(attr_name="waitingFor", null=True)
    # What waits for whom: cards, offers, contracts to be signed.
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
