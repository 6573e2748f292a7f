"""Requests run in threads that are reused, one request at a time."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.signals import request_finished, request_started
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path

from messaging_site.http_handler import HttpHandler, RequestThreads


def show_thread(request):
    return HttpResponse(threading.current_thread().name + str(threading.get_ident()))


def stream(request):
    async def parts():
        yield b"one"
        yield b"two"

    return StreamingHttpResponse(parts())


def fail(request):
    raise LookupError


urlpatterns = [path("thread", show_thread), path("stream", stream), path("broken", fail)]


class Exchange:
    """One request, with what was sent and which signals were sent when."""

    def __init__(self, path: str, query: bytes = b"") -> None:
        self.scope = {"type": "http", "method": "GET", "path": path, "headers": []}
        self.scope["query_string"] = query
        self.steps: list[str] = []
        self.body = b""

    async def run(self, handler: HttpHandler) -> "Exchange":
        received: asyncio.Queue = asyncio.Queue()
        received.put_nowait({"type": "http.request", "body": b""})
        await handler(self.scope, received.get, self.send)
        return self

    async def send(self, message):
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.body += message.get("body", b"")
            if not message.get("more_body"):
                self.steps.append("sent")

    def note(self, step: str):
        def receiver(**_):
            self.steps.append(step)

        return receiver


@pytest.fixture(autouse=True)
def small_site(settings):
    settings.ROOT_URLCONF, settings.MIDDLEWARE = __name__, []
    settings.ALLOWED_HOSTS = ["*"]


def test_a_thread_is_lent_to_one_request_at_a_time():
    threads = RequestThreads()
    with threads.lend() as first, threads.lend() as second:
        assert first is not second
    with threads.lend() as third:
        assert third in (first, second)


def test_a_thread_that_may_be_busy_is_not_reused():
    threads = RequestThreads()
    with pytest.raises(TimeoutError), threads.lend() as first:
        raise TimeoutError
    with threads.lend() as second:
        assert second is not first


def test_consecutive_requests_run_in_the_same_thread():
    handler = HttpHandler()

    async def get_twice() -> list[bytes]:
        return [(await Exchange("/thread").run(handler)).body for _ in range(2)]

    one, other = asyncio.run(get_twice())
    assert one == other
    assert one.startswith(b"request")


def test_a_request_switches_to_its_thread_once(monkeypatch):
    submitted = []
    submit = ThreadPoolExecutor.submit

    def count(self, *args, **kwargs):
        submitted.append(args)
        return submit(self, *args, **kwargs)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", count)
    assert asyncio.run(Exchange("/thread").run(HttpHandler())).status == 200
    assert len(submitted) == 1


@pytest.mark.parametrize(
    ("exchange", "status", "steps"),
    [
        (Exchange("/thread"), 200, ["started", "finished", "sent"]),
        (Exchange("/broken"), 500, ["started", "finished", "sent"]),
        (Exchange("/stream"), 200, ["started", "sent", "finished"]),
        (Exchange("/thread", b"\xff"), 400, ["started", "finished", "sent"]),
    ],
)
def test_each_request_starts_and_ends_once(exchange, status, steps):
    """Connections to the database depend on it."""
    started, finished = exchange.note("started"), exchange.note("finished")
    request_started.connect(started)
    request_finished.connect(finished)
    try:
        asyncio.run(exchange.run(HttpHandler()))
    finally:
        request_started.disconnect(started)
        request_finished.disconnect(finished)
    assert exchange.status == status
    assert exchange.steps == steps


def test_a_stream_is_sent_completely():
    assert asyncio.run(Exchange("/stream").run(HttpHandler())).body == b"onetwo"


def test_a_stream_is_closed_when_its_client_is_gone():
    exchange, closed = Exchange("/stream"), []

    class Stream(StreamingHttpResponse):
        def close(self):
            closed.append(True)
            super().close()

    async def refuse(message):
        raise ConnectionError

    exchange.send = refuse
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(__name__ + ".StreamingHttpResponse", Stream)
        with pytest.raises(ConnectionError):
            asyncio.run(exchange.run(HttpHandler()))
    assert closed == [True]
