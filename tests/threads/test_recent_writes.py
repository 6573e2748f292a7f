"""Recently written rows: recorded by every write, shared between all processes."""

import asyncio
import os
import time
from types import SimpleNamespace
from uuid import uuid4

import pytest
from redis import ConnectionError

from core.redis_outage import redis_outage
from tests.threads.conftest import add_friend, say
from threads.actions.folders import archive_thread
from threads.actions.participants import leave_thread
from threads.dynamodb import recent_writes
from threads.dynamodb.recent_writes import (
    MAX_THREADS,
    InMemoryRecentWrites,
    RedisRecentWrites,
    list_written_rows,
)

UNREACHABLE_URL = "redis://127.0.0.1:1/0"


@pytest.fixture(params=["memory", "redis"])
def recent(request):
    return InMemoryRecentWrites() if request.param == "memory" else redis_recent_writes()


def redis_recent_writes() -> RedisRecentWrites:
    return RedisRecentWrites(os.environ["PARLEY_TEST_REDIS_URL"])


def new_user_id() -> str:
    return f"usr_{uuid4().hex}"


def test_a_write_is_listed_for_its_user_only(recent):
    user, other = new_user_id(), new_user_id()
    recent.record([(user, "thrd_a"), (user, "thrd_b"), (other, "thrd_c")])
    assert sorted(recent.list_threads(user)) == ["thrd_a", "thrd_b"]
    assert recent.list_threads(other) == ["thrd_c"]
    assert recent.list_threads(new_user_id()) == []


def test_an_old_write_expires(recent, settings):
    user = new_user_id()
    settings.INDEX_LAG_SECONDS = -2.0
    recent.record([(user, "thrd_a")])
    assert recent.list_threads(user) == []


def test_only_the_newest_writes_are_kept(recent):
    user = new_user_id()
    for number in range(MAX_THREADS + 5):
        recent.record([(user, f"thrd_{number:03}")])
    threads = recent.list_threads(user)
    assert len(threads) == MAX_THREADS
    assert f"thrd_{MAX_THREADS + 4:03}" in threads


def test_writes_are_shared_between_processes():
    user = new_user_id()
    first, other = redis_recent_writes(), redis_recent_writes()
    first.record([(user, "thrd_a")])
    asyncio.run(first.record_async([(user, "thrd_b")]))
    assert sorted(other.list_threads(user)) == ["thrd_a", "thrd_b"]


def test_a_process_lists_its_own_writes_without_redis(monkeypatch):
    monkeypatch.setattr(redis_outage, "is_on", False)
    user, recent = new_user_id(), RedisRecentWrites(UNREACHABLE_URL)
    recent.record([(user, "thrd_a")])
    asyncio.run(recent.record_async([(user, "thrd_b")]))
    assert sorted(recent.list_threads(user)) == ["thrd_a", "thrd_b"]
    with pytest.raises(ConnectionError):
        recent.clear()


@pytest.fixture
def noted(monkeypatch):
    """The rows that were recorded in Redis, and whether Redis works."""
    noted = SimpleNamespace(rows=[], works=True)

    def note_arguments(rows):
        noted.rows += rows
        return arguments(rows)

    def try_(self, script, *args):
        return run(self, script, *args) if noted.works else None

    arguments, run = recent_writes._note_arguments, RedisRecentWrites._try
    monkeypatch.setattr(recent_writes, "_note_arguments", note_arguments)
    monkeypatch.setattr(RedisRecentWrites, "_try", try_)
    return noted


def test_a_row_that_is_written_again_at_once_is_not_recorded_again(noted):
    user, recent = new_user_id(), redis_recent_writes()
    first, second = (user, "thrd_a"), (user, "thrd_b")
    recent.record([first])
    recent.record([first, second])
    asyncio.run(recent.record_async([first, second]))
    assert noted.rows == [first, second]
    recent.clear()
    recent.record([first])
    assert redis_recent_writes().list_threads(user) == ["thrd_a"]


def test_a_record_is_valid_for_the_lag_after_the_last_write_that_relies_on_it(
    noted, settings, monkeypatch
):
    user, recent = new_user_id(), redis_recent_writes()
    settings.INDEX_LAG_SECONDS = 40.0
    recent.record([(user, "thrd_a")])
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + 9.0)
    recent.record([(user, "thrd_a")])
    assert len(noted.rows) == 1
    # The first record, 9 seconds old, is valid for 40 seconds from now.
    expires = recent._client.ttl(recent_writes._key(user)) - 9
    assert expires >= 40
    monkeypatch.setattr(time, "monotonic", lambda: now() + 11.0)
    recent.record([(user, "thrd_a")])
    assert len(noted.rows) == 2


def test_a_row_that_redis_has_not_recorded_is_recorded_again(noted):
    row, recent = (new_user_id(), "thrd_a"), redis_recent_writes()
    noted.works = False
    recent.record([row])
    noted.works = True
    recent.record([row])
    assert noted.rows == [row, row]
    assert redis_recent_writes().list_threads(row[0]) == ["thrd_a"]


@pytest.mark.django_db
def test_every_write_of_a_row_is_recorded_for_its_user(thread, buyer, seller, stranger):
    recent_writes.clear()
    archive_thread(seller, thread_id=thread)
    assert (recent_writes.list_threads(seller.id), recent_writes.list_threads(buyer.id)) == (
        [thread],
        [],
    )
    say(buyer, thread)
    assert recent_writes.list_threads(buyer.id) == [thread]
    add_friend(buyer, thread_id=thread, user=stranger)
    assert recent_writes.list_threads(stranger.id) == [thread]
    recent_writes.clear()
    leave_thread(stranger, thread_id=thread)
    assert recent_writes.list_threads(stranger.id) == [thread]


def test_reads_and_condition_checks_are_not_recorded():
    key = {"pk": {"S": "THR#thrd_a"}, "sk": {"S": "PART#usr_a"}}
    assert list_written_rows("Query", {}) == list_written_rows("GetItem", {"Key": key}) == []
    checked = {"TransactItems": [{"ConditionCheck": {"Key": key}}]}
    assert list_written_rows("TransactWriteItems", checked) == []
    put = {"RequestItems": {"table": [{"PutRequest": {"Item": key}}]}}
    assert list_written_rows("BatchWriteItem", put) == [("usr_a", "thrd_a")]
