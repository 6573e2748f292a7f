"""Items of the archive: days to be archived, packs, and checks of packs."""

from threads.dynamodb import keys
from threads.dynamodb.attributes import IntAttribute, UnicodeAttribute
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item


class ArchiveDue(Item):
    """A thread has messages of that day. The archiver's work list, which saves it a scan."""

    pk_prefix, sk_prefix = "ARCHIVE#", "THR#"
    max_bytes = 1 * KB


class ArchiveStart(Item):
    """The first day that may have messages to be archived."""

    pk_prefix, sk_prefix = keys.ARCHIVING, keys.STATE
    max_bytes = 1 * KB

    day = UnicodeAttribute()


class ArchiveLocation(Item):
    """The id of the archive that has this table's packs; the archive stores the same id."""

    pk_prefix, sk_prefix = keys.ARCHIVING, keys.LOCATION
    max_bytes = 4 * KB

    archive_id = UnicodeAttribute(attr_name="archiveId")
    described = UnicodeAttribute()
    since = UnicodeAttribute()


class Pack(Item):
    """An object of the archive. The item is created and deleted before its object."""

    pk_prefix, sk_prefix = "THR#", keys.PACKS
    max_bytes = 1 * KB

    first_message_id = UnicodeAttribute(attr_name="firstMsgId")
    last_message_id = UnicodeAttribute(attr_name="lastMsgId")
    held = IntAttribute()
    size = IntAttribute()
    # Incremented by every transaction that points messages to the pack, which prevents a
    # concurrent deletion.
    moves = IntAttribute(default=0)

    @property
    def id(self) -> str:
        return self.sk.removeprefix(keys.PACKS)

    @property
    def thread_id(self) -> str:
        return self.pk.removeprefix(self.pk_prefix)


class PackCheck(Item):
    """A pack that has to be checked: it may be unused, or contain messages that moved."""

    pk_prefix, sk_prefix = "PACKCHECK#", "THR#"
    max_bytes = 1 * KB

    @property
    def parts(self) -> tuple[str, str, str]:
        """Thread id, pack id, and a ULID with the time of creation."""
        _, thread_id, pack_id, check_id = self.sk.split("#")
        return thread_id, pack_id, check_id


class PackedThread(Item):
    """A thread that has or had packs. Restoring and verifying go through these items."""

    pk_prefix, sk_prefix = "PACKED#", "THR#"
    max_bytes = 1 * KB

    @property
    def thread_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)
