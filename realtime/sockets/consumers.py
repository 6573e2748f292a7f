"""The websocket consumer: runs the commands of a page, and sends it events."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from channels.db import database_sync_to_async
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import get_channel_layer
from django.conf import settings
from django.db import OperationalError

from accounts.models import User
from accounts.sign_in.sessions import session_hash
from core import metrics
from core.ids import new_id
from core.rate_limits import TokenBucket
from core.refusals import Refusal
from realtime.broadcast.delivery import BROADCAST, ORIGIN, group_of
from realtime.broadcast.events import Error, Event, Hello, LiveChanged
from realtime.broadcast.layer_adapter import channel_queue
from realtime.sockets.close_codes import (
    INTERNAL_ERROR,
    REPLACED,
    SIGNED_OUT,
    TOO_LARGE,
    TOO_MANY,
    UNAVAILABLE,
)
from realtime.sockets.commands import (
    COMMANDS,
    CONNECTION_COMMANDS,
    handle_command,
)
from realtime.sockets.frames import MAX_FRAME_BYTES, FrameTooLarge, decode, encode
from realtime.sockets.heartbeat import HeartbeatMixin
from realtime.sockets.open_sockets import open_sockets
from realtime.sockets.presence_updates import PresenceMixin
from realtime.sockets.session_checks import session_checks
from realtime.sockets.shared_checks import start_shared_checks
from threads import cache
from threads.dynamodb import keys
from threads.dynamodb.errors import StoreUnavailable, should_log
from threads.events import message_accepted
from threads.models import Message
from threads.queries import list_pending

log = structlog.get_logger(__name__)

PROTOCOL = 2
# Frames over the rate limit before the connection is closed.
MAX_REFUSED_FRAMES = 100
# Unanswered messages of one connection; further frames are read when one of them is answered.
MAX_IN_FLIGHT = 32
# Events that only pages with the thread open receive.
OPEN_THREAD_EVENTS = ("typing.started", "typing.stopped")
# The event loop itself holds tasks only weakly.
_closing_tasks: set[asyncio.Task[None]] = set()


class MessagingConsumer(PresenceMixin, HeartbeatMixin, AsyncWebsocketConsumer):
    user: User
    # Time of the last successful session check.
    validated_at: float
    is_ended = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Does what Channels does, without its tasks and threads for every message."""
        self.scope, self.base_send = scope, send
        layer: Any = get_channel_layer()
        self.channel_layer, self.channel_name = layer, await layer.new_channel()
        # Serialises commands and messages of the channel layer.
        self.dispatch_lock = asyncio.Lock()
        # Messages in flight, which a server that drains waits for.
        self.in_flight: set[asyncio.Future[Any]] = scope.get("unfinished", set())
        # Writes text without waiting and returns whether the server could do that.
        self.write: Callable[[str], bool] = scope.get("write", _cannot_write)
        self.queue_task: asyncio.Task[None] | None = None
        with channel_queue(layer, self.channel_name) as self.queue:
            try:
                await self._dispatch_frames(receive)
            finally:
                if hasattr(self, "user"):
                    open_sockets.discard(self)
                self.queue.on_put = None
        if self.removed is not None:
            # A drain waits for it. Other sockets wait for the same future.
            await asyncio.wait([self.removed])

    async def _dispatch_frames(self, receive: Any) -> None:
        with contextlib.suppress(StopConsumer):
            while True:
                message = await receive()
                async with self.dispatch_lock:
                    await self.dispatch(message)

    def _drain_queue(self) -> None:
        """Sends what can be sent without waiting; starts a task only for the rest."""
        if self.queue_task is not None:
            return
        messages = self.queue.messages
        while messages and not self.dispatch_lock.locked() and self._send_now(messages[0]):
            messages.popleft()
        if messages:
            self.queue_task = asyncio.create_task(self._dispatch_queue())

    def _send_now(self, message: dict[str, Any]) -> bool:
        """Whether the message is done. Must not raise: the publisher serves other connections."""
        if message["type"] != BROADCAST or message["event"]["type"] == "thread.changed":
            return False
        try:
            if self._is_wanted(message):
                if not self.write(message["text"]):
                    return False
                _observe_delivery(message)
        except Exception:
            # The task dispatches the message again and handles the error.
            return False
        return True

    async def _dispatch_queue(self) -> None:
        """Dispatches queued messages; an idle connection has no such task."""
        try:
            while self.queue.messages:
                async with self.dispatch_lock:
                    await self.dispatch(self.queue.messages.popleft())
        except Exception:
            log.exception("event_dispatch_failed")
            await self.close(INTERNAL_ERROR)
        finally:
            self.queue_task = None

    async def dispatch(self, message: Any) -> None:
        await getattr(self, message["type"].replace(".", "_"))(message)

    async def connect(self) -> None:
        user: User | None = self.scope["user"]
        # Accepted even if it is closed next: a browser does not see why a handshake failed.
        await self.accept()
        if user is None:
            await self.close(SIGNED_OUT)
            return
        self.connection_id = new_id("conn")
        self.session_key = self.scope["session_key"]
        self.session = session_hash(self.session_key)
        self.frames = TokenBucket(rate=settings.SOCKET_RATE, burst=settings.SOCKET_BURST)
        structlog.contextvars.bind_contextvars(connection=self.connection_id)
        await self.channel_layer.group_add(group_of(user.id), self.channel_name)
        self.user = user
        self.validated_at = time.monotonic()
        self.start_presence()
        self.start_heartbeat()
        self._register()
        try:
            hello = await self._hello()
        except StoreUnavailable as error:
            # The page reconnects later.
            if should_log(error):
                log.warning("socket_open_failed", reason=error.reason)
            await self.close(UNAVAILABLE)
            return
        await self.send_event(hello)
        await self.announce_connected()
        # Only now, because the first event of a page must be the hello.
        self.queue.on_put = self._drain_queue
        self._drain_queue()

    def _register(self) -> None:
        for replaced in open_sockets.add(self):
            closing = asyncio.create_task(replaced.end(REPLACED, "SOCKET_LIMIT"))
            _closing_tasks.add(closing)
            closing.add_done_callback(_closing_tasks.discard)
        session_checks.start()
        start_shared_checks()

    @property
    def user_id(self) -> str:
        return str(self.user.id)

    async def end(self, code: int, refusal_code: str = "") -> None:
        """Closes the connection; frames that still arrive are ignored."""
        if self.is_ended:
            return
        self.is_ended = True
        if refusal_code:
            await self._refuse(Refusal(refusal_code), {})
        await self.close(code)

    async def websocket_disconnect(self, message: Any) -> None:
        """Does what Channels does, without a thread to close database connections."""
        await self.disconnect(message["code"])
        raise StopConsumer

    async def disconnect(self, code: int) -> None:
        await self._finish_in_flight()
        if hasattr(self, "user"):
            await self.channel_layer.group_discard(group_of(self.user.id), self.channel_name)
            await self.announce_disconnected()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Runs the commands of a client in the order in which they arrive."""
        if not hasattr(self, "user") or self.is_ended:
            return
        frame: dict[str, Any] = {}
        try:
            self._check_rate()
            if text_data is None:
                raise Refusal("BAD_FRAME", hint="Frames must be text.")
            frame = decode(text_data)
            metrics.COMMANDS.labels(_command_label(frame["type"])).inc()
            command = COMMANDS.get(frame["type"])
            if command is not None and command.submit is not None:
                await self._wait_for_slot()
                self._track(frame, command.submit(self.user, **command.form.parse(frame)))
            else:
                await self._finish_in_flight()
                await self._run(frame)
        except FrameTooLarge:
            limit = f"A frame can have at most {MAX_FRAME_BYTES // 1024} KB."
            await self._refuse(Refusal("BAD_FRAME", hint=limit), frame)
            await self.close(TOO_LARGE)
        except Exception as error:
            await self._handle_error(error, frame)
        if self.frames.refused > MAX_REFUSED_FRAMES:
            await self.close(TOO_MANY)

    async def _handle_error(self, error: Exception, frame: dict[str, Any]) -> None:
        if isinstance(error, Refusal):
            await self._refuse(error, frame)
        elif isinstance(error, OperationalError):
            log.warning("command_database_failed", command=frame.get("type"), error=str(error))
            await self._refuse(Refusal("TRY_AGAIN"), frame)
        else:
            log.error("command_failed", command=frame.get("type"), exc_info=error)
            await self._refuse(Refusal("TRY_AGAIN"), frame)

    # --- Batched commands, of which several may be in flight

    async def _wait_for_slot(self) -> None:
        if len(self.in_flight) >= MAX_IN_FLIGHT:
            await asyncio.wait(self.in_flight, return_when=asyncio.FIRST_COMPLETED)

    def _track(self, frame: dict[str, Any], sent: asyncio.Future[Message]) -> None:
        self.in_flight.add(sent)
        sent.add_done_callback(partial(self._acknowledge, frame))

    def _acknowledge(self, frame: dict[str, Any], sent: asyncio.Future[Message]) -> None:
        self.in_flight.discard(sent)
        if sent.exception() is None and self._acknowledge_now(sent.result()):
            return
        task = asyncio.create_task(self._acknowledge_later(frame, sent))
        self.in_flight.add(task)
        task.add_done_callback(self.in_flight.discard)

    def _acknowledge_now(self, message: Message) -> bool:
        try:
            return self.write(encode(message_accepted(message)))
        except Exception:
            log.exception("acknowledgement_failed")
            return False

    async def _acknowledge_later(
        self, frame: dict[str, Any], sent: asyncio.Future[Message]
    ) -> None:
        try:
            await self.send_event(message_accepted(sent.result()))
        except Exception as error:
            await self._handle_error(error, frame)

    async def _finish_in_flight(self) -> None:
        """Messages are stored and answered before a later command of another type runs."""
        while self.in_flight:
            await asyncio.wait(self.in_flight)

    def _check_rate(self) -> None:
        wait = self.frames.take()
        if wait:
            raise Refusal("RATE_LIMITED", retry_after=int(wait) + 1)

    async def _run(self, frame: dict[str, Any]) -> None:
        match frame["type"]:
            case "ping":
                await self.answer_ping(frame)
            case "thread.close":
                await self.close_thread(frame)
            case "typing.start" | "typing.stop":
                await self.publish_typing(frame)
            case _:
                # Not thread-sensitive: commands mostly use the table, so they need not queue for
                # the ORM's one thread. Those that use SQL give their connection back.
                run = database_sync_to_async(handle_command, thread_sensitive=False)
                for event in await run(self.user, frame):
                    await self.send_event(event)
                if frame["type"] == "thread.open":
                    if frame.get("after") and frame["thread"] in self.subscriptions.threads:
                        metrics.SYNC_GAPS.inc()
                    await self.open_thread(frame["thread"])

    async def _refuse(self, refusal: Refusal, frame: dict[str, Any]) -> None:
        corr_id = secrets.token_hex(8)
        metrics.REFUSALS.labels(refusal.code).inc()
        if should_log(refusal):
            log.info("refused", code=refusal.code, command=frame.get("type"), corr_id=corr_id)
        error: Any = Error(type="error", **refusal.as_dict(corr_id))  # type: ignore[typeddict-item]
        for name, given in (("client_id", "client_id"), ("message_id", "message")):
            if isinstance(frame.get(given), str):
                error[name] = frame[given]
        await self.send_event(error)

    # --- Messages of the channel layer, by type

    async def broadcast_event(self, message: dict[str, Any]) -> None:
        if not self._is_wanted(message):
            return
        if message["event"]["type"] == "thread.changed":
            await self.refresh_thread(message["event"]["thread"])
        await self.send(text_data=message["text"])
        _observe_delivery(message)

    def _is_wanted(self, message: dict[str, Any]) -> bool:
        """Whether the page gets the event. Events of other processes also update the cache."""
        event = message["event"]
        if message["origin"] != ORIGIN:
            cache.apply_event(event)
        return (
            event["type"] not in OPEN_THREAD_EVENTS or event["thread"] in self.subscriptions.threads
        )

    async def live_changed(self, message: dict[str, Any]) -> None:
        """While Redis is unavailable, heartbeats find the events of other processes."""
        await self.send_event(LiveChanged(type="live.changed", live=message["live"]))

    async def end_session(self, message: dict[str, Any]) -> None:
        if message["session"] == self.session:
            await self.end(SIGNED_OUT)

    async def recheck_session(self, message: dict[str, Any]) -> None:
        await session_checks.check([self])

    async def send_event(self, event: Event) -> None:
        await self.send(text_data=encode(event))

    async def _hello(self) -> Hello:
        pending, more = await list_pending(self.user)
        metrics.UNDELIVERED_THREADS.inc(len(pending))
        return Hello(
            type="hello",
            user=self.user.id,
            connection=self.connection_id,
            server_time=keys.now(),
            protocol=PROTOCOL,
            pending=pending,
            more=more,
        )


def _observe_delivery(message: dict[str, Any]) -> None:
    """Only for messages of this process, since `at` is a time of its monotonic clock."""
    if message["event"]["type"] == "message.sent" and message["origin"] == ORIGIN:
        metrics.DELIVERY_SECONDS.observe(time.monotonic() - message["at"])


def _cannot_write(text: str) -> bool:
    return False


def _command_label(kind: str) -> str:
    """One label for all unknown types, since clients could make up any number of them."""
    return kind if kind in COMMANDS or kind in CONNECTION_COMMANDS else "unknown"
