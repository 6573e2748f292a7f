"""Connections to the store, against servers that fail in different ways."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError
from django.conf import settings

from threads.dynamodb.client import SyncClient
from threads.dynamodb.retry import time_budget
from threads.dynamodb.signing import Signer
from threads.dynamodb.store import Store, StoreUnavailable


def _answer(status: int, body: bytes) -> bytes:
    return b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


OK = b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\nDate: now\r\n\r\n{"Item":{}}'
BROKEN = b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n{}"
REFUSED = _answer(400, b'{"__type":"com.amazonaws#ValidationException","message":"Not so."}')
THROTTLED = _answer(
    400, b'{"__type":"com.amazonaws#ProvisionedThroughputExceededException","message":"Slow down"}'
)
DISCONNECT, NO_ANSWER = b"", None


class Server:
    """Answers each request with the next of its answers and counts connections."""

    def __init__(self, answers: list[bytes | None]) -> None:
        self.answers, self.requests, self.connections = answers, [], 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Ends accept() before the listener's file descriptor can be reused by the next server."""
        self.stopped.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._handle, args=[peer], daemon=True).start()

    def _handle(self, peer: socket.socket) -> None:
        with closing(peer):
            while request := peer.recv(65536):
                self.requests.append(request)
                answer = self.answers.pop(0)
                if answer is NO_ANSWER:
                    self.stopped.wait(10)
                if not answer:
                    return
                # An answer arrives in two pieces, as on real networks.
                peer.sendall(answer[:30])
                time.sleep(0.01)
                peer.sendall(answer[30:])


@pytest.fixture
def serve() -> Iterator:
    servers = []

    def create(*answers: bytes | None) -> Server:
        servers.append(Server(list(answers)))
        return servers[-1]

    yield create
    for server in servers:
        server.stop()


class Caller:
    """Sends requests synchronously or on the event loop."""

    def __init__(self, url: str, read_timeout: float, *, on_loop: bool) -> None:
        timeouts = {"connect_timeout": 1, "read_timeout": read_timeout}
        self.client = SyncClient(region="eu-central-1", endpoint=url, **timeouts)
        self.store = Store(self.client, region="eu-central-1", endpoint=url)
        self.on_loop = self.store._async_client
        self.loop = asyncio.new_event_loop() if on_loop else None

    def call(self, operation: str, arguments: dict) -> dict:
        if self.loop is None:
            return self.store._make_api_call(operation, arguments)
        return self.loop.run_until_complete(self.store.call_async(operation, arguments))


@pytest.fixture(params=["waiting", "on the loop"])
def client_of(request) -> Iterator:
    callers = []

    def create(url: str, read_timeout: float = 2.0) -> Caller:
        callers.append(Caller(url, read_timeout, on_loop=request.param == "on the loop"))
        return callers[-1]

    yield create
    for caller in callers:
        if caller.loop:
            for connection in caller.on_loop._idle:
                connection.close()
            caller.loop.run_until_complete(asyncio.sleep(0))
            caller.loop.close()


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.0)


def get(caller: Caller) -> dict:
    return caller.call("GetItem", {"TableName": "parley"})


def test_one_connection_serves_many_requests(serve, client_of):
    server = serve(OK, OK, OK)
    client = client_of(server.url)
    for _ in range(3):
        assert get(client)["Item"] == {}
    assert (server.connections, len(server.requests)) == (1, 3)


def test_the_answer_has_the_date_of_the_store(serve, client_of):
    answer = get(client_of(serve(OK).url))
    assert answer["ResponseMetadata"]["HTTPHeaders"]["date"] == "now"


def test_a_closed_connection_is_replaced_without_repeating_the_request(serve, client_of):
    server = serve(OK.replace(b"Date: now", b"Connection: close"), OK)
    client = client_of(server.url)
    get(client)
    get(client)
    assert (server.connections, len(server.requests)) == (2, 2)


@pytest.mark.parametrize("failure", [DISCONNECT, BROKEN, THROTTLED])
def test_a_transient_failure_is_retried(serve, client_of, failure):
    server = serve(failure, failure, failure, OK)
    assert get(client_of(server.url))["Item"] == {}
    assert len(server.requests) == 4


@pytest.mark.parametrize("failure", [DISCONNECT, BROKEN, THROTTLED])
def test_retries_end_at_the_deadline(serve, client_of, no_retries, failure):
    server = serve(failure, OK)
    with pytest.raises(StoreUnavailable):
        get(client_of(server.url))
    assert len(server.requests) == 1


@pytest.mark.parametrize("failure", [DISCONNECT, BROKEN])
def test_an_add_update_with_unknown_outcome_is_not_retried(serve, client_of, failure):
    server = serve(failure, OK)
    with pytest.raises(StoreUnavailable):
        client_of(server.url).call("UpdateItem", {"UpdateExpression": "ADD #0 :0"})
    assert len(server.requests) == 1


def test_a_throttled_add_update_is_retried(serve, client_of):
    server = serve(THROTTLED, OK)
    client_of(server.url).call("UpdateItem", {"UpdateExpression": "ADD #0 :0"})
    assert len(server.requests) == 2


def test_a_set_update_is_retried(serve, client_of):
    server = serve(DISCONNECT, OK)
    client_of(server.url).call("UpdateItem", {"UpdateExpression": "SET #0 = :0"})
    assert len(server.requests) == 2


def test_two_requests_in_one_time_budget_share_the_deadline(serve, client_of):
    server = serve(*[THROTTLED] * 100)
    client = client_of(server.url)
    begun = time.monotonic()
    with time_budget(0.2):
        for _ in range(5):
            with pytest.raises(StoreUnavailable):
                get(client)
    assert time.monotonic() - begun < 1.0
    # Each later request is tried once: the deadline limits retries only.
    assert len(server.requests) >= 5


def test_a_retried_transaction_has_the_same_token(serve, client_of):
    server = serve(DISCONNECT, OK)
    client_of(server.url).call("TransactWriteItems", {"TransactItems": []})
    first, second = (request.partition(b"\r\n\r\n")[2] for request in server.requests)
    assert first == second
    assert b"ClientRequestToken" in first


def test_a_client_error_is_raised_without_a_retry(serve, client_of):
    server = serve(REFUSED, OK)
    with pytest.raises(ClientError) as error:
        get(client_of(server.url))
    assert error.value.response["Error"]["Code"] == "ValidationException"
    assert len(server.requests) == 1


def test_a_missing_answer_times_out(serve, client_of, no_retries):
    begun = time.monotonic()
    with pytest.raises(StoreUnavailable, match="TRY_AGAIN"):
        get(client_of(serve(NO_ANSWER).url, read_timeout=0.3))
    assert time.monotonic() - begun < 5


def test_a_connection_that_timed_out_is_not_reused(serve, client_of):
    """Its late answer would be read as the answer to another request."""
    server = serve(NO_ANSWER, OK)
    caller = client_of(server.url, read_timeout=0.3)
    assert get(caller)["Item"] == {}
    assert server.connections == 2


def test_an_unreachable_endpoint_is_reported(client_of, no_retries):
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(StoreUnavailable) as error:
        get(client_of(f"http://127.0.0.1:{port}"))
    assert error.value.reason == "EndpointConnectionError"


@pytest.mark.parametrize("token", ["", "a token of a role"])
def test_signatures_equal_those_of_botocore(token, monkeypatch):
    signer = Signer("eu-west-1", "dynamodb.eu-west-1.amazonaws.com")
    credentials = Credentials("AKIDEXAMPLE", "secret", token or None)
    body = b'{"TableName":"parley"}'
    head, _, sent = signer.sign("GetItem", body, credentials).partition(b"\r\n\r\n")
    assert sent == body
    first, *lines = head.decode().split("\r\n")
    assert first == "POST / HTTP/1.1"
    ours = dict(line.split(":", 1) for line in lines)
    signed = {name: ours[name] for name in ("content-type", "x-amz-target")}
    request = AWSRequest("POST", f"https://{ours['host']}/", data=body, headers=signed)
    auth = SigV4Auth(credentials, "dynamodb", "eu-west-1")
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: moment(ours["x-amz-date"]))
    auth.add_auth(request)
    assert ours["authorization"] == request.headers["Authorization"]


def moment(text: str):
    from datetime import UTC, datetime

    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
