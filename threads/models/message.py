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
from threads.models import packs

TEXT, ASSET, SYSTEM, ACTION = "text", "asset", "system", "action"
MESSAGE_TYPES = (TEXT, ASSET, SYSTEM, ACTION)
MAX_BODY_LENGTH = 8000
PREVIEW_LENGTH = 140
# Markup is removed, so a preview is made from more text than it shows, but not from a whole body.
PREVIEW_SOURCE_LENGTH = 1000
EDIT_WINDOW_SECONDS = 15 * 60
REACTIONS = ("👍", "❤️", "😄", "🎉", "👀", "✅")


class Message(Item):
    """A message. Its key, and so its position in the thread, never changes."""

    pk_prefix, sk_prefix = "THR#", keys.MESSAGES
    max_bytes = 320 * KB

    seq = IntAttribute()
    tally = IntAttribute()
    client_id = UnicodeAttribute(attr_name="clientId", null=True)
    type = UnicodeAttribute()
    body = UnicodeAttribute(null=True)
    attachments = DocumentsAttribute(null=True)
    action = DocumentAttribute(null=True)
    author_id = UnicodeAttribute(attr_name="authorUserId", null=True)
    receiver_ids = DocumentsAttribute(attr_name="receiverUserIds", null=True)
    reply_to = UnicodeAttribute(attr_name="replyTo", null=True)
    reactions = DocumentAttribute(null=True)
    nsfw_band = IntAttribute(attr_name="nsfwBand", default=0)
    flags = DocumentAttribute(null=True)
    # The users named in a system message: display names by user id.
    named = DocumentAttribute(null=True)
    created_at = UnicodeAttribute(attr_name="createdAt")
    edited_at = UnicodeAttribute(attr_name="editedAt", null=True)
    removed_at = UnicodeAttribute(attr_name="removedAt", null=True)
    hidden_at = UnicodeAttribute(attr_name="hiddenAt", null=True)
    earlier_bodies = DocumentsAttribute(attr_name="earlierBodies", null=True)
    rev = IntAttribute(default=0)
    # The pack with the body and attachments of an archived message.
    archive_ref = UnicodeAttribute(attr_name="archiveRef", null=True)
    # Not stored: the content is in the archive, which is unavailable (packs.allow_placeholders).
    is_unavailable = False

    @classmethod
    def load_contents(cls, items: list[Any]) -> None:
        packs.load_contents(items)

    @property
    def id(self) -> str:
        return self.sk.rpartition("#")[2]

    @property
    def thread_id(self) -> str:
        return self.pk.removeprefix(self.pk_prefix)

    @property
    def has_author(self) -> bool:
        return self.author_id is not None

    @property
    def is_withheld(self) -> bool:
        """Removed by its author or hidden by staff. Not to be confused with redacted text."""
        return bool(self.removed_at or self.hidden_at)


class SentMarker(Item):
    """Idempotency marker: the message stored for a client id. Expires after 30 days."""

    pk_prefix, sk_prefix = "THR#", keys.SENT_MARKERS
    max_bytes = 1 * KB

    message_id = UnicodeAttribute(attr_name="messageId")
    seq = IntAttribute()
    hash = UnicodeAttribute()
