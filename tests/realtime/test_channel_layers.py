"""The consumer works on channel layers of other packages, not only on our own."""

import asyncio
import json
import os
from collections.abc import Iterator
from uuid import uuid4

import pytest
from channels.layers import InMemoryChannelLayer
from websockets.exceptions import ConnectionClosed

from realtime.broadcast import layer_adapter
from realtime.broadcast.channel_layer import ChannelLayer
from realtime.broadcast.layer_adapter import Publisher, channel_queue
from tests.realtime.test_live_events import (
    FIELDS,
    connected,
    event_types_until,
    open_and_receive_presence,
    open_thread,
    send_message,
)
from tests.realtime.visitor import Visitor
from tests.site import Site, prepared_site
from tests.wait import async_wait_until

OURS = {"BACKEND": "realtime.broadcast.channel_layer.ChannelLayer", "CONFIG": {"capacity": 1500}}
IN_MEMORY = {
    "BACKEND": "channels.layers.InMemoryChannelLayer",
    "CONFIG": {"capacity": 1500},
}


def redis_pubsub() -> dict:
    # redis-py's default is 5 s, which is as long as blocking reads of channels_redis take.
    host = {"address": os.environ["PARLEY_TEST_REDIS_URL"], "socket_timeout": 60}
    config = {"hosts": [host], "prefix": f"layers-{uuid4().hex}"}
    return {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": config}


LAYERS = {"ours": lambda: OURS, "in memory": lambda: IN_MEMORY, "Redis pubsub": redis_pubsub}


def site_on(layer: dict, folder) -> Site:
    site = prepared_site(folder)
    site.env["DJANGO_SETTINGS_MODULE"] = "tests.layer_settings"
    site.env["PARLEY_TEST_CHANNEL_LAYER"] = json.dumps(layer)
    return site


@pytest.fixture(scope="module", params=LAYERS)
def site(request, tmp_path_factory) -> Iterator[Site]:
    site = site_on(LAYERS[request.param](), tmp_path_factory.mktemp("layer") / "data")
    site.start()
    yield site
    site.stop()


slow = pytest.mark.slow


@slow
def test_a_message_reaches_the_other_user_and_every_device(site, pair):
    with (
        connected(site, pair.buyer) as desk,
        connected(site, pair.buyer) as phone,
        connected(site, pair.seller) as seller,
    ):
        assert open_thread(desk, pair.thread)["messages"]
        sent = send_message(desk, pair.thread, "On any layer")
        for client in (phone, seller):
            assert client.hear("message.sent") == sent
        assert sent["body"] == "On any layer"


@slow
def test_messages_arrive_in_order(site, pair):
    with connected(site, pair.buyer) as buyer, connected(site, pair.seller) as seller:
        for number in range(60):
            buyer.send(pair.thread, f"number {number}")
        received_events = [seller.hear("message.sent") for _ in range(60)]
    assert [event["body"] for event in received_events] == [
        f"number {number}" for number in range(60)
    ]
    seqs = [event["seq"] for event in received_events]
    assert seqs == list(range(seqs[0], seqs[0] + 60))


@slow
def test_a_read_cursor_reaches_the_sender(site, pair):
    with connected(site, pair.buyer) as buyer, connected(site, pair.seller) as seller:
        sent = send_message(buyer, pair.thread, "Read me")
        seller.hear("message.sent")
        fields = {name: sent[name] for name in FIELDS}
        seller.say("thread.mark_read", thread=pair.thread, **fields)
        cursor = buyer.hear("cursor.moved")
    assert (cursor["thread"], cursor["user"]) == (pair.thread, pair.seller.id)


@slow
def test_typing_and_presence_reach_those_who_have_the_thread_open(site, pair):
    with connected(site, pair.buyer) as buyer:
        assert [event["online"] for event in open_and_receive_presence(buyer, pair.thread)] == [
            False
        ]
        with connected(site, pair.seller) as seller:
            assert buyer.hear("presence.changed")["online"]
            open_and_receive_presence(seller, pair.thread)
            seller.say("typing.start", thread=pair.thread)
            assert buyer.hear("typing.started")["user"] == pair.seller.id
            buyer.say("thread.close", thread=pair.thread)
            buyer.say("ping")
            buyer.hear("pong")
            seller.say("typing.start", thread=pair.thread)
            send_message(seller, pair.thread, "The end")
            assert "typing.started" not in event_types_until(buyer, "The end")


@slow
def test_signing_out_closes_the_sockets_of_that_session(site, pair):
    with connected(site, pair.buyer) as buyer, connected(site, pair.seller) as seller:
        assert Visitor.of(site, pair.buyer).post("/accounts/logout/")[0] == 302
        with pytest.raises(ConnectionClosed) as closed:
            buyer.hear("nothing")
        assert closed.value.rcvd.code == 4401
        send_message(seller, pair.thread, "Still connected")


@slow
def test_a_closed_socket_is_removed_from_its_groups(site, pair):
    """After many sockets were opened and closed, the remaining ones receive each event once."""
    with connected(site, pair.seller) as seller:
        for _ in range(10):
            with connected(site, pair.buyer) as buyer:
                open_and_receive_presence(buyer, pair.thread)
        with connected(site, pair.buyer) as buyer:
            sent = send_message(buyer, pair.thread, "Once")
        assert seller.hear("message.sent") == sent
        with connected(site, pair.buyer) as buyer:
            send_message(buyer, pair.thread, "Then this")
        assert event_types_until(seller, "Then this").count("message.sent") == 1


@slow
def test_two_processes_share_a_layer_on_redis(tmp_path):
    site = site_on(redis_pubsub(), tmp_path / "data")
    site.start()
    try:
        pair = site.pair()
        with (
            site.another() as other,
            connected(site, pair.buyer) as buyer,
            connected(other, pair.seller) as seller,
        ):
            sent = send_message(buyer, pair.thread, "Across")
            assert seller.hear("message.sent") == sent
            site.manage("shell", "-c", COMMAND.format(user=pair.seller.id))
            assert seller.hear("draft.changed")["thread"] == "thrd_x"
    finally:
        site.stop()


# A process without an event loop can publish as well.
COMMAND = """
from realtime.broadcast.delivery import publish
publish({{"type": "draft.changed", "thread": "thrd_x"}}, to=["{user}"])
"""


# --- Without a server


async def received(layer, count: int) -> list:
    channel = await layer.new_channel()
    with channel_queue(layer, channel) as queue:
        await layer.group_add("user.mara", channel)
        for number in range(count):
            await layer.group_send("user.mara", {"type": "tell", "number": number})
        await async_wait_until(lambda: len(queue.messages) == count)
        return [message["number"] for message in queue.messages]


@pytest.mark.parametrize("layer", [ChannelLayer, InMemoryChannelLayer])
async def test_a_queue_holds_what_its_channel_receives(layer):
    assert await received(layer(capacity=20), 20) == list(range(20))


async def test_a_layer_that_fails_is_read_again(monkeypatch):
    class Failing(InMemoryChannelLayer):
        failures = 2

        async def receive(self, channel):
            if self.failures:
                self.failures -= 1
                raise ConnectionError("The layer is away.")
            return await super().receive(channel)

    monkeypatch.setattr(layer_adapter, "RETRY_SECONDS", 0.01)
    assert await received(Failing(), 3) == [0, 1, 2]


async def test_publishing_from_many_threads_keeps_the_order_of_each():
    layer, publisher = InMemoryChannelLayer(capacity=1000), Publisher()
    publisher.loop = asyncio.get_running_loop()
    channel = await layer.new_channel()
    await layer.group_add("user.mara", channel)

    def publish(thread: int) -> None:
        for number in range(50):
            publisher.publish(layer, ["user.mara"], {"type": "tell", "of": (thread, number)})

    await asyncio.gather(*(asyncio.to_thread(publish, thread) for thread in range(4)))
    found = [(await layer.receive(channel))["of"] for _ in range(200)]
    for thread in range(4):
        assert [number for one, number in found if one == thread] == list(range(50))


async def test_a_layer_that_refuses_a_message_gets_the_next_one():
    class Refusing(InMemoryChannelLayer):
        async def group_send(self, group, message):
            if message["number"] == 0:
                raise ConnectionError("The layer is away.")
            await super().group_send(group, message)

    layer, publisher = Refusing(), Publisher()
    publisher.loop = asyncio.get_running_loop()
    channel = await layer.new_channel()
    await layer.group_add("user.mara", channel)
    for number in range(2):
        publisher.publish(layer, ["user.mara"], {"type": "tell", "number": number})
    assert (await layer.receive(channel))["number"] == 1
