"""Runs each HTTP request in one of a few threads that are reused.

Django starts a thread for every request, which opens a new database connection, and switches
between the event loop and that thread for every middleware that is not asynchronous.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

MAX_IDLE_THREADS = 16


class RequestThreads:
    """Single threads that are lent to requests. Used on the event loop only."""

    def __init__(self) -> None:
        self._idle: list[ThreadPoolExecutor] = []

    @contextmanager
    def lend(self) -> Iterator[ThreadPoolExecutor]:
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, "request")
        is_idle = False
        try:
            yield thread
            is_idle = True
        finally:
            # After an error or a timeout the thread may still be busy.
            if is_idle and len(self._idle) < MAX_IDLE_THREADS:
                self._idle.append(thread)
            else:
                thread.shutdown(wait=False)


class HttpHandler(ASGIHandler):
    def __init__(self) -> None:
        super().__init__()
        self._threads = RequestThreads()

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with self._threads.lend() as thread:
            async with ThreadSensitiveContext(executor=thread):
                await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await sync_to_async(self.get_response)(request)
