"""Graceful shutdown: commands and requests in progress are finished, and nothing is lost."""

import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from uuid import uuid4

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from messaging_site.server.drain import run_spread
from tests.site import Client, Pair, Site, prepared_site
from tests.wait import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    return prepared_site(tmp_path_factory.mktemp("drain") / "data")


@pytest.fixture
def start(stores) -> Iterator:
    """Starts servers on the same stores, also several at a time."""
    started = []

    def start(**env: str) -> Site:
        server = Site(stores.folder, stores.env | env)
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop()


def shut_down(server: Site, number: int = signal.SIGTERM) -> None:
    server.process.send_signal(number)


def close_code(client: Client) -> int:
    try:
        while True:
            client.hear()
    except ConnectionClosed as closed:
        return code_of(closed)


def code_of(closed: ConnectionClosed) -> int:
    return closed.rcvd.code if closed.rcvd else 1006


class Sender:
    """Sends one message after the other, as fast as they are acknowledged, until disconnected."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.sent: list[str] = []
        self.acknowledged: dict[str, int] = {}
        self.code = 0

    def run(self, client: Client, *, ahead: int) -> None:
        try:
            while True:
                while len(self.sent) < len(self.acknowledged) + ahead:
                    self.sent.append(str(uuid4()))
                    client.send(self.pair.thread, f"number {len(self.sent)}", self.sent[-1])
                accepted = client.hear("message.accepted")
                self.acknowledged[accepted["client_id"]] = accepted["seq"]
        except ConnectionClosed as closed:
            self.code = code_of(closed)

    def resend_unacknowledged(self, client: Client) -> None:
        for number, client_id in enumerate(self.sent, start=1):
            if client_id not in self.acknowledged:
                client.send(self.pair.thread, f"number {number}", client_id)
                accepted = client.hear("message.accepted")
                self.acknowledged[accepted["client_id"]] = accepted["seq"]


def newest(client: Client, thread: str) -> dict:
    client.say("thread.open", thread=thread)
    return client.hear("thread.synced")["messages"][-1]


def stored(client: Client, thread: str, *, after: dict) -> list[dict]:
    found, more = [after], True
    while more:
        client.say("thread.open", thread=thread, after=found[-1]["message"])
        synced = client.hear("thread.synced")
        found += synced["messages"]
        more = synced["more"]
    return found[1:]


@pytest.mark.live
def test_no_acknowledged_message_is_lost_and_the_rest_is_stored_once_after_a_resend(start, stores):
    server = start()
    senders = [Sender(stores.pair()) for _ in range(6)]
    before = {}
    with ExitStack() as stack, ThreadPoolExecutor() as threads:
        for sender in senders:
            client = stack.enter_context(server.connect(sender.pair.buyer))
            before[sender] = newest(client, sender.pair.thread)
            threads.submit(sender.run, client, ahead=5)
        wait_until(lambda: all(len(sender.acknowledged) > 5 for sender in senders), 60)
        shut_down(server)
    assert server.process.wait(30) == 0
    assert [sender.code for sender in senders] == [1001] * len(senders)
    assert any(len(sender.acknowledged) < len(sender.sent) for sender in senders)

    another = start()
    for sender in senders:
        thread, last = sender.pair.thread, before[sender]
        with another.connect(sender.pair.buyer) as client:
            kept = {m["client_id"]: m["seq"] for m in stored(client, thread, after=last)}
            assert sender.acknowledged.items() <= kept.items()

            sender.resend_unacknowledged(client)
            after = stored(client, thread, after=last)
        assert [m["client_id"] for m in after] == sender.sent
        assert [m["seq"] - last["seq"] for m in after] == list(range(1, len(after) + 1))


def test_readiness_fails_during_the_drain_while_requests_are_still_answered(start, stores):
    server = start(PARLEY_DRAIN_SECONDS="60")
    pair = stores.pair()
    assert server.get("/readyz")[0] == 200
    shut_down(server)
    status, text = server.get("/readyz")
    assert (status, "draining" in text) == (503, True)
    assert server.get("/healthz")[0] == 200
    assert server.get(f"/threads/{pair.thread}/", pair.buyer)[0] == 200
    with pytest.raises(InvalidStatus) as refused:
        server.connect(pair.buyer)
    assert refused.value.response.status_code == 503
    assert server.process.poll() is None
    shut_down(server)
    server.process.wait(10)


def test_sockets_are_closed_one_after_the_other_during_the_drain(start, stores):
    server = start(PARLEY_DRAIN_SECONDS="6")
    pair = stores.pair()
    started_at = time.monotonic()
    closed_after = []

    def wait_for_close(client: Client) -> None:
        assert close_code(client) == 1001
        closed_after.append(time.monotonic() - started_at)

    with ExitStack() as stack, ThreadPoolExecutor(20) as threads:
        clients = [stack.enter_context(server.connect(pair.buyer)) for _ in range(20)]
        waiting = [threads.submit(wait_for_close, client) for client in clients]
        time.sleep(0.2)
        started_at = time.monotonic()
        shut_down(server)
        for one in waiting:
            one.result(30)
    assert server.process.wait(20) == 0
    early, late = sorted(closed_after)[:5], sorted(closed_after)[-5:]
    assert early[-1] < 3.0
    assert late[0] > 3.0
    assert max(closed_after) < 12.0


@pytest.mark.live
def test_a_request_in_progress_is_answered(start, stores):
    """The request is sent before the signal and answered after the server has stopped listening."""
    server = start(PARLEY_DRAIN_SECONDS="0.5")
    pair = stores.pair()
    host, port = server.address.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        head = f"GET /threads/{pair.thread}/ HTTP/1.1\r\nHost: {server.address}\r\n"
        cookie = f"Cookie: sessionid={pair.buyer.cookie}\r\n"
        connection.sendall(f"{head}{cookie}\r\n".encode())
        shut_down(server)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.rstrip().endswith((b"</html>", b"0"))
    assert server.process.wait(10) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_server_exits_quickly(start, number):
    server = start(PARLEY_DRAIN_SECONDS="0")
    shut_down(server, number)
    started_at = time.monotonic()
    assert server.process.wait(30) == 0
    assert time.monotonic() - started_at < 20


def test_a_second_signal_stops_the_process_immediately(start, stores):
    server = start(PARLEY_DRAIN_SECONDS="60")
    with server.connect(stores.pair().buyer) as client:
        client.hear("hello")
        shut_down(server)
        threading.Event().wait(0.5)
        assert server.process.poll() is None
        shut_down(server)
        assert server.process.wait(3) == 1


async def test_closing_takes_no_longer_when_the_event_loop_is_busy():
    """Each of the fifty actions takes 20 ms: one second of work within the period."""
    closed_at: list[float] = []

    def close() -> None:
        closed_at.append(time.monotonic())
        time.sleep(0.02)  # noqa: ASYNC251

    started_at = time.monotonic()
    await run_spread([close] * 50, 1.5)
    assert len(closed_at) == 50
    assert closed_at[-1] - closed_at[0] > 1.0, "All were closed at once."
    assert time.monotonic() - started_at < 2.2
