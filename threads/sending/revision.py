"""The transaction with which a message becomes another: it, the thread's `rev`, inbox rows."""

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
# What the author reads instead where staff have hidden it.
HIDDEN_PREVIEW = "Our safety team has hidden your message"
# What of a message an inbox would show otherwise.
SHOWN = {"body", "removed_at", "hidden_at"}


@dataclass
class Revision:
    cached: CachedThread
    message: Message
    # Empty if it is as it should be already.
    change: Change
    quoted: dict[str, Message] = field(default_factory=dict)
    # Of the pack that it was in, and is no longer.
    check: PackCheck | None = None

    @property
    def is_done(self) -> bool:
        return not (self.change.set or self.change.remove)

    @property
    def shows_in_inboxes(self) -> bool:
        return self.rewrites and self.message.id == self.cached.thread.last_message_id

    @property
    def rewrites(self) -> bool:
        """What it said; a reaction does not."""
        return bool(SHOWN & {*self.change.set, *self.change.remove})

    def commit(self, user_id: str | None) -> None:
        """Whoever changes it has to be there, and free to write. Nobody stands for staff, who
        change what is said in a thread without being in it, and in a locked one, too."""
        self.change.set["rev"] = self.cached.thread.rev + 1
        if self.message.archive_ref and self.rewrites:
            self._bring_back()
        summary = self._summary()
        self._build(user_id, summary).commit()
        self.change.apply(self.message)
        with cache.update_lock:
            self.cached.thread.rev = self.message.rev
            if self.shows_in_inboxes:
                self.cached.thread.last_message = summary
                for person in self.cached.people.values():
                    person.last_message = summary

    def _bring_back(self) -> None:
        """What changes is in the table again, as it will be; the pack must not keep what it was."""
        self.check = make_pack_check(self.message.thread_id, self.message.archive_ref or "")
        self.change = restoring_change(self.message).then(self.change)

    def _build(self, user_id: str | None, summary: dict[str, Any]) -> Transaction:
        write = Transaction()
        write.update("message", self.message, self.change, self._as_read())
        if self.check is not None:
            write.put("check", self.check)
        of_thread = Change(set={"rev": self.change.set["rev"], "updated_at": now()})
        if self.shows_in_inboxes:
            of_thread.set["last_message"] = summary
        write.update("thread", self.cached.thread, of_thread, self._as_is(by_staff=user_id is None))
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

    def _as_read(self) -> Condition:
        """Archiving it in between changes nothing of what it says, but where that is."""
        place, known = Message.archive_ref, self.message.archive_ref
        is_there = place == known if known else place.does_not_exist()
        return (Message.rev == self.message.rev) & is_there

    def _as_is(self, *, by_staff: bool) -> Condition:
        thread = self.cached.thread
        as_is = (Thread.rev == thread.rev) & (Thread.roster_version == thread.roster_version)
        if not by_staff:
            as_is &= (Thread.status != LOCKED) & Thread.soft_block.does_not_exist()
        if not self.rewrites:
            return as_is
        # Inboxes show the newest: that it is that, or is not, has to be true.
        newest, this = Thread.last_message_id, self.message.id
        return as_is & (newest == this if self.shows_in_inboxes else newest != this)

    def _summary(self) -> dict[str, Any]:
        after = self.message.copy()
        self.change.apply(after)
        text = (
            REMOVED_PREVIEW
            if after.is_redacted
            else preview_of(after.body or "", after.attachments)
        )
        summary = {"author": after.author_id, "type": after.type, "text": text}
        return summary | {"authorText": HIDDEN_PREVIEW} if after.hidden_at else summary


def now() -> str:
    return keys.iso(keys.datetime_from_ms(now_ms()))
