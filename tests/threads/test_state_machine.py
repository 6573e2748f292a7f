"""Any sequence of actions of two users leaves the table in the state of a simple model.

Hypothesis finds the shortest failing sequence. test_random_walk.py has more users and several
processes; this one covers changes of messages: retry, edit, remove.
"""

from dataclasses import dataclass, field
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from accounts.models import User
from core.refusals import Refusal
from inbox.queries import list_folder
from tests.threads.checker import find_problems, read_partition
from tests.threads.conftest import deliver_up_to, make_person, messages_of, read_up_to, row, start
from threads import cache
from threads.actions.blocks import block_person, unblock_person
from threads.actions.folders import archive_thread, restore_thread
from threads.actions.messages import send_message
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.models import Message
from threads.models.message import REACTIONS

pytestmark = [pytest.mark.indexes, pytest.mark.slow]

WHO = st.integers(0, 1)
WORDS = st.text("abc *_`<&\n", min_size=1, max_size=20).map(str.strip).filter(bool)
WHICH = st.integers(0, 1000)


@dataclass
class SentMessage:
    author: int
    body: str
    first_body: str
    client_id: str
    after_seq: int | None = None
    is_removed: bool = False
    reactions: dict[str, set[int]] = field(default_factory=dict)


class Conversation(RuleBasedStateMachine):
    people: list[User]

    @initialize(before=st.lists(WHO, max_size=6))
    def begin(self, before: list[int]) -> None:
        self.people = [make_person("Ann"), make_person("Ben")]
        client_id = str(uuid4())
        self.thread = start(*self.people, body="Hello", client_id=client_id)
        self.sent = [SentMessage(0, "Hello", "Hello", client_id)]
        self.read, self.delivered = [1, 0], [1, 0]
        self.folder = ["inbox", "inbox"]
        self.blocks: set[int] = set()
        for who in before:
            self.say(who, "And then", saw_all=False)

    def expect(self, code: str, action, *given, **named) -> None:
        if not code:
            action(*given, **named)
            return
        with pytest.raises(Refusal) as refused:
            action(*given, **named)
        assert refused.value.code == code

    @property
    def refusal_code(self) -> str:
        return "MSG_BLOCKED_BY_USER" if self.blocks else ""

    def pick(self, which: int) -> int:
        return which % len(self.sent)

    # --- Actions

    def send(self, who: int, body: str, client_id: str, after_seq: int | None, seen: int = 0):
        return send_message(
            self.people[who],
            thread_id=self.thread,
            client_id=client_id,
            body=body,
            seen_seq=seen,
            after_seq=after_seq,
            reply_to=None,
        )

    @rule(who=WHO, body=WORDS, saw_all=st.booleans(), behind=st.none() | st.integers(0, 3))
    def say_one(self, who: int, body: str, saw_all: bool, behind: int | None) -> None:
        """`behind`: how many messages the client lacks; None if it does not say."""
        self.say(who, body, saw_all, None if behind is None else max(0, len(self.sent) - behind))

    @rule(authors=st.lists(WHO, min_size=2, max_size=5), body=WORDS)
    def say_several(self, authors: list[int], body: str) -> None:
        for who in authors:
            self.say(who, body, saw_all=False)

    def say(self, who: int, body: str, saw_all: bool, after_seq: int | None = None) -> None:
        client_id, seen = str(uuid4()), len(self.sent) if saw_all else 0
        self.expect(self.refusal_code, self.send, who, body, client_id, after_seq, seen)
        if self.refusal_code:
            return
        has_read_all = saw_all or all(one.author == who for one in self.sent[self.read[who] :])
        self.sent.append(SentMessage(who, body, body, client_id, after_seq))
        self.folder = ["inbox", "inbox"]
        if has_read_all:
            self.read[who] = self.delivered[who] = len(self.sent)

    @rule(which=WHICH)
    def retry(self, which: int) -> None:
        """A retry succeeds even after an edit, a removal or a block: the message is stored."""
        index = self.pick(which)
        one = self.sent[index]
        stored = self.send(one.author, one.first_body, one.client_id, one.after_seq)
        assert stored.seq == index + 1

    @rule(which=WHICH, body=WORDS)
    def retry_with_another_body(self, which: int, body: str) -> None:
        one = self.sent[self.pick(which)]
        # Without a marker, nothing is left of a removed message to compare with.
        if body == one.first_body or (one.is_removed and one.after_seq is not None):
            return
        send = (one.author, body, one.client_id, one.after_seq)
        self.expect("CLIENT_ID_REUSED", self.send, *send)

    @rule(who=WHO, which=WHICH)
    def receive(self, who: int, which: int) -> None:
        message = messages_of(self.thread)[self.pick(which)]
        deliver_up_to(self.people[who], message)
        self.delivered[who] = max(self.delivered[who], message.seq)

    @rule(who=WHO, which=WHICH)
    def read_it(self, who: int, which: int) -> None:
        message = messages_of(self.thread)[self.pick(which)]
        read_up_to(self.people[who], message)
        self.read[who] = max(self.read[who], message.seq)
        self.delivered[who] = max(self.delivered[who], self.read[who])

    @rule(who=WHO, which=WHICH, body=WORDS)
    def edit(self, who: int, which: int, body: str) -> None:
        one, named = self._named(which)
        can_edit = one.author == who and not one.is_removed
        code = self.refusal_code or ("" if can_edit else "MSG_NOT_EDITABLE")
        self.expect(code, edit_message, self.people[who], body=body, **named)
        if not code:
            one.body = body

    @rule(who=WHO, which=WHICH)
    def remove(self, who: int, which: int) -> None:
        one, named = self._named(which)
        code = self.refusal_code or ("" if one.author == who else "MSG_NOT_EDITABLE")
        self.expect(code, remove_message, self.people[who], **named)
        if not code:
            one.is_removed = True

    @rule(who=WHO, which=WHICH, reaction=st.sampled_from(REACTIONS), on=st.booleans())
    def react_to(self, who: int, which: int, reaction: str, on: bool) -> None:
        one, named = self._named(which)
        code = self.refusal_code or ("MSG_NOT_EDITABLE" if one.is_removed else "")
        self.expect(code, set_reaction, self.people[who], reaction=reaction, on=on, **named)
        if not code:
            people = one.reactions.pop(reaction, set()) - {who} | ({who} if on else set())
            one.reactions |= {reaction: people} if people else {}

    def _named(self, which: int) -> tuple[SentMessage, dict[str, str]]:
        index = self.pick(which)
        message = messages_of(self.thread)[index]
        return self.sent[index], {"thread_id": self.thread, "message_id": message.id}

    # Both actions are in one rule, weighted so that most blocks are lifted again.
    @rule(who=WHO, wants=st.sampled_from(["block", "unblock", "unblock"]))
    def block(self, who: int, wants: str) -> None:
        action = block_person if wants == "block" else unblock_person
        action(self.people[who], blocked=self.people[1 - who])
        self.blocks.add(who) if wants == "block" else self.blocks.discard(who)

    @rule(who=WHO, is_archived=st.booleans())
    def put(self, who: int, is_archived: bool) -> None:
        action = archive_thread if is_archived else restore_thread
        action(self.people[who], thread_id=self.thread)
        self.folder[who] = "archived" if is_archived else "inbox"

    @rule()
    def start_anew(self) -> None:
        """Simulates a process with an empty cache."""
        cache.invalidate(self.thread)

    # --- Expected state

    @invariant()
    def every_message_is_stored_once(self) -> None:
        items = read_partition(self.thread)
        assert not list(find_problems(items))
        stored = [item for item in items if isinstance(item, Message)]
        assert [self._as_sent(*pair) for pair in zip(stored, self.sent, strict=True)] == self.sent

    def _as_sent(self, message: Message, sent: SentMessage) -> SentMessage:
        ids = [user.id for user in self.people]
        return SentMessage(
            author=ids.index(message.author_id),
            body=message.body,
            first_body=sent.first_body,
            client_id=message.client_id,
            after_seq=sent.after_seq,
            is_removed=bool(message.removed_at),
            reactions={
                emoji: {ids.index(user_id) for user_id in people}
                for emoji, people in (message.reactions or {}).items()
            },
        )

    @invariant()
    def each_row_matches_the_model(self) -> None:
        for who, user in enumerate(self.people):
            mine = row(self.thread, user)
            unread = sum(one.author != who for one in self.sent[self.read[who] :])
            assert mine.unread == unread
            assert self._past_own(who, mine.last_read_seq) == self._past_own(who, self.read[who])
            delivered = self._past_own(who, self.delivered[who])
            assert self._past_own(who, mine.delivered_seq) == delivered
            for folder in ("inbox", "archived"):
                listed = [each.thread_id for each in list_folder(user, folder).rows]
                assert listed == ([self.thread] if self.folder[who] == folder else [])

    def _past_own(self, who: int, seq: int) -> int:
        """Own messages count as read, so a cursor before them is equivalent."""
        while seq < len(self.sent) and self.sent[seq].author == who:
            seq += 1
        return seq


def run(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        Conversation,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_the_table_matches_the_model_after_any_actions(db):
    run(examples=20, steps=20)


@pytest.mark.long
def test_the_table_matches_the_model_after_many_actions(db):
    run(examples=60, steps=40)
