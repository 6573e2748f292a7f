"""The way to the store, against servers that do what servers do on bad days."""

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
HANG_UP, SAY_NOTHING = b"", None


class Server:
    """Answers each request with the next of its answers; every connection is counted."""

    def __init__(self, answers: list[bytes | None]) -> None:
        self.answers, self.requests, self.connections = answers, [], 0
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.over = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listening.getsockname()[1]}"

    def _serve(self) -> None:
        while True:
            try:
                plug, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=[plug], daemon=True).start()

    def _talk(self, plug: socket.socket) -> None:
        with closing(plug):
            while request := plug.recv(65536):
                self.requests.append(request)
                answer = self.answers.pop(0)
                if answer is SAY_NOTHING:
                    self.over.wait(10)
                if not answer:
                    return
                # In two pieces, as networks do.
                plug.sendall(answer[:30])
                time.sleep(0.01)
                plug.sendall(answer[30:])


@pytest.fixture
def serve() -> Iterator:
    servers = []

    def begin(*answers: bytes | None) -> Server:
        servers.append(Server(list(answers)))
        return servers[-1]

    yield begin
    for server in servers:
        server.over.set()
        server.listening.close()


class Asker:
    """Asks as somebody does who waits, or as the event loop does."""

    def __init__(self, url: str, read_timeout: float, *, on_loop: bool) -> None:
        timeouts = {"connect_timeout": 1, "read_timeout": read_timeout}
        self.client = SyncClient(region="eu-central-1", endpoint=url, **timeouts)
        self.store = Store(self.client, region="eu-central-1", endpoint=url)
        self.on_loop = self.store._client_on_loop
        self.loop = asyncio.new_event_loop() if on_loop else None

    def ask(self, operation: str, arguments: dict) -> dict:
        if self.loop is None:
            return self.store._make_api_call(operation, arguments)
        return self.loop.run_until_complete(self.store.ask(operation, arguments))


@pytest.fixture(params=["waiting", "on the loop"])
def client_of(request) -> Iterator:
    askers = []

    def begin(url: str, read_timeout: float = 2.0) -> Asker:
        askers.append(Asker(url, read_timeout, on_loop=request.param == "on the loop"))
        return askers[-1]

    yield begin
    for asker in askers:
        if asker.loop:
            for line in asker.on_loop._idle:
                line.close()
            asker.loop.run_until_complete(asyncio.sleep(0))
            asker.loop.close()


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.0)


def get(asker: Asker) -> dict:
    return asker.ask("GetItem", {"TableName": "parley"})


def test_one_connection_serves_many_requests(serve, client_of):
    server = serve(OK, OK, OK)
    client = client_of(server.url)
    for _ in range(3):
        assert get(client)["Item"] == {}
    assert (server.connections, len(server.requests)) == (1, 3)


def test_the_answer_comes_with_the_stores_own_time(serve, client_of):
    answer = get(client_of(serve(OK).url))
    assert answer["ResponseMetadata"]["HTTPHeaders"]["date"] == "now"


def test_a_connection_that_was_closed_meanwhile_is_replaced_without_asking_twice(serve, client_of):
    server = serve(OK.replace(b"Date: now", b"Connection: close"), OK)
    client = client_of(server.url)
    get(client)
    get(client)
    assert (server.connections, len(server.requests)) == (2, 2)


@pytest.mark.parametrize("failure", [HANG_UP, BROKEN, THROTTLED])
def test_retries_a_transient_failure(serve, client_of, failure):
    server = serve(failure, failure, failure, OK)
    assert get(client_of(server.url))["Item"] == {}
    assert len(server.requests) == 4


@pytest.mark.parametrize("failure", [HANG_UP, BROKEN, THROTTLED])
def test_gives_up_at_the_deadline(serve, client_of, no_retries, failure):
    server = serve(failure, OK)
    with pytest.raises(StoreUnavailable):
        get(client_of(server.url))
    assert len(server.requests) == 1


@pytest.mark.parametrize("failure", [HANG_UP, BROKEN])
def test_does_not_repeat_an_update_that_adds_when_it_may_have_been_done(serve, client_of, failure):
    server = serve(failure, OK)
    with pytest.raises(StoreUnavailable):
        client_of(server.url).ask("UpdateItem", {"UpdateExpression": "ADD #0 :0"})
    assert len(server.requests) == 1


def test_repeats_an_update_that_adds_when_it_was_throttled(serve, client_of):
    server = serve(THROTTLED, OK)
    client_of(server.url).ask("UpdateItem", {"UpdateExpression": "ADD #0 :0"})
    assert len(server.requests) == 2


def test_repeats_an_update_that_sets(serve, client_of):
    server = serve(HANG_UP, OK)
    client_of(server.url).ask("UpdateItem", {"UpdateExpression": "SET #0 = :0"})
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
    # Each of the later ones is tried once: only retries need time.
    assert len(server.requests) >= 5


def test_a_second_attempt_at_a_transaction_has_the_token_of_the_first(serve, client_of):
    server = serve(HANG_UP, OK)
    client_of(server.url).ask("TransactWriteItems", {"TransactItems": []})
    first, second = (request.partition(b"\r\n\r\n")[2] for request in server.requests)
    assert first == second
    assert b"ClientRequestToken" in first


def test_a_refusal_is_not_repeated_and_says_why(serve, client_of):
    server = serve(REFUSED, OK)
    with pytest.raises(ClientError) as error:
        get(client_of(server.url))
    assert error.value.response["Error"]["Code"] == "ValidationException"
    assert len(server.requests) == 1


def test_does_not_wait_for_ever(serve, client_of, no_retries):
    begun = time.monotonic()
    with pytest.raises(StoreUnavailable, match="TRY_AGAIN"):
        get(client_of(serve(SAY_NOTHING).url, read_timeout=0.3))
    assert time.monotonic() - begun < 5


def test_a_connection_that_was_given_up_is_not_used_for_the_next(serve, client_of):
    """Its answer may still come, and would be taken for that of another request."""
    server = serve(SAY_NOTHING, OK)
    asker = client_of(server.url, read_timeout=0.3)
    assert get(asker)["Item"] == {}
    assert server.connections == 2


def test_says_that_nobody_is_there(client_of, no_retries):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(StoreUnavailable) as error:
        get(client_of(f"http://127.0.0.1:{port}"))
    assert error.value.why == "EndpointConnectionError"


@pytest.mark.parametrize("token", ["", "a token of a role"])
def test_signs_as_botocore_does(token, monkeypatch):
    signer = Signer("eu-west-1", "dynamodb.eu-west-1.amazonaws.com")
    credentials = Credentials("AKIDEXAMPLE", "secret", token or None)
    body = b'{"TableName":"parley"}'
    head, _, sent = signer.signed("GetItem", body, credentials).partition(b"\r\n\r\n")
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
