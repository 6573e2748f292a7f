from threads.dynamodb import keys
from threads.dynamodb.attributes import (
    DocumentAttribute,
    DocumentsAttribute,
    IntAttribute,
    UnicodeAttribute,
)
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item


class CardShadow(Item):
    """The current state of an action card; the message itself stays as it was proposed."""

    pk_prefix, sk_prefix = "THR#", keys.CARDS
    max_bytes = 128 * KB

    card_id = UnicodeAttribute(attr_name="cardId")
    type = UnicodeAttribute()
    payload = DocumentAttribute()
    state = UnicodeAttribute()
    version = IntAttribute()
    created_by = UnicodeAttribute(attr_name="createdBy")
    history = DocumentsAttribute()
    idempotency_keys = DocumentsAttribute(attr_name="idempotencyKeys")
    rev = IntAttribute()

    @property
    def message_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)


class PendingAction(Item):
    """Something that waits for this person, whose row is in their inbox: a card, an offer, or a
    contract that they have not signed. As the thread's `waits` has it, in the same transaction."""

    pk_prefix, sk_prefix = "USER#", keys.PENDING_ACTIONS
    max_bytes = 1 * KB

    type = UnicodeAttribute()
    created_at = UnicodeAttribute(attr_name="createdAt")

    @property
    def thread_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix).partition("#")[0]

    @property
    def what(self) -> str:
        return self.sk.removeprefix(self.sk_prefix).partition("#")[2]
