"""Any frame is answered or refused with a code, and never leaves a partial write."""

from contextlib import suppress
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.refusals import Refusal
from realtime.sockets.commands import COMMANDS, handle_command
from realtime.sockets.frames import FrameTooLarge, decode
from tests.threads.checker import find_problems, read_partition
from tests.threads.conftest import make_person, messages_of, start

HOSTILE_VALUES = [
    "\x00",
    "\ud800",
    "a" * 8001,
    "\u202e",
    "thrd_",
    " ",
    -1,
    2**63,
    10**40,
    1.5,
    [],
    {},
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
# Every field of every command.
FIELDS = [(type_, name) for type_, command in COMMANDS.items() for name in command.form.base_fields]


@given(st.text() | st.recursive(JSON, st.lists).map(repr))
def test_any_text_is_a_frame_or_is_refused(text):
    with suppress(Refusal, FrameTooLarge):
        assert isinstance(decode(text)["type"], str)


class Conversation:
    """A thread of two users; sends valid frames in which a test replaces some fields."""

    def __init__(self) -> None:
        self.people = make_person("Ann"), make_person("Ben")
        self.thread = start(*self.people)

    def send(self, type_: str, **overrides: object) -> None:
        newest = messages_of(self.thread)[-1]
        valid = {
            "thread": self.thread,
            "client_id": str(uuid4()),
            "message": newest.id,
            "seq": newest.seq,
            "tally": newest.tally,
            "reply_to": newest.id,
            "body": "Hello",
            "text": "Hello",
            "reaction": "👍",
            "on": True,
        }
        # Only a refusal, which has a code and a message, is an acceptable exception.
        with suppress(Refusal):
            handle_command(self.people[0], {"type": type_} | valid | overrides)

    def check(self) -> None:
        assert not list(find_problems(read_partition(self.thread)))


@pytest.mark.parametrize(("type_", "name"), FIELDS)
def test_hostile_values_of_any_field_leave_the_thread_consistent(db, type_, name):
    conversation = Conversation()
    for value in HOSTILE_VALUES:
        conversation.send(type_, **{name: value})
    conversation.check()


def test_any_frame_is_answered_or_refused_and_the_thread_stays_consistent(db):
    conversation = Conversation()

    @settings(
        max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(st.sampled_from(FIELDS), JSON)
    def send_anything(field, value):
        type_, name = field
        conversation.send(type_, **{name: value})

    send_anything()
    conversation.check()
