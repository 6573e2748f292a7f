"""Who is online, as processes tell each other; in memory for one of them, in Redis for several."""

import os
import time
from uuid import uuid4

import pytest
import redis

from core.redis_outage import TIMEOUT_SECONDS, RedisOutage
from realtime.broadcast import presence
from tests.wait import async_wait_until

pytestmark = pytest.mark.live


@pytest.fixture(autouse=True)
def _outage(monkeypatch):
    """What one test found of Redis says nothing to the next."""
    monkeypatch.setattr(presence, "redis_outage", RedisOutage())


@pytest.fixture
def mara():
    return f"user_{uuid4().hex}"


@pytest.fixture(params=["memory", "Redis"])
def known(request):
    if request.param == "memory":
        return presence.InMemoryPresence()
    return presence.RedisPresence(os.environ["PARLEY_TEST_REDIS_URL"])


@pytest.fixture
def elsewhere():
    """Another process on the same Redis."""
    return presence.RedisPresence(os.environ["PARLEY_TEST_REDIS_URL"])


async def is_online(known, user_id):
    return user_id in await known.list_online([user_id, "user_of_nobody"])


async def test_whoever_was_never_there_is_not_online(known, mara):
    assert await known.list_online([mara]) == set()
    assert await known.list_online([]) == set()


async def test_lists_the_connections_that_are_alive_wherever_they_are(known, elsewhere, mara):
    assert await known.list_live_connections(mara) == set()
    await known.touch(mara, "desk")
    await known.touch(mara, "phone")
    assert await known.list_live_connections(mara) == {"desk", "phone"}
    if isinstance(known, presence.RedisPresence):
        assert await elsewhere.list_live_connections(mara) == {"desk", "phone"}
    await known.remove(mara, "phone")
    assert await known.list_live_connections(mara) == {"desk"}


async def test_a_person_is_online_until_the_last_device_goes(known, mara):
    await known.touch(mara, "desk")
    await known.touch(mara, "phone")
    await known.remove(mara, "desk")
    assert await is_online(known, mara)
    await known.remove(mara, "phone")
    assert not await is_online(known, mara)
    await known.remove(mara, "phone")
    assert not await is_online(known, mara)


async def test_of_many_only_those_are_named_who_are_there(known, mara):
    others = [f"user_{uuid4().hex}" for _ in range(3)]
    await known.touch(mara, "desk")
    await known.touch(others[1], "desk")
    assert await known.list_online([mara, *others]) == {mara, others[1]}


async def test_other_processes_know_it_too(mara, known, elsewhere):
    await known.touch(mara, "desk")
    in_redis = isinstance(known, presence.RedisPresence)
    assert await is_online(elsewhere, mara) == in_redis
    await known.remove(mara, "desk")
    assert not await is_online(elsewhere, mara)


async def test_in_memory_a_device_that_says_nothing_is_gone_after_a_minute(mara, monkeypatch):
    known = presence.InMemoryPresence()
    begin = time.monotonic()
    monkeypatch.setattr(presence.time, "monotonic", lambda: begin)
    await known.touch(mara, "desk")
    monkeypatch.setattr(presence.time, "monotonic", lambda: begin + 59)
    assert await is_online(known, mara)
    await known.touch(mara, "phone")
    monkeypatch.setattr(presence.time, "monotonic", lambda: begin + 61)
    assert await is_online(known, mara), "The phone is there."
    await known.remove(mara, "phone")
    assert not await is_online(known, mara), "The desk has not been heard of for a minute."
    assert known._alive_at == {}


def age(mara, seconds):
    """As if that much time had gone by in Redis, whose clock is the one that counts."""
    with redis.Redis.from_url(os.environ["PARLEY_TEST_REDIS_URL"]) as client:
        key = presence._key(mara)
        for device in client.zrange(key, 0, -1):
            client.zincrby(key, -seconds, device)


async def test_in_redis_a_device_that_says_nothing_is_gone_after_a_minute(mara, elsewhere):
    dies = presence.RedisPresence(os.environ["PARLEY_TEST_REDIS_URL"])
    await dies.touch(mara, "desk")
    age(mara, 55)
    assert await is_online(elsewhere, mara)
    age(mara, 6)
    assert not await is_online(elsewhere, mara)


async def test_redis_keeps_nothing_of_those_who_do_not_come_back(mara, elsewhere):
    await elsewhere.touch(mara, "desk")
    age(mara, 61)
    await elsewhere.touch(mara, "phone")
    with redis.Redis.from_url(os.environ["PARLEY_TEST_REDIS_URL"]) as client:
        assert client.zrange(presence._key(mara), 0, -1) == [b"phone"]
        assert 0 < client.ttl(presence._key(mara)) <= presence.EXPIRY_SECONDS


async def test_without_redis_a_process_knows_its_own_and_it_comes_back_by_itself(
    own_redis, mara, monkeypatch
):
    known, other = presence.RedisPresence(own_redis.url), presence.RedisPresence(own_redis.url)
    await known.touch(mara, "desk")
    assert await is_online(other, mara)
    own_redis.kill()

    begun = time.monotonic()
    assert not await is_online(other, mara)
    for _ in range(50):
        await known.touch(mara, "desk")
        assert await is_online(known, mara)
        assert not await is_online(other, mara)
    assert time.monotonic() - begun < 1.5, "Nobody waits for Redis."

    own_redis.start_again(monkeypatch)
    await async_wait_until(lambda: is_online_after_a_touch(known, other, mara), 5)


async def test_nobody_waits_for_a_redis_that_hangs(own_redis, mara):
    known = presence.RedisPresence(own_redis.url)
    await known.touch(mara, "desk")
    own_redis.hang()
    begun = time.monotonic()
    for _ in range(50):
        await known.touch(mara, "desk")
    assert time.monotonic() - begun < TIMEOUT_SECONDS + 1.5
    own_redis.go_on()


async def is_online_after_a_touch(known, other, mara):
    await known.touch(mara, "desk")
    return await is_online(other, mara)


async def test_the_service_chooses_by_its_settings(settings, mara):
    presence._presence.cache_clear()
    chosen = type(presence._presence())
    assert chosen is (presence.RedisPresence if settings.REDIS_URL else presence.InMemoryPresence)
    await presence.touch(mara, "desk")
    assert await presence.list_online([mara]) == {mara}
    await presence.remove(mara, "desk")
    assert await presence.list_online([mara]) == set()
    presence._presence.cache_clear()
