"""Which rows were written a moment ago: noted by every write, known to every process."""

import asyncio
import os
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

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture(params=["memory", "redis"])
def notes(request):
    return InMemoryRecentWrites() if request.param == "memory" else redis_notes()


def redis_notes() -> RedisRecentWrites:
    return RedisRecentWrites(os.environ["PARLEY_TEST_REDIS_URL"])


def somebody() -> str:
    return f"usr_{uuid4().hex}"


def test_a_write_is_known_for_a_while_and_to_its_user_alone(notes):
    user, other = somebody(), somebody()
    notes.record([(user, "thrd_a"), (user, "thrd_b"), (other, "thrd_c")])
    assert sorted(notes.list_threads(user)) == ["thrd_a", "thrd_b"]
    assert notes.list_threads(other) == ["thrd_c"]
    assert notes.list_threads(somebody()) == []


def test_a_write_that_is_long_ago_is_forgotten(notes, settings):
    user = somebody()
    settings.INDEX_LAG_SECONDS = -2.0
    notes.record([(user, "thrd_a")])
    assert notes.list_threads(user) == []


def test_the_newest_are_kept(notes):
    user = somebody()
    for number in range(MAX_THREADS + 5):
        notes.record([(user, f"thrd_{number:03}")])
    threads = notes.list_threads(user)
    assert len(threads) == MAX_THREADS
    assert f"thrd_{MAX_THREADS + 4:03}" in threads


def test_what_one_process_writes_another_knows():
    user = somebody()
    here, other = redis_notes(), redis_notes()
    here.record([(user, "thrd_a")])
    asyncio.run(here.record_async([(user, "thrd_b")]))
    assert sorted(other.list_threads(user)) == ["thrd_a", "thrd_b"]


def test_without_redis_a_process_knows_of_its_own_writes(monkeypatch):
    monkeypatch.setattr(redis_outage, "is_on", False)
    user, notes = somebody(), RedisRecentWrites(NOWHERE)
    notes.record([(user, "thrd_a")])
    asyncio.run(notes.record_async([(user, "thrd_b")]))
    assert sorted(notes.list_threads(user)) == ["thrd_a", "thrd_b"]
    with pytest.raises(ConnectionError):
        notes.clear()


@pytest.mark.django_db
def test_every_write_of_a_row_is_noted_for_its_user(thread, buyer, seller, stranger):
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


def test_what_is_only_checked_or_read_is_not_written():
    key = {"pk": {"S": "THR#thrd_a"}, "sk": {"S": "PART#usr_a"}}
    assert list_written_rows("Query", {}) == list_written_rows("GetItem", {"Key": key}) == []
    checked = {"TransactItems": [{"ConditionCheck": {"Key": key}}]}
    assert list_written_rows("TransactWriteItems", checked) == []
    put = {"RequestItems": {"table": [{"PutRequest": {"Item": key}}]}}
    assert list_written_rows("BatchWriteItem", put) == [("usr_a", "thrd_a")]
