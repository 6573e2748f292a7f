"""The transaction with which a message becomes another: it, the thread's `rev`, inbox rows."""

from dataclasses import dataclass, field
from typing import Any

from pynamodb.expressions.condition import Condition

from threads import state as states
from threads.markdown import to_text
from threads.models import Message, Participant, Thread, keys
from threads.models.changes import Change, Transaction
from threads.models.message import PREVIEW
from threads.models.thread import LOCKED
from threads.state import ThreadState
from threads.writing.build import may_write
from threads.writing.line import now_ms

GONE = "Message removed"


@dataclass
class Revision:
    state: ThreadState
    message: Message
    # Empty if it is as it should be already.
    change: Change
    quoted: dict[str, Message] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return not self.change.set

    @property
    def shows_in_inboxes(self) -> bool:
        return self.rewrites and self.message.id == self.state.thread.last_message_id

    @property
    def rewrites(self) -> bool:
        """What it said; a reaction does not."""
        return bool({"body", "removed_at"} & self.change.set.keys())

    def commit(self, user_id: str) -> None:
        """Whoever changes it; they have to be there, and free to write."""
        self.change.set["rev"] = self.state.thread.rev + 1
        summary = self._summary()
        self._build(user_id, summary).commit()
        self.change.apply(self.message)
        with states.changing:
            self.state.thread.rev = self.message.rev
            if self.shows_in_inboxes:
                self.state.thread.last_message = summary
                for person in self.state.people.values():
                    person.last_message = summary

    def _build(self, user_id: str, summary: dict[str, Any]) -> Transaction:
        write = Transaction()
        write.update("message", self.message, self.change, Message.rev == self.message.rev)
        of_thread = Change(set={"rev": self.change.set["rev"], "updated_at": now()})
        if self.shows_in_inboxes:
            of_thread.set["last_message"] = summary
        write.update("thread", self.state.thread, of_thread, self._as_is())
        me = self.state.people[user_id]
        if not self.shows_in_inboxes:
            write.check(me.sk, me, may_write(self.state) & Participant.pk.exists())
            return write
        for person in self.state.people.values():
            condition = Participant.last_seq == self.message.seq
            if person is me:
                condition &= may_write(self.state)
            write.update(person.sk, person, Change(set={"last_message": summary}), condition)
        return write

    def _as_is(self) -> Condition:
        thread = self.state.thread
        as_is = (
            (Thread.rev == thread.rev)
            & (Thread.roster_version == thread.roster_version)
            & (Thread.status != LOCKED)
            & Thread.soft_block.does_not_exist()
        )
        if not self.rewrites:
            return as_is
        # Inboxes show the newest: that it is that, or is not, has to be true.
        newest, this = Thread.last_message_id, self.message.id
        return as_is & (newest == this if self.shows_in_inboxes else newest != this)

    def _summary(self) -> dict[str, Any]:
        message, changes = self.message, self.change.set
        text = GONE if "removed_at" in changes else to_text(changes.get("body") or "")
        return {"author": message.author_id, "type": message.type, "text": text[:PREVIEW]}


def now() -> str:
    return keys.iso(keys.moment_of_ms(now_ms()))
