from typing import Any

from threads.dynamodb import keys
from threads.dynamodb.attributes import (
    DocumentAttribute,
    DocumentsAttribute,
    IntAttribute,
    UnicodeAttribute,
)
from threads.dynamodb.sizes import KB
from threads.dynamodb.table import Item

TAB_NAMES = ("brief", "moodboard", "shotlist", "files", "docs", "expenses", "actions")
# Those that people write themselves; the others follow the relational records.
EDITABLE_TABS = ("brief", "moodboard", "shotlist")
RECORD_TABS = ("files", "docs", "expenses", "actions")


class TabSnapshot(Item):
    """A tab of the project panel, ready to show. Can be thrown away and made again."""

    pk_prefix, sk_prefix = "THR#", keys.TABS
    max_bytes = 64 * KB

    version = IntAttribute()
    snapshot = DocumentAttribute()
    updated_by = UnicodeAttribute(attr_name="updatedBy")
    updated_at = UnicodeAttribute(attr_name="updatedAt")
    rev = IntAttribute()
    records_revision = IntAttribute(attr_name="truthRevision", null=True)
    # What the edit changed, for the edit history; not stored with the tab.
    changes: tuple[dict[str, Any], ...] = ()

    @classmethod
    def has_sk(cls, sk: str) -> bool:
        return sk.removeprefix(cls.sk_prefix) in TAB_NAMES

    @property
    def name(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)


class TabEdit(Item):
    """One edit of a tab that people write: what it changed and, while it is the newest, the whole
    tab. Earlier ones expire. Of a tab that is too large for the thread, also what it holds."""

    pk_prefix, sk_prefix = "THR#", keys.EDITS
    max_bytes = 256 * KB

    version = IntAttribute()
    snapshot = DocumentAttribute(null=True)
    changes = DocumentsAttribute(null=True)
    edited_by = UnicodeAttribute(attr_name="editedBy")
    edited_at = UnicodeAttribute(attr_name="editedAt")
