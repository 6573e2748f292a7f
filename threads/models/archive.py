"""Old messages: what is due to be packed, and the packs that there are."""

from threads.dynamodb import keys
from threads.dynamodb.attributes import IntAttribute, UnicodeAttribute
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item


class ArchiveDue(Item):
    """This thread has messages of that day: the archiver's work list, so that it never scans."""

    pk_prefix, sk_prefix = "ARCHIVE#", "THR#"
    max_bytes = 1 * KB


class ArchiveStart(Item):
    """Nothing is due from before that day."""

    pk_prefix, sk_prefix = keys.ARCHIVING, keys.STATE
    max_bytes = 1 * KB

    day = UnicodeAttribute()


class ArchiveLocation(Item):
    """Which archive this table's packs are in: its id, which the archive holds, too."""

    pk_prefix, sk_prefix = keys.ARCHIVING, keys.LOCATION
    max_bytes = 4 * KB

    archive_id = UnicodeAttribute(attr_name="archiveId")
    described = UnicodeAttribute()
    since = UnicodeAttribute()


class Pack(Item):
    """An object of the archive. It is here before its object is, and goes before its object."""

    pk_prefix, sk_prefix = "THR#", keys.PACKS
    max_bytes = 1 * KB

    first_message_id = UnicodeAttribute(attr_name="firstMsgId")
    last_message_id = UnicodeAttribute(attr_name="lastMsgId")
    held = IntAttribute()
    size = IntAttribute()
    # One more with each transaction that points messages to it: nobody removes it meanwhile.
    moves = IntAttribute(default=0)

    @property
    def id(self) -> str:
        return self.sk.removeprefix(keys.PACKS)

    @property
    def thread_id(self) -> str:
        return self.pk.removeprefix(self.pk_prefix)


class PackCheck(Item):
    """Whether this pack is needed, and holds only what it should, is to be looked at."""

    pk_prefix, sk_prefix = "PACKCHECK#", "THR#"
    max_bytes = 1 * KB

    @property
    def parts(self) -> tuple[str, str, str]:
        """The thread, the pack, and when it was noted."""
        _, thread_id, pack_id, check_id = self.sk.split("#")
        return thread_id, pack_id, check_id


class PackedThread(Item):
    """This thread has packs, or had some: what restoring and verifying go through."""

    pk_prefix, sk_prefix = "PACKED#", "THR#"
    max_bytes = 1 * KB

    @property
    def thread_id(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)
