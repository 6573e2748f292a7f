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
    """A card, an offer or an unsigned contract that requires an action of this user, in a thread of
    their inbox. Written in the same transaction as the thread's `waits`."""

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
