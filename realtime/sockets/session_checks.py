"""Re-validates the sessions of all open sockets on a timer, a batch at a time.

A sign-out, a suspension or a new password normally closes a socket by a message. The timer is for
messages that were lost and for clients that never ping. While the database does not answer, checks
are postponed, up to SESSION_GRACE_SECONDS after the last one that succeeded.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Sequence

import structlog
from channels.db import database_sync_to_async
from django.conf import settings
from django.db import InterfaceError, OperationalError

from accounts.sign_in.sessions import SessionOfUser, list_valid_sessions
from realtime.sockets.open_sockets import OpenSocket, open_sockets

log = structlog.get_logger(__name__)

SIGNED_OUT, NOT_NOW = 4401, 4503
MAX_BATCH_SIZE = 500
# Servers that started together do not ask at the same moment.
JITTER = 0.2
# The next attempt after one that failed.
RETRY_SECONDS = 5.0


class SessionChecks:
    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._is_postponed = False

    def start(self) -> None:
        """Runs the timer on this event loop, unless it runs there already."""
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._wake = asyncio.Event()
            self._task = loop.create_task(self._run())

    async def _run(self) -> None:
        while open_sockets.all():
            await self._pause()
            for batch in _batched(open_sockets.all(), MAX_BATCH_SIZE):
                await self.check(batch)

    async def _pause(self) -> None:
        seconds = settings.SESSION_CHECK_SECONDS * random.uniform(1 - JITTER, 1 + JITTER)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()
                await asyncio.sleep(min(RETRY_SECONDS, seconds))
        self._wake.clear()

    async def check(self, sockets: Sequence[OpenSocket]) -> None:
        """Ends those of these sockets whose session no longer counts. Must not raise."""
        asked = {_session_of(socket) for socket in sockets}
        begun = time.monotonic()
        try:
            find = database_sync_to_async(list_valid_sessions, thread_sensitive=False)
            counting = await find(asked)
        except (OperationalError, InterfaceError) as error:
            await self._postpone(sockets, error)
            return
        except Exception:
            log.exception("session_check_failed")
            return
        self._resume()
        for socket in sockets:
            if _session_of(socket) in counting:
                socket.validated_at = begun
        await _end([one for one in sockets if _session_of(one) not in counting], SIGNED_OUT)

    async def _postpone(self, sockets: Sequence[OpenSocket], error: Exception) -> None:
        if not self._is_postponed:
            log.warning("session_checks_postponed", error=str(error))
        self._is_postponed = True
        self._wake.set()
        oldest = time.monotonic() - settings.SESSION_GRACE_SECONDS
        await _end([one for one in sockets if one.validated_at < oldest], NOT_NOW)

    def _resume(self) -> None:
        if self._is_postponed:
            log.info("session_checks_resumed")
        self._is_postponed = False


def _batched(sockets: list[OpenSocket], size: int) -> list[list[OpenSocket]]:
    return [sockets[start : start + size] for start in range(0, len(sockets), size)]


def _session_of(socket: OpenSocket) -> SessionOfUser:
    return socket.session_key, socket.user_id


async def _end(sockets: Sequence[OpenSocket], code: int) -> None:
    """All at once: one that does not read must not hold up the others."""
    results = await asyncio.gather(*(one.end(code) for one in sockets), return_exceptions=True)
    for error in results:
        if isinstance(error, Exception):
            log.error("socket_not_ended", exc_info=error)


session_checks = SessionChecks()
