"""Presence: in memory for one process, in Redis for several."""

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
    """Resets the outage that a test detected, so that it does not affect the next test."""
    monkeypatch.setattr(presence, "redis_outage", RedisOutage())


@pytest.fixture
def mara():
    return f"user_{uuid4().hex}"


@pytest.fixture(params=["memory", "Redis"])
def store(request):
    if request.param == "memory":
        return presence.InMemoryPresence()
    return presence.RedisPresence(os.environ["PARLEY_TEST_REDIS_URL"])


@pytest.fixture
def other_process():
    """Another process on the same Redis."""
    return presence.RedisPresence(os.environ["PARLEY_TEST_REDIS_URL"])


async def touch(store, user_id, connection_id, age=0.0):
    return await store.touch({(user_id, connection_id): age})


async def is_online(store, user_id):
    return user_id in await store.list_online([user_id, "user_of_nobody"])


async def test_a_user_who_never_connected_is_offline(store, mara):
    assert await store.list_online([mara]) == set()
    assert await store.list_online([]) == set()


async def test_live_connections_of_all_processes_are_listed(store, other_process, mara):
    assert await store.list_live_connections(mara) == set()
    await touch(store, mara, "desk")
    await touch(store, mara, "phone")
    assert await store.list_live_connections(mara) == {"desk", "phone"}
    if isinstance(store, presence.RedisPresence):
        assert await other_process.list_live_connections(mara) == {"desk", "phone"}
    await store.remove([(mara, "phone")])
    assert await store.list_live_connections(mara) == {"desk"}


async def test_a_user_is_online_until_the_last_device_disconnects(store, mara):
    await touch(store, mara, "desk")
    await touch(store, mara, "phone")
    await store.remove([(mara, "desk")])
    assert await is_online(store, mara)
    await store.remove([(mara, "phone")])
    assert not await is_online(store, mara)
    await store.remove([(mara, "phone")])
    assert not await is_online(store, mara)


async def test_only_online_users_are_listed(store, mara):
    others = [f"user_{uuid4().hex}" for _ in range(3)]
    await touch(store, mara, "desk")
    await touch(store, others[1], "desk")
    assert await store.list_online([mara, *others]) == {mara, others[1]}


async def test_many_connections_are_recorded_with_the_age_of_their_last_heartbeat(
    store, mara, monkeypatch
):
    monkeypatch.setattr(presence, "MAX_CHUNK_SIZE", 3)
    users = [f"{mara}-{number}" for number in range(8)]
    ages = {(user_id, "desk"): 70.0 if user_id == users[4] else 30.0 for user_id in users}
    assert await store.touch(ages) == set()
    online = set(users) - {users[4]}
    assert await store.list_online(users) == online
    assert await store.touch({(user_id, "phone"): 0.0 for user_id in users}) == online
    await store.remove([(user_id, "phone") for user_id in users])
    assert await store.list_online(users) == online


async def test_the_age_of_a_heartbeat_counts_for_other_processes(mara, store, other_process):
    await touch(store, mara, "desk", age=58.0)
    in_redis = isinstance(store, presence.RedisPresence)
    assert await is_online(other_process, mara) == in_redis
    age(mara, 5)
    assert not await is_online(other_process, mara)


async def test_presence_in_redis_is_shared_between_processes(mara, store, other_process):
    await touch(store, mara, "desk")
    in_redis = isinstance(store, presence.RedisPresence)
    assert await is_online(other_process, mara) == in_redis
    await store.remove([(mara, "desk")])
    assert not await is_online(other_process, mara)


async def test_in_memory_a_silent_device_expires_after_a_minute(mara, monkeypatch):
    store = presence.InMemoryPresence()
    start = time.monotonic()
    monkeypatch.setattr(presence.time, "monotonic", lambda: start)
    await touch(store, mara, "desk")
    monkeypatch.setattr(presence.time, "monotonic", lambda: start + 59)
    assert await is_online(store, mara)
    await touch(store, mara, "phone")
    monkeypatch.setattr(presence.time, "monotonic", lambda: start + 61)
    assert await is_online(store, mara), "The phone is connected."
    await store.remove([(mara, "phone")])
    assert not await is_online(store, mara), "The desktop has sent no heartbeat for a minute."
    assert store._alive_at == {}


def age(mara, seconds):
    """Moves the heartbeats in Redis back in time, since Redis's clock determines the expiry."""
    with redis.Redis.from_url(os.environ["PARLEY_TEST_REDIS_URL"]) as client:
        key = presence._key(mara)
        for device in client.zrange(key, 0, -1):
            client.zincrby(key, -seconds, device)


async def test_in_redis_a_silent_device_expires_after_a_minute(mara, other_process):
    stopped_process = presence.RedisPresence(os.environ["PARLEY_TEST_REDIS_URL"])
    await touch(stopped_process, mara, "desk")
    age(mara, 55)
    assert await is_online(other_process, mara)
    age(mara, 6)
    assert not await is_online(other_process, mara)


async def test_redis_removes_expired_devices(mara, other_process):
    await touch(other_process, mara, "desk")
    age(mara, 61)
    await touch(other_process, mara, "phone")
    with redis.Redis.from_url(os.environ["PARLEY_TEST_REDIS_URL"]) as client:
        assert client.zrange(presence._key(mara), 0, -1) == [b"phone"]
        assert 0 < client.ttl(presence._key(mara)) <= presence.EXPIRY_SECONDS


async def test_without_redis_a_process_lists_its_own_users_and_recovers_afterwards(
    own_redis, mara, monkeypatch
):
    store, other = presence.RedisPresence(own_redis.url), presence.RedisPresence(own_redis.url)
    await touch(store, mara, "desk")
    assert await is_online(other, mara)
    own_redis.kill()

    started_at = time.monotonic()
    assert not await is_online(other, mara)
    for _ in range(50):
        await touch(store, mara, "desk")
        assert await is_online(store, mara)
        assert not await is_online(other, mara)
    assert time.monotonic() - started_at < 1.5, "No call waits for Redis."

    own_redis.restart(monkeypatch)
    await async_wait_until(lambda: is_online_after_a_touch(store, other, mara), 5)


async def test_a_hanging_redis_delays_no_call(own_redis, mara):
    store = presence.RedisPresence(own_redis.url)
    await touch(store, mara, "desk")
    own_redis.hang()
    started_at = time.monotonic()
    for _ in range(50):
        await touch(store, mara, "desk")
    assert time.monotonic() - started_at < TIMEOUT_SECONDS + 1.5
    own_redis.resume()


async def is_online_after_a_touch(store, other, mara):
    await touch(store, mara, "desk")
    return await is_online(other, mara)


async def test_the_settings_choose_the_presence_store(settings, mara):
    presence._presence.cache_clear()
    chosen = type(presence._presence())
    assert chosen is (presence.RedisPresence if settings.REDIS_URL else presence.InMemoryPresence)
    assert not await presence.touch(mara, "desk")
    assert await presence.touch(mara, "phone"), "The desktop is connected."
    assert await presence.list_online([mara]) == {mara}
    await presence.remove_all([(mara, "phone")])
    await presence.remove_all([(mara, "desk")])
    assert await presence.list_online([mara]) == set()
    presence._presence.cache_clear()
