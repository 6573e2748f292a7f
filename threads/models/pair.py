from threads.dynamodb import keys
from threads.dynamodb.attributes import BooleanAttribute, UnicodeAttribute, UnicodeSetAttribute
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item


class Pair(Item):
    """What holds between two people, whatever the thread: accepted, blocked."""

    pk_prefix, sk_prefix = "PAIR#", keys.STATE
    max_bytes = 1 * KB

    accepted = BooleanAttribute(default=False)
    blocked_by = UnicodeSetAttribute(attr_name="blockedBy", null=True)
    # Who has asked last for a first contact, and when: one message, until it is accepted.
    requested_by = UnicodeAttribute(attr_name="requestedBy", null=True)
    requested_at = UnicodeAttribute(attr_name="requestedAt", null=True)


class PairThread(Item):
    """A thread of these two: what a block has to touch."""

    pk_prefix, sk_prefix = "PAIR#", keys.PAIR_THREADS
    max_bytes = 1 * KB

    created_at = UnicodeAttribute(attr_name="createdAt")

    @property
    def thread_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)
