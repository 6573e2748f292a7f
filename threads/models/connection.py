from threads.dynamodb import keys
from threads.dynamodb.attributes import UnicodeAttribute
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item


class _ConnectionItem(Item):
    user_id = UnicodeAttribute(attr_name="userId")
    connected_at = UnicodeAttribute(attr_name="connectedAt")
    last_seen_at = UnicodeAttribute(attr_name="lastSeenAt")
    device = UnicodeAttribute()
    session_hash = UnicodeAttribute(attr_name="sessionHash")


class Connection(_ConnectionItem):
    """Whose is this connection? Lives 24 hours."""

    pk_prefix, sk_prefix = "CONNECTION#", keys.METADATA
    max_bytes = 2 * KB


class UserConnection(_ConnectionItem):
    """Which connections has this person? The same, from the other side."""

    pk_prefix, sk_prefix = "USER#", keys.CONNECTIONS
    max_bytes = 2 * KB

    @property
    def id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)
