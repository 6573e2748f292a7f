"""Hostile frames: too deep, too long, too many items. Each is answered and the socket stays open,
or the socket is closed with a code; no failure is logged."""

import json
from uuid import uuid4

import pytest
from django.test import Client as Browser
from django.urls import reverse
from websockets.exceptions import ConnectionClosed

from core.ids import new_id
from core.refusals import Refusal
from realtime.sockets.commands import COMMANDS, CONNECTION_COMMANDS
from realtime.sockets.frames import MAX_FRAME_BYTES, FrameTooLarge, decode
from tests.test_access import BACKEND
from tests.threads.conftest import make_person, messages_of, start
from threads.forms import SendMessage

TYPES = [*COMMANDS, *CONNECTION_COMMANDS]


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + closing * depth


# Values of a field, in JSON.
HOSTILE_VALUES = {
    "300 lists": nested(300),
    "1,000 lists": nested(1000),
    "30,000 lists": nested(30_000),
    "lists that do not end": "[" * 60_000,
    "300 objects": '{"a":' * 300 + "1" + "}" * 300,
    "5,000 objects": '{"a":' * 5000 + "1" + "}" * 5000,
    "a list of 20,000": json.dumps([1] * 20_000),
    "3,000 names": json.dumps({str(n): n for n in range(3000)}),
    "a number of 10,000 digits": "9" * 10_000,
    "no number": "NaN",
    "infinity": "1e99999",
    "half a letter": '"\\ud800"',
    "nothing": "\x00",
}


def frame(type_: str, field: str, value: str, thread: str) -> str:
    right = {"type": type_, "thread": thread, "client_id": str(uuid4()), "body": "Hello"}
    rest = json.dumps({name: one for name, one in right.items() if name != field})
    return f'{rest[:-1]}, "{field}": {value}}}'


@pytest.mark.parametrize("value", HOSTILE_VALUES)
def test_a_hostile_frame_is_answered_and_the_socket_stays_open(site, pair, value):
    before = site.logs().count("command_failed")
    with site.connect(pair.buyer) as client:
        client.hear("hello")
        for type_ in TYPES:
            for field in ("t" if type_ == "ping" else "thread", "attachments", "extra"):
                client.socket.send(frame(type_, field, HOSTILE_VALUES[value], pair.thread))
        client.say("ping", t="still here")
        while client.hear("pong", timeout=60)["t"] != "still here":
            pass
    refused = [event["code"] for event in client.heard if event["type"] == "error"]
    # At least the frame with the wrong thread is refused, for every command.
    assert len(refused) >= len(COMMANDS)
    assert set(refused) == {"BAD_FRAME"}
    assert site.logs().count("command_failed") == before


def test_a_frame_that_is_too_long_is_refused_and_closes_the_socket(site, pair):
    with site.connect(pair.buyer) as client:
        client.hear("hello")
        client.say("ping", t="x" * MAX_FRAME_BYTES)
        assert client.hear("error")["code"] == "BAD_FRAME"
        with pytest.raises(ConnectionClosed) as closed:
            client.hear()
    assert closed.value.rcvd.code == 4413


# A valid value for every field of every command.
VALID_FIELDS = {
    "thread": new_id("thrd"),
    "client_id": str(uuid4()),
    **{name: new_id("msg") for name in ("message", "reply_to", "after", "oldest")},
    **dict.fromkeys(("seen_seq", "after_seq", "version", "seq", "tally", "rev"), 1),
    **{"body": "Hello", "text": "Hello", "reaction": "👍", "on": True},
    **{"attachments": [], "links": []},
}


def parse_frame(type_: str, field: str = "", value: str = "") -> Exception | None:
    """Returns the refusal of a frame in which one field has this value and all others are valid."""
    others = {"type": type_} | {name: v for name, v in VALID_FIELDS.items() if name != field}
    text = json.dumps(others)
    try:
        COMMANDS[type_].form.parse(decode(f'{text[:-1]}, "{field}": {value}}}' if field else text))
    except (Refusal, FrameTooLarge) as refusal:
        return refusal
    return None


@pytest.mark.parametrize("type_", COMMANDS)
def test_a_command_with_valid_fields_is_accepted(type_):
    """The next test relies on this: no other field causes a refusal."""
    assert set(COMMANDS[type_].form.base_fields) <= set(VALID_FIELDS)
    assert parse_frame(type_) is None


@pytest.mark.parametrize("value", HOSTILE_VALUES)
def test_every_field_of_every_command_refuses_hostile_values_with_a_code(value):
    """Frames that are too deep to be decoded are refused before any field is validated."""
    for type_, handler in COMMANDS.items():
        for field in handler.form.base_fields:
            refusal = parse_frame(type_, field, HOSTILE_VALUES[value])
            assert refusal is not None, f"{type_} accepts it as {field}"
            if isinstance(refusal, Refusal):
                assert refusal.code == "BAD_FRAME", (type_, field)
                assert refusal.hint in (f"Invalid: {field}.", "A frame is one JSON object.")


@pytest.mark.parametrize("value", HOSTILE_VALUES)
def test_the_form_that_takes_json_refuses_hostile_values(db, value):
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    client = Browser(raise_request_exception=True)
    client.force_login(buyer, backend=BACKEND)
    fields = {
        "client_id": str(uuid4()),
        "body": "Hello",
        "seen_seq": 0,
        "after_seq": 0,
        "links": HOSTILE_VALUES[value],
    }
    response = client.post(reverse("threads:messages", args=[thread]), fields)
    assert response.status_code == 400
    assert len(messages_of(thread)) == 1
    with pytest.raises(Refusal, match="BAD_FRAME"):
        SendMessage.parse({**fields, "thread": thread})
