"""A socket that is told something: at once where it can be, and never at the cost of others."""

import asyncio

from realtime.broadcast.channel_layer import ChannelQueue
from realtime.broadcast.delivery import BROADCAST, ORIGIN
from realtime.sockets.consumers import MessagingConsumer
from realtime.sockets.subscriptions import PresenceSubscriptions


def socket_that(write) -> MessagingConsumer:
    socket = MessagingConsumer()
    socket.queue, socket.dispatch_lock, socket.queue_task = ChannelQueue(10), asyncio.Lock(), None
    socket.subscriptions, socket.write = PresenceSubscriptions(), write
    socket.queue.on_put = socket._drain_queue
    return socket


def told(number: int) -> dict:
    event = {"type": "inbox.changed", "thread": "thrd_x", "number": number}
    return {"type": BROADCAST, "event": event, "origin": ORIGIN, "text": str(number)}


async def test_what_can_be_written_needs_no_task():
    written = []
    socket = socket_that(lambda text: written.append(text) or True)
    for number in range(3):
        socket.queue.put(told(number))
    assert (written, socket.queue_task) == (["0", "1", "2"], None)


async def test_while_it_is_at_a_command_and_while_it_cannot_write_it_waits_in_order():
    said, written, can_write = [], [], False
    socket = socket_that(lambda text: can_write and (written.append(text) or True))

    async def send(text_data: str) -> None:
        said.append(text_data)

    socket.send = send
    await socket.dispatch_lock.acquire()
    can_write = True
    socket.queue.put(told(0))
    socket.queue.put(told(1))
    assert (said, written) == ([], [])
    socket.dispatch_lock.release()
    await socket.queue_task
    can_write = False
    socket.queue.put(told(2))
    await socket.queue_task
    can_write = True
    socket.queue.put(told(3))
    assert (said, written) == (["0", "1", "2"], ["3"])


async def test_a_socket_that_breaks_disturbs_nobody_who_tells_and_is_closed():
    closed = []

    def break_down(text: str) -> bool:
        raise RuntimeError("broken")

    async def close(code: int) -> None:
        closed.append(code)

    async def send(text_data: str) -> None:
        raise RuntimeError("broken")

    socket = socket_that(break_down)
    socket.close, socket.send = close, send
    socket.queue.put(told(0))
    await socket.queue_task
    assert closed == [1011]
    assert not socket.queue.messages
