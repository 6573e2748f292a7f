"""Requests run in threads that are reused, one request at a time."""

import asyncio
import threading

import pytest
from django.http import HttpResponse
from django.test import override_settings
from django.urls import path

from messaging_site.http_handler import HttpHandler, RequestThreads


def show_thread(request):
    return HttpResponse(threading.current_thread().name + str(threading.get_ident()))


urlpatterns = [path("thread", show_thread)]


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


@override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=[], ALLOWED_HOSTS=["*"])
def test_consecutive_requests_run_in_the_same_thread():
    handler = HttpHandler()

    async def get() -> bytes:
        sent = []
        received = asyncio.Queue()
        received.put_nowait({"type": "http.request", "body": b""})
        scope = {"type": "http", "method": "GET", "path": "/thread", "headers": []}

        async def send(message):
            sent.append(message)

        await handler(scope, received.get, send)
        return sent[1]["body"]

    async def get_twice() -> tuple[bytes, bytes]:
        return await get(), await get()

    one, other = asyncio.run(get_twice())
    assert one == other
    assert one.startswith(b"request")
