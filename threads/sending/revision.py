"""The transaction that changes a stored message, the thread's `rev` and inbox rows."""

from dataclasses import dataclass, field
from typing import Any

from pynamodb.expressions.condition import Condition

from threads import cache
from threads.archive.packer import make_pack_check
from threads.archive.restore import restoring_change
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.transactions import Transaction
from threads.models import Message, PackCheck, Participant, Thread
from threads.models.thread import LOCKED
from threads.rendering.attachments import preview_of
from threads.sending.new_message import now_ms
from threads.sending.transaction import can_write

REMOVED_PREVIEW = "Message removed"
# The preview for the author of a message that staff have hidden.
HIDDEN_PREVIEW = "Our safety team has hidden your message"
# Attributes of a message that affect its preview in inboxes.
PREVIEW_FIELDS = {"body", "removed_at", "hidden_at"}


@dataclass
class Revision:
    cached: CachedThread
    message: Message
    # Empty if the change was made before.
    change: Change
    quoted: dict[str, Message] = field(default_factory=dict)
    # The check of the pack that contained the message.
    check: PackCheck | None = None

    @property
    def is_done(self) -> bool:
        return not (self.change.set or self.change.remove)

    @property
    def shows_in_inboxes(self) -> bool:
        return self.changes_content and self.message.id == self.cached.thread.last_message_id

    @property
    def changes_content(self) -> bool:
        """Whether the content changes; a reaction does not change it."""
        return bool(PREVIEW_FIELDS & {*self.change.set, *self.change.remove})

    def commit(self, user_id: str | None) -> None:
        """The user has to be a participant who can send. None stands for staff, who can change
        messages without being participants, also in a locked thread."""
        self.change.set["rev"] = self.cached.thread.rev + 1
        if self.message.archive_ref and self.changes_content:
            self._restore()
        summary = self._summary()
        self._build(user_id, summary).commit()
        self.change.apply(self.message)
        with cache.update_lock:
            self.cached.thread.rev = self.message.rev
            if self.shows_in_inboxes:
                self.cached.thread.last_message = summary
                for person in self.cached.people.values():
                    person.last_message = summary

    def _restore(self) -> None:
        """Restores an archived message to the table; its pack must not keep the old content."""
        self.check = make_pack_check(self.message.thread_id, self.message.archive_ref or "")
        self.change = restoring_change(self.message).then(self.change)

    def _build(self, user_id: str | None, summary: dict[str, Any]) -> Transaction:
        write = Transaction()
        write.update("message", self.message, self.change, self._message_unchanged())
        if self.check is not None:
            write.put("check", self.check)
        thread_changes = Change(set={"rev": self.change.set["rev"], "updated_at": now()})
        if self.shows_in_inboxes:
            thread_changes.set["last_message"] = summary
        write.update(
            "thread",
            self.cached.thread,
            thread_changes,
            self._thread_unchanged(by_staff=user_id is None),
        )
        me = self.cached.people[user_id] if user_id else None
        if not self.shows_in_inboxes:
            if me is not None:
                write.check(me.sk, me, can_write(self.cached) & Participant.pk.exists())
            return write
        for person in self.cached.people.values():
            condition = Participant.last_seq == self.message.seq
            if person is me:
                condition &= can_write(self.cached)
            write.update(person.sk, person, Change(set={"last_message": summary}), condition)
        return write

    def _message_unchanged(self) -> Condition:
        """Concurrent archiving does not change the content, but where it is stored."""
        stored, expected = Message.archive_ref, self.message.archive_ref
        is_unmoved = stored == expected if expected else stored.does_not_exist()
        return (Message.rev == self.message.rev) & is_unmoved

    def _thread_unchanged(self, *, by_staff: bool) -> Condition:
        thread = self.cached.thread
        unchanged = (Thread.rev == thread.rev) & (Thread.roster_version == thread.roster_version)
        if not by_staff:
            unchanged &= (Thread.status != LOCKED) & Thread.soft_block.does_not_exist()
        if not self.changes_content:
            return unchanged
        # Inboxes show the newest message, so whether this is the newest is a condition.
        newest, this = Thread.last_message_id, self.message.id
        return unchanged & (newest == this if self.shows_in_inboxes else newest != this)

    def _summary(self) -> dict[str, Any]:
        after = self.message.copy()
        self.change.apply(after)
        text = (
            REMOVED_PREVIEW
            if after.is_withheld
            else preview_of(after.body or "", after.attachments)
        )
        summary = {"author": after.author_id, "type": after.type, "text": text}
        return summary | {"authorText": HIDDEN_PREVIEW} if after.hidden_at else summary


def now() -> str:
    return keys.iso(keys.datetime_from_ms(now_ms()))
