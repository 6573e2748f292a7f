"""A client that does not read affects only itself, and receives everything after it reconnects."""

import asyncio
import os
import socket
from uuid import uuid4

import pytest
from django.conf import settings
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from realtime.broadcast.channel_layer import ChannelLayer
from tests.site import Client
from tests.wait import wait_until

pytestmark = pytest.mark.slow

LONG = "x" * 7_900


def stalled_client(site, account) -> Client:
    """Connects with a small receive window and queue, and reads nothing."""
    host, port = site.address.split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
    connection.connect((host, int(port)))
    opened = connect(
        f"ws://{site.address}/ws/",
        sock=connection,
        origin=site.url,
        additional_headers={"Cookie": f"sessionid={account.cookie}"},
        max_size=None,
        max_queue=1,
        ping_interval=None,
    )
    return Client(opened.__enter__())


def test_a_stalled_client_is_dropped_and_catches_up_after_it_reconnects(site, pair):
    with site.connect(pair.buyer) as buyer, site.connect(pair.seller) as active:
        stalled = stalled_client(site, pair.seller)
        first = None
        for number in range(250):
            buyer.send(pair.thread, f"{number} {LONG}")
            accepted = buyer.hear("message.accepted")
            first = first or accepted
            received = active.hear("message.sent")
            assert received["seq"] == accepted["seq"], "The active client receives every message."
        wait_until_dropped(site)
        assert is_closed(stalled)
        received_events = [e for e in stalled.heard if e["type"] == "message.sent"]
        assert len(received_events) < 250
    with site.connect(pair.seller) as reconnected:
        found, more = (
            [received_events[-1]["message"] if received_events else first["message"]],
            True,
        )
        while more:
            reconnected.say("thread.open", thread=pair.thread, after=found[-1])
            synced = reconnected.hear("thread.synced", "error")
            assert synced["type"] == "thread.synced", synced
            found += [message["message"] for message in synced["messages"]]
            more = synced["more"]
    assert found[-1] == accepted["message"]
    assert len(found) - 1 == accepted["seq"] - (
        received_events[-1]["seq"] if received_events else first["seq"]
    )


def wait_until_dropped(site) -> None:
    wait_until(lambda: "slow_reader_dropped" in site.logs(), 20, interval=0.2)


def is_closed(client: Client) -> bool:
    """Reads the events that arrived before the close, then whether the socket is closed."""
    try:
        while True:
            client.hear(timeout=5)
    except ConnectionClosed:
        return True
    except TimeoutError:
        return False


@pytest.fixture(params=["memory", "Redis"])
def layer(request):
    if request.param == "memory":
        return ChannelLayer(capacity=50)
    url = os.environ["PARLEY_TEST_REDIS_URL"]
    return ChannelLayer(capacity=50, url=url, prefix=f"slow-{uuid4().hex}")


async def test_a_full_channel_loses_only_its_own_frames(layer):
    stalled, active = await layer.new_channel(), await layer.new_channel()
    for channel in (stalled, active):
        await layer.group_add("user.mara", channel)
    received = []
    # The active channel is read after every send, as by a socket; the stalled one is not.
    for number in range(200):
        await layer.group_send("user.mara", {"type": "tell", "number": number})
        received.append((await layer.receive(active))["number"])
    assert received == list(range(200))
    kept = [(await layer.receive(stalled))["number"] for _ in range(50)]
    assert kept in (list(range(50)), list(range(150, 200))), (
        "The kept frames are consecutive and in order."
    )
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(layer.receive(stalled), 0.2)


async def test_a_forgotten_channel_does_not_affect_others(layer):
    forgotten, open_channel = await layer.new_channel(), await layer.new_channel()
    for channel in (forgotten, open_channel):
        await layer.group_add("user.mara", channel)
    layer.remove_channel(forgotten)
    await layer.group_send("user.mara", {"type": "tell", "number": 1})
    assert (await layer.receive(open_channel))["number"] == 1
    layer.remove_channel(open_channel)
    assert not layer.groups
    await layer.group_add("user.mara", forgotten)
    assert not layer.groups, "A forgotten channel cannot join a group."


def test_the_channel_capacity_is_the_documented_one():
    layer = settings.CHANNEL_LAYERS["default"]
    assert layer["CONFIG"]["capacity"] == settings.CHANNEL_CAPACITY == 1500
