"""The slow network of the bench has the delay and the bandwidth that it is given."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from tests.bench.slow_network import SlowNetwork

ROUND_TRIP = 0.1


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that returns what it receives."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                while data := peer.recv(65536):
                    peer.sendall(data)

        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]


def exchange(client: socket.socket, size: int) -> float:
    """The seconds until everything that was sent is back."""
    started_at = time.monotonic()
    client.sendall(b"x" * size)
    left = size
    while left:
        left -= len(client.recv(65536))
    return time.monotonic() - started_at


def test_a_request_takes_a_round_trip_and_its_connection_another(echo):
    with (
        SlowNetwork(ROUND_TRIP, download=1e9, upload=1e9).to(echo) as port,
        socket.create_connection(("127.0.0.1", port)) as client,
    ):
        assert exchange(client, 1) >= 2 * ROUND_TRIP
        assert exchange(client, 1) >= ROUND_TRIP


def test_the_bandwidth_is_limited_in_each_direction(echo):
    with (
        SlowNetwork(0, download=50_000, upload=1e9).to(echo) as port,
        socket.create_connection(("127.0.0.1", port)) as client,
    ):
        assert exchange(client, 25_000) >= 0.5
