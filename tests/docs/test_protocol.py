"""docs/protocol.md describes the socket protocol as the code defines it."""

import types
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest
from django.conf import settings

from core.refusals import REFUSALS
from messaging_site.server.limits import MAX_WEBSOCKET_FRAME_BYTES
from realtime.broadcast import events
from realtime.sockets import close_codes, consumers
from realtime.sockets.commands import COMMANDS, CONNECTION_COMMANDS
from realtime.sockets.frames import MAX_FRAME_BYTES
from realtime.sockets.heartbeat import ClientPosition
from tests.docs import pages
from threads import forms, queries
from threads.models.message import MAX_BODY_LENGTH

PAGE = pages.read("protocol.md")
EVENTS = {get_args(get_type_hints(event)["type"])[0]: event for event in get_args(events.Event)}
# Close codes of the server and the browser: normal, shutdown, no close frame, uncaught exception.
STANDARD_CODES = {1000, 1001, 1006, 1011}
TYPE_NAMES = {
    str: "string",
    int: "integer",
    bool: "boolean",
    list: "array",
    dict: "object",
    Any: "anything",
    type(None): "null",
}


def documented_fields(name: str) -> dict[str, str]:
    """The fields under a heading, with their types."""
    listed = pages.rows(pages.section(PAGE, f"### `{name}`"))
    return {pages.only(row["field"]): row["type"] for row in listed}


def names_under(heading: str) -> set[str]:
    return {pages.only(name) for name in pages.headings(pages.section(PAGE, heading))}


# --- Commands


def test_exactly_the_commands_are_listed():
    assert names_under("## Commands") == {*COMMANDS, *CONNECTION_COMMANDS}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_field_of_a_command_is_listed(command):
    fields = COMMANDS[command].form.base_fields
    assert documented_fields(command) == {
        name: _field_type(field) for name, field in fields.items()
    }


def _field_type(field: Any) -> str:
    match field:
        case forms.IdField():
            kind = f"id `{field.prefix}_`"
        case forms.IdListField():
            kind = f"array of ids `{field.prefix}_`"
        case forms.LinkListField():
            kind = "array of links"
        case forms.ClientIdField():
            kind = "UUID or ULID"
        case forms.CountField():
            kind = "integer"
        case forms.FlagField():
            kind = "boolean"
        case forms.PlainTextField():
            kind = "string"
        case _:
            raise TypeError(field)
    return kind if field.required else f"{kind}, optional"


def test_the_fields_of_a_ping_are_listed():
    shown = {name: _field_type(field) for name, field in ClientPosition.base_fields.items()}
    optional = {name: f"{kind}, optional" for name, kind in shown.items()}
    assert documented_fields("ping") == {"t": "anything, optional", **optional}


# --- Events


def test_every_event_type_belongs_to_the_union():
    defined = {value for value in vars(events).values() if is_typeddict(value)}
    assert defined == set(get_args(events.Event))


def test_exactly_the_events_are_listed():
    assert names_under("## Events") == set(EVENTS)


@pytest.mark.parametrize("name", EVENTS)
def test_every_field_of_an_event_is_listed(name):
    event = EVENTS[name]
    optional = event.__optional_keys__
    assert documented_fields(name) == {
        field: _hint_type(hint) + (", optional" if field in optional else "")
        for field, hint in get_type_hints(event).items()
        if field != "type"
    }


def _hint_type(hint: Any) -> str:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(_hint_type(part) for part in get_args(hint))
    return TYPE_NAMES[origin or hint]


# --- Refusals, limits, closing


def test_every_refusal_is_listed_with_its_text():
    listed = {
        pages.only(row["code"]): (int(row["status"]), row["message"], row["hint"])
        for row in pages.rows(pages.section(PAGE, "## Refusals"))
    }
    assert listed == REFUSALS


def test_every_named_refusal_exists():
    named = {word for word in pages.quoted(PAGE) if word.isupper() and "_" in word}
    settings = {"ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS"}
    settings |= {"PARLEY_SOCKET_RATE", "PARLEY_SOCKET_BURST", "PARLEY_MESSAGE_LIMIT"}
    settings |= {"PARLEY_SOCKETS_PER_USER", "PARLEY_SYNC_WINDOW", "PARLEY_SESSION_CHECK_SECONDS"}
    assert named - settings <= set(REFUSALS)


def test_the_limits_match_the_code():
    listed = pages.rows(pages.section(PAGE, "## Limits"))
    assert {row["limit"]: row["value"].split()[0] for row in listed} == {
        "a frame from a client": f"{MAX_FRAME_BYTES:,}",
        "a frame that is read at all": f"{MAX_WEBSOCKET_FRAME_BYTES:,}",
        "frames from one socket": f"{settings.SOCKET_RATE:.0f}",
        "sockets of one user": f"{settings.SOCKETS_PER_USER}",
        "messages compared by `oldest`": f"{settings.SYNC_WINDOW}",
        "messages of one user": "60",
        "a frame to a client": "262,144",
        "the body of a message": f"{MAX_BODY_LENGTH:,}",
        "messages in one `thread.synced`": f"{queries.PAGE_SIZE:,}",
        "events queued for a slow socket": f"{settings.CHANNEL_CAPACITY:,}",
    }


def test_every_close_code_is_listed():
    listed = {int(row["code"]) for row in pages.rows(pages.section(PAGE, "## Closing"))}
    own_codes = {
        close_codes.SIGNED_OUT,
        close_codes.REPLACED,
        close_codes.TOO_LARGE,
        close_codes.TOO_MANY,
        close_codes.UNAVAILABLE,
    }
    assert listed == own_codes | set(STANDARD_CODES)


def test_the_documented_protocol_version_is_that_of_hello():
    (row,) = [
        row
        for row in pages.rows(pages.section(PAGE, "### `hello`"))
        if row["field"] == "`protocol`"
    ]
    assert row["meaning"].endswith(f": {consumers.PROTOCOL}")
