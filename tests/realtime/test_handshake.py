"""Handshakes that arrive at the same time share the lookup of their sessions."""

import asyncio
import threading
import time

import pytest
from django.db import OperationalError

from realtime.sockets import handshake
from realtime.sockets.handshake import SessionLookups, find_session_key


@pytest.fixture
def lookups(monkeypatch) -> list[list[str]]:
    """The session keys of each lookup; a key that begins with "no" has no user."""
    made: list[list[str]] = []

    def find_users(keys: list[str]) -> dict[str, str]:
        made.append(keys)
        assert threading.current_thread() is not threading.main_thread()
        time.sleep(0.05)
        if "broken" in keys:
            raise OperationalError("The database is unavailable.")
        return {key: f"user of {key}" for key in keys if not key.startswith("no")}

    monkeypatch.setattr(handshake, "find_users", find_users)
    return made


async def test_handshakes_during_a_lookup_share_the_next_one(lookups):
    waiting = SessionLookups()
    first = asyncio.create_task(waiting.find_user("first"))
    await asyncio.sleep(0.01)
    keys = [f"key {number}" for number in range(50)] * 2
    found = await asyncio.gather(*(waiting.find_user(key) for key in keys))
    assert found == [f"user of {key}" for key in keys]
    assert await first == "user of first"
    assert [len(one) for one in lookups] == [1, 50]


async def test_a_session_without_a_user_is_none(lookups):
    assert await SessionLookups().find_user("nobody") is None


async def test_a_handshake_that_is_given_up_does_not_affect_the_others(lookups):
    waiting = SessionLookups()
    one, other = (asyncio.create_task(waiting.find_user("same")) for _ in range(2))
    await asyncio.sleep(0.01)
    one.cancel()
    assert await other == "user of same"


async def test_an_outage_of_the_database_fails_only_these_handshakes(lookups):
    waiting = SessionLookups()
    with pytest.raises(OperationalError):
        await waiting.find_user("broken")
    assert await waiting.find_user("key") == "user of key"


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ([(b"host", b"x"), (b"cookie", b"a=b; sessionid=abc; c=d")], "abc"),
        ([(b"cookie", b"a=b"), (b"cookie", b"sessionid=abc")], "abc"),
        ([(b"cookie", b"sessionid=")], ""),
        ([(b"cookie", b"\xff\xfe; =; ;;")], ""),
        ([], ""),
    ],
)
def test_the_session_key_is_found_in_the_cookies(headers, key):
    assert find_session_key(headers) == key
