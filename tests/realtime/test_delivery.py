"""Delivery of events to a socket: immediate where possible, without affecting other sockets."""

import asyncio
import os
from uuid import uuid4

import pytest
from channels.layers import InMemoryChannelLayer

from realtime.broadcast import layer_adapter
from realtime.broadcast.channel_layer import ChannelLayer, ChannelQueue
from realtime.broadcast.delivery import BROADCAST, ORIGIN, group_of, list_reachable
from realtime.sockets.consumers import MessagingConsumer
from realtime.sockets.subscriptions import PresenceSubscriptions


def consumer_with_writer(write) -> MessagingConsumer:
    socket = MessagingConsumer()
    socket.queue, socket.dispatch_lock, socket.queue_task = ChannelQueue(10), asyncio.Lock(), None
    socket.subscriptions, socket.write = PresenceSubscriptions(), write
    socket.queue.on_put = socket._drain_queue
    return socket


def broadcast_event(number: int) -> dict:
    event = {"type": "inbox.changed", "thread": "thrd_x", "number": number}
    return {"type": BROADCAST, "event": event, "origin": ORIGIN, "text": str(number)}


async def test_an_event_that_can_be_written_needs_no_task():
    written = []
    socket = consumer_with_writer(lambda text: written.append(text) or True)
    for number in range(3):
        socket.queue.put(broadcast_event(number))
    assert (written, socket.queue_task) == (["0", "1", "2"], None)


async def test_events_are_queued_in_order_during_a_command_and_while_the_socket_cannot_write():
    sent, written, can_write = [], [], False
    socket = consumer_with_writer(lambda text: can_write and (written.append(text) or True))

    async def send(text_data: str) -> None:
        sent.append(text_data)

    socket.send = send
    await socket.dispatch_lock.acquire()
    can_write = True
    socket.queue.put(broadcast_event(0))
    socket.queue.put(broadcast_event(1))
    assert (sent, written) == ([], [])
    socket.dispatch_lock.release()
    await socket.queue_task
    can_write = False
    socket.queue.put(broadcast_event(2))
    await socket.queue_task
    can_write = True
    socket.queue.put(broadcast_event(3))
    assert (sent, written) == (["0", "1", "2"], ["3"])


async def test_a_failing_socket_is_closed_and_does_not_raise_to_the_publisher():
    closed = []

    def fail(text: str) -> bool:
        raise RuntimeError("broken")

    async def close(code: int) -> None:
        closed.append(code)

    async def send(text_data: str) -> None:
        raise RuntimeError("broken")

    socket = consumer_with_writer(fail)
    socket.close, socket.send = close, send
    socket.queue.put(broadcast_event(0))
    await socket.queue_task
    assert closed == [1011]
    assert not socket.queue.messages


@pytest.fixture
def use_layer(monkeypatch):
    def use(layer):
        monkeypatch.setattr(layer_adapter, "get_channel_layer", lambda: layer)
        return layer

    return use


async def connect(layer, user_id: str) -> None:
    await layer.group_add(group_of(user_id), await layer.new_channel())


async def test_only_users_with_a_connection_are_reachable(use_layer):
    layer = use_layer(ChannelLayer(capacity=10))
    await connect(layer, "mara")
    assert list_reachable(["mara", "otto"]) == ["mara"]


async def test_users_may_be_connected_to_another_process(use_layer, monkeypatch):
    url, prefix = os.environ["PARLEY_TEST_REDIS_URL"], f"reach-{uuid4().hex}"
    layer = use_layer(ChannelLayer(capacity=10, url=url, prefix=prefix))
    # A management command: its events are published even if it knows nobody.
    assert list_reachable(["mara", "otto"]) == ["mara", "otto"]
    await connect(layer, "mara")
    published = layer._bus._number
    assert list_reachable(["mara", "otto"]) == ["mara"]
    await asyncio.sleep(0)
    assert layer._bus._number == published + 1, "What was left out is counted."
    monkeypatch.setattr(layer._bus, "is_only_process", False)
    assert list_reachable(["mara", "otto"]) == ["mara", "otto"]
    layer._bus._task.cancel()


async def test_all_users_are_reachable_on_a_layer_that_cannot_tell(use_layer):
    use_layer(InMemoryChannelLayer())
    assert list_reachable(["mara", "otto"]) == ["mara", "otto"]
