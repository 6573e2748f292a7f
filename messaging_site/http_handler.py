"""Runs each HTTP request in one of a few threads that are reused.

Django starts a thread for every request, which opens a new database connection, and switches
between the event loop and that thread for every middleware that is not asynchronous.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.http import FileResponse
from django.urls import set_script_prefix

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
    """Switches to the thread of a request once. Django does so for its first signal, for the view
    and for its last signal, and has a task that waits for a disconnect. Here the response to a
    client that has disconnected is completed and discarded; daphne cancels it after 10 seconds."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = RequestThreads()
        self._respond_in_thread = sync_to_async(self._respond)

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        with self._threads.lend() as thread:
            async with ThreadSensitiveContext(executor=thread):
                await self.handle(scope, receive, send)

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        response = await self._respond_in_thread(scope, body)
        try:
            await self.send_response(response, send)
        finally:
            if response.streaming:
                await sync_to_async(response.close)()

    def _respond(self, scope: Any, body: Any) -> Any:
        """Everything that Django does in a request, except for sending what a stream contains."""
        set_script_prefix(get_script_prefix(scope))
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, error_response = self.create_request(scope, body)
        if request is None:
            body.close()
        response: Any = self.get_response(request) if request else error_response
        response._handler_class = self.__class__
        if isinstance(response, FileResponse):
            response.block_size = self.chunk_size
        if not response.streaming:
            response.close()
        return response
