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

TAB_NAMES = (
    *("overview", "brief", "moodboard", "shotlist"),
    *("files", "docs", "expenses", "actions"),
)
# Participants edit these tabs; the others are derived from the relational records.
EDITABLE_TABS = ("brief", "moodboard", "shotlist")
RECORD_TABS = ("overview", "files", "docs", "expenses", "actions")


class TabSnapshot(Item):
    """The stored content of a tab of the project panel. Record tabs can be rebuilt."""

    pk_prefix, sk_prefix = "THR#", keys.TABS
    max_bytes = 64 * KB

    version = IntAttribute()
    snapshot = DocumentAttribute()
    updated_by = UnicodeAttribute(attr_name="updatedBy")
    updated_at = UnicodeAttribute(attr_name="updatedAt")
    rev = IntAttribute()
    records_revision = IntAttribute(attr_name="truthRevision", null=True)
    # The changes of the edit, for the edit history; not stored with the tab.
    changes: tuple[dict[str, Any], ...] = ()

    @classmethod
    def has_sk(cls, sk: str) -> bool:
        return sk.removeprefix(cls.sk_prefix) in TAB_NAMES

    @property
    def name(self) -> str:
        return self.sk.removeprefix(self.sk_prefix)


class TabEdit(Item):
    """One edit of an editable tab: its changes and, while it is the newest, the whole tab. Earlier
    ones expire. It also has the content of a tab that is too large for the thread."""

    pk_prefix, sk_prefix = "THR#", keys.EDITS
    max_bytes = 256 * KB

    version = IntAttribute()
    snapshot = DocumentAttribute(null=True)
    changes = DocumentsAttribute(null=True)
    edited_by = UnicodeAttribute(attr_name="editedBy")
    edited_at = UnicodeAttribute(attr_name="editedAt")
