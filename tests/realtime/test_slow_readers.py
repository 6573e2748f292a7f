"""A client that does not read hurts only itself, and lacks nothing when it comes back."""

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

pytestmark = [pytest.mark.live, pytest.mark.slow]

LONG = "x" * 7_900


def sleeping_client(site, account) -> Client:
    """Reads its hello, then nothing: its window is small, and its own queue is, too."""
    host, port = site.address.split(":")
    plug = socket.socket()
    plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 * 1024)
    plug.connect((host, int(port)))
    opened = connect(
        f"ws://{site.address}/ws/",
        sock=plug,
        origin=site.url,
        additional_headers={"Cookie": f"sessionid={account.cookie}"},
        max_size=None,
        max_queue=1,
        ping_interval=None,
    )
    return Client(opened.__enter__())


def test_a_reader_who_sleeps_is_dropped_and_finds_everything_when_it_is_back(site, pair):
    with site.connect(pair.buyer) as buyer, site.connect(pair.seller) as awake:
        asleep = sleeping_client(site, pair.seller)
        first = None
        for number in range(250):
            buyer.send(pair.thread, f"{number} {LONG}")
            accepted = buyer.hear("message.accepted")
            first = first or accepted
            heard = awake.hear("message.sent")
            assert heard["seq"] == accepted["seq"], "Whoever is awake lacks nothing."
        wait_until_dropped(site)
        assert is_closed(asleep)
        got = [e for e in asleep.heard if e["type"] == "message.sent"]
        assert len(got) < 250
    with site.connect(pair.seller) as back:
        found, more = [got[-1]["message"] if got else first["message"]], True
        while more:
            back.say("thread.open", thread=pair.thread, after=found[-1])
            synced = back.hear("thread.synced", "error")
            assert synced["type"] == "thread.synced", synced
            found += [message["message"] for message in synced["messages"]]
            more = synced["more"]
    assert found[-1] == accepted["message"]
    assert len(found) - 1 == accepted["seq"] - (got[-1]["seq"] if got else first["seq"])


def wait_until_dropped(site) -> None:
    wait_until(lambda: "slow_reader_dropped" in site.logs(), 20, interval=0.2)


def is_closed(client: Client) -> bool:
    """It first finds what had reached it before."""
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


async def test_a_full_channel_loses_frames_of_its_own_and_of_nobody_else(layer):
    asleep, awake = await layer.new_channel(), await layer.new_channel()
    for channel in (asleep, awake):
        await layer.group_add("user.mara", channel)
    heard = []
    # Somebody always waits, as every socket does; the one that sleeps is busy elsewhere.
    for number in range(200):
        await layer.group_send("user.mara", {"type": "tell", "number": number})
        heard.append((await layer.receive(awake))["number"])
    assert heard == list(range(200))
    kept = [(await layer.receive(asleep))["number"] for _ in range(50)]
    assert kept in (list(range(50)), list(range(150, 200))), "A whole run of them, in order."
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(layer.receive(asleep), 0.2)


async def test_a_socket_that_went_without_goodbye_is_in_nobodys_way(layer):
    gone, there = await layer.new_channel(), await layer.new_channel()
    for channel in (gone, there):
        await layer.group_add("user.mara", channel)
    layer.forget(gone)
    await layer.group_send("user.mara", {"type": "tell", "number": 1})
    assert (await layer.receive(there))["number"] == 1
    layer.forget(there)
    assert not layer.groups
    await layer.group_add("user.mara", gone)
    assert not layer.groups, "Whoever joins too late joins nothing."


def test_the_service_has_the_capacity_that_the_page_about_the_protocol_names():
    layer = settings.CHANNEL_LAYERS["default"]
    assert layer["CONFIG"]["capacity"] == settings.CHANNEL_CAPACITY == 1500
