"""Whatever a client sends, it is answered or refused with a code, and nothing is stored half."""

from contextlib import suppress
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.refusals import Refusal
from realtime.commands import COMMANDS, OF_THE_SOCKET, handle
from realtime.frames import FrameTooLarge, decode
from tests.threads.checker import find_problems, read_partition
from tests.threads.conftest import make_person, messages_of, start

TEXT = st.text(max_size=30) | st.sampled_from(
    ["\x00", "\ud800", "a" * 8001, "\u202e", "thrd_", " "]
)
NUMBERS = st.integers() | st.floats() | st.sampled_from([0, -1, 2**63, 10**40])
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "thread",
    "message",
    "client_id",
    "body",
    "seq",
    "tally",
    "seen_seq",
    "reply_to",
    "after",
    "oldest",
    "rev",
    "reaction",
    "on",
    "text",
    "base",
    "at",
]


@given(st.text() | st.recursive(JSON, st.lists).map(repr))
def test_any_text_is_a_frame_or_is_refused(text):
    try:
        frame = decode(text)
    except (Refusal, FrameTooLarge):
        return
    assert isinstance(frame["type"], str)


def test_any_frame_is_answered_or_refused_and_nothing_is_stored_half(db):
    people = make_person("Ann"), make_person("Ben")
    thread = start(*people)
    newest = messages_of(thread)[-1]
    right = {
        "thread": thread,
        "message": newest.id,
        "seq": newest.seq,
        "tally": newest.tally,
        "after": newest.id,
        "oldest": newest.id,
        "reply_to": newest.id,
        "body": "Hello",
        "text": "Hello",
        "reaction": "👍",
        "on": True,
        "rev": 0,
        "seen_seq": 0,
    }
    types = st.sampled_from([*COMMANDS, *OF_THE_SOCKET]) | st.text(max_size=12)

    @settings(
        max_examples=400, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(
        type_=types,
        # Mostly right, so that it gets far; then one or two fields are anything.
        given_=st.sets(st.sampled_from(sorted(right)), min_size=6),
        wrong=st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=2),
        user=st.sampled_from(people),
    )
    def send_anything(type_, given_, wrong, user):
        fields = {name: right[name] for name in sorted(given_ | {"thread"})}
        frame = {"type": type_, "client_id": str(uuid4())} | fields | wrong
        with suppress(Refusal):  # Which has a code and a sentence; anything else is our mistake.
            handle(user, frame)

    send_anything()
    assert not list(find_problems(read_partition(thread)))
