"""A heartbeat does no I/O unless events may be lost; whatever was lost is repaired."""

import asyncio
import time
from contextlib import contextmanager

import pytest

from accounts.models import User
from realtime.broadcast import delivery, presence
from realtime.broadcast.delivery import recheck_delivery
from realtime.sockets import heartbeat
from realtime.sockets.connection_writer import connection_writer
from realtime.sockets.heartbeat import MAX_AGE_SECONDS
from realtime.sockets.open_sockets import open_sockets
from realtime.sockets.shared_checks import read_positions, refresh_presence
from tests.realtime.pages_in_process import Page, open_page
from tests.threads.conftest import make_person, messages_of, say, start
from tests.wait import async_wait_until
from threads import cache, events
from threads.actions.messages import OutgoingMessage, send_batch, send_message
from threads.actions.revisions import edit_message
from threads.dynamodb.errors import StoreUnavailable
from threads.dynamodb.store import count_requests

# The rows were written a moment ago, so they are also read by key.
CHECK = ["Query", "BatchGetItem", "GetItem"]
REPAIR = [*CHECK, "Query"]


@pytest.fixture
def lost(monkeypatch):
    """Stores messages whose events are lost on the way to the pages."""

    @contextmanager
    def losing():
        with monkeypatch.context() as patch:
            patch.setattr(delivery, "send_to_groups", lambda groups, message: None)
            yield

    return losing


@pytest.fixture
def no_threads(monkeypatch):
    """Fails if a worker thread is used, without which neither SQL nor blocking I/O is possible."""

    @contextmanager
    def forbidding():
        def refuse(*_: object) -> None:
            raise AssertionError("A worker thread was started.")

        with monkeypatch.context() as patch:
            patch.setattr(asyncio.get_running_loop(), "run_in_executor", refuse)
            for name in ("touch", "touch_all", "list_online"):
                patch.setattr(presence, name, refuse)
            yield

    return forbidding


@pytest.fixture
def buyer(db) -> User:
    return make_person("Bea")


@pytest.fixture
def seller(db) -> User:
    return make_person("Sam")


@pytest.fixture
def thread(buyer, seller) -> str:
    return start(buyer, seller)


@pytest.fixture
def other(buyer, seller) -> str:
    """Another thread of the same users."""
    return start(buyer, seller)


@pytest.fixture
def people(db) -> list[User]:
    return [make_person("Ada") for _ in range(20)]


async def in_thread(function, *arguments, **more):
    return await asyncio.to_thread(function, *arguments, **more)


# --- Costs


async def test_a_hello_costs_one_request_and_one_write_a_moment_later(buyer):
    page = Page(buyer)
    await page.connect()
    assert page.requests == ["Query"]
    await async_wait_until(lambda: len(page.requests) > 1)
    assert page.requests == ["Query", "BatchWriteItem"]
    await page.communicator.disconnect()


async def test_an_unchanged_heartbeat_costs_nothing(buyer, thread, no_threads):
    async with open_page(buyer, thread) as page:
        with page.counting() as requests, no_threads():
            for _ in range(3):
                assert (await page.ping())["pending"] == []
                page.wait_for_next_check(25)
        assert requests == []


async def test_a_heartbeat_of_a_changed_thread_costs_nothing_if_its_events_arrived(
    buyer, seller, thread, no_threads
):
    async with open_page(buyer, thread) as page:
        await in_thread(say, seller, thread)
        await page.hear("message.sent")
        await page.catch_up()
        with page.counting() as requests, no_threads():
            await page.ping()
        assert requests == []


async def test_the_first_heartbeat_reads_undelivered_threads_again(buyer, seller, thread, lost):
    async with open_page(buyer) as page:
        with page.counting() as requests:
            assert (await page.ping())["pending"] == []
        assert requests == [], "It is too early."
        with lost():
            await in_thread(say, seller, thread)
        page.socket.checked_at -= 4
        with page.counting() as requests:
            (pending,) = (await page.ping())["pending"]
        assert pending["thread"] == thread
        assert requests[0] == "Query"
        with page.counting() as requests:
            await page.ping()
        assert requests == []


async def test_no_client_can_cause_more_than_one_check_in_24_seconds(buyer, thread):
    async with open_page(buyer, thread) as page:
        with page.counting() as requests:
            for _ in range(5):
                page.socket.is_check_wanted = True
                await page.ping()
        assert requests == CHECK


async def test_a_heartbeat_takes_a_fraction_of_the_time_of_a_check(buyer, thread):
    """A ratio, since the time depends on the machine. Without I/O it is about a tenth."""
    async with open_page(buyer, thread) as page:
        cpu = {}
        for what in ("warm-up", "check", "usual"):
            started_at = time.process_time()
            for _ in range(60):
                page.wait_for_next_check()
                page.socket.is_check_wanted = what == "check"
                await page.ping()
            cpu[what] = time.process_time() - started_at
    print(f"usual {cpu['usual'] / 0.06:.2f} ms, with a check {cpu['check'] / 0.06:.2f} ms")
    assert cpu["usual"] < 0.5 * cpu["check"]
    assert cpu["usual"] / 60 < 0.002, "The test client is included."


# --- Repairs


async def assert_repaired(page: Page, expected: list[str]) -> None:
    """The next heartbeat sends what the page lacks, and the one after it costs nothing."""
    with page.counting() as requests:
        await page.ping()
        synced = await page.hear("thread.synced")
    assert [message["seq"] for message in synced["messages"]] == [page.seq + 1]
    assert requests == expected
    await page.catch_up()
    page.wait_for_next_check()
    with page.counting() as requests:
        await page.ping()
    assert requests == []


async def test_a_frame_that_a_full_queue_dropped_is_repaired(buyer, seller, thread, monkeypatch):
    async with open_page(buyer, thread) as page:
        monkeypatch.setattr(page.socket.queue, "capacity", 0)
        await in_thread(say, seller, thread)
        await async_wait_until(lambda: page.socket.queue.has_dropped)
        monkeypatch.undo()
        await assert_repaired(page, REPAIR)


async def test_a_lost_event_is_found_by_the_stored_position(buyer, seller, thread, lost):
    """No server has noticed the loss, and the cache of this one knows less than the store."""
    async with open_page(buyer, thread) as page:
        with lost():
            await in_thread(say, seller, thread)
        cache.invalidate(thread)
        with page.counting() as requests:
            await page.ping()
        assert requests == [], "Nothing tells that an event is lost."
        page.wait_for_next_check()
        with count_requests() as requests:
            await read_positions(open_sockets.all())
        assert requests == ["BatchGetItem"]
        await assert_repaired(page, REPAIR)


async def test_a_lost_change_of_a_message_is_found_by_the_stored_position(buyer, thread, lost):
    async with open_page(buyer, thread) as page:
        await page.ping()
        page.wait_for_next_check()
        (message,) = await in_thread(messages_of, thread)
        with lost():
            await in_thread(
                edit_message, buyer, thread_id=thread, message_id=message.id, body="In June?"
            )
        await read_positions(open_sockets.all())
        await page.ping()
        synced = await page.hear("thread.synced")
        assert [changed["message"] for changed in synced["changed"]] == [message.id]


async def test_a_repeated_send_makes_the_recipients_check(buyer, seller, thread, lost):
    """Its first request may have ended after the write and before the publication."""
    client_id = "0b9a2f4e-7c3d-4e1a-9f55-2d6c8b1a7e90"
    send = {"thread_id": thread, "client_id": client_id, "body": "Once"}
    async with open_page(buyer, thread) as page:
        with lost():
            await in_thread(send_message, seller, **send)
        await in_thread(send_message, seller, **send)
        await async_wait_until(lambda: page.socket.is_check_wanted)
        await assert_repaired(page, REPAIR)


async def test_a_publication_that_fails_makes_the_recipients_check(
    buyer, seller, thread, monkeypatch
):
    async with open_page(buyer, thread) as page:
        with monkeypatch.context() as patch:
            patch.setattr(events, "message_sent", lambda *_: 1 / 0)
            one = OutgoingMessage(seller, thread, "0b9a2f4e-7c3d-4e1a-9f55-2d6c8b1a7e91", "Hi", 0)
            await in_thread(send_batch, [one])
        await async_wait_until(lambda: page.socket.is_check_wanted)
        await assert_repaired(page, REPAIR)


async def test_everything_is_read_again_after_minutes(buyer, seller, thread, other, lost):
    """For losses that nothing detects, in threads that are not on the screen."""
    async with open_page(buyer, thread) as page:
        with lost():
            await in_thread(say, seller, other)
        assert (await page.ping())["pending"] == []
        page.wait_for_next_check(MAX_AGE_SECONDS)
        (pending,) = [one for one in (await page.ping())["pending"] if one["thread"] == other]
        assert pending["first_undelivered_seq"]


async def test_a_check_that_failed_is_repeated(buyer, seller, thread, lost, monkeypatch):
    async def fail(user: object) -> None:
        raise StoreUnavailable("test")

    async with open_page(buyer, thread) as page:
        with lost():
            await in_thread(say, seller, thread)
        recheck_delivery([buyer.id])
        await async_wait_until(lambda: page.socket.is_check_wanted)
        with monkeypatch.context() as patch:
            patch.setattr(heartbeat, "list_pending", fail)
            await page.say("ping", thread=thread, seq=page.seq, rev=page.rev)
            assert (await page.hear("error"))["code"] == "TRY_AGAIN"
        page.wait_for_next_check()
        await assert_repaired(page, REPAIR)


async def test_the_position_of_a_thread_of_others_is_not_read(people, thread):
    async with open_page(people[0]) as page:
        page.thread = thread
        await page.ping()
        with count_requests() as requests:
            await read_positions(open_sockets.all())
        assert requests == []


# --- For all sockets at a time


async def test_the_positions_of_many_threads_are_one_request(buyer, seller, thread, other):
    async with open_page(buyer, thread) as one, open_page(seller, other) as two:
        for page in (one, two):
            await page.ping()
        with count_requests() as requests:
            await read_positions(open_sockets.all())
        assert requests == ["BatchGetItem"]


@pytest.mark.live
async def test_presence_is_recorded_for_all_sockets(buyer, seller, thread, monkeypatch):
    async with open_page(buyer, thread), open_page(seller, thread) as page:
        ids = {user.id for user in (buyer, seller)}
        assert await presence.list_online(ids) == ids
        page.socket.active_at -= presence.EXPIRY_SECONDS
        await refresh_presence(open_sockets.all())
        page.socket.active_at += presence.EXPIRY_SECONDS
        await refresh_presence(open_sockets.all())
        assert await presence.list_online(ids) == ids


async def test_a_user_whose_server_died_is_shown_as_offline(buyer, seller, thread):
    await presence.touch(seller.id, "conn_of_a_dead_server")
    async with open_page(buyer, thread) as page:
        assert page.socket.subscriptions.online == {seller.id: True}
        await presence.remove_all([(seller.id, "conn_of_a_dead_server")])
        await refresh_presence(open_sockets.all())
        changed = await page.hear("presence.changed")
        assert (changed["user"], changed["online"]) == (seller.id, False)


async def test_an_open_connection_is_recorded_hourly(buyer, monkeypatch):
    async with open_page(buyer) as page:
        await async_wait_until(lambda: not connection_writer.is_busy)
        page.socket.recorded_at -= 3601
        with count_requests() as requests:
            for _ in range(2):
                await refresh_presence(open_sockets.all())
            await async_wait_until(lambda: requests)
            await async_wait_until(lambda: not connection_writer.is_busy)
        assert requests == ["BatchWriteItem"]


# --- Closing


async def test_sockets_that_close_together_share_their_requests(people):
    pages = [Page(user) for user in people]
    for page in pages:
        await page.connect()
    await async_wait_until(lambda: not connection_writer.is_busy)
    for page in pages:
        page.requests.clear()
    await asyncio.gather(*(page.communicator.disconnect(timeout=20) for page in pages))
    # Forty items, and the last-seen time of each user.
    requests = [request for page in pages for request in page.requests]
    assert sorted(requests) == ["BatchWriteItem"] * 2 + ["UpdateItem"] * 20


async def test_changing_to_another_page_is_neither_offline_nor_last_seen(buyer, seller, thread):
    async with open_page(seller, thread) as other:
        before, after = Page(buyer), Page(buyer)
        await before.connect()
        assert (await other.hear("presence.changed"))["online"] is True
        closing = asyncio.create_task(before.communicator.disconnect(timeout=20))
        await after.connect()
        await closing
        assert "UpdateItem" not in before.requests + after.requests
        assert await other.has_nothing_more()
        await after.communicator.disconnect(timeout=20)
        assert (await other.hear("presence.changed"))["online"] is False
        assert after.requests.count("UpdateItem") == 1
