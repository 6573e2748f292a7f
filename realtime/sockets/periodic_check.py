"""Runs a check of all open sockets at intervals, instead of one check for each of them."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import structlog

from realtime.sockets.open_sockets import OpenSocket, open_sockets

log = structlog.get_logger(__name__)

# Servers that started together must not check at the same moment.
JITTER = 0.2


class PeriodicCheck:
    def __init__(
        self, seconds: float, check: Callable[[list[OpenSocket]], Awaitable[None]]
    ) -> None:
        self.seconds, self._check = seconds, check
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Runs on this event loop while sockets are open, unless it runs there already."""
        loop = asyncio.get_running_loop()
        if self._task is None or self._task.done() or self._task.get_loop() is not loop:
            self._task = loop.create_task(self._run())

    async def _run(self) -> None:
        while open_sockets.all():
            await asyncio.sleep(self.seconds * random.uniform(1 - JITTER, 1 + JITTER))
            try:
                await self._check(open_sockets.all())
            except Exception:
                log.exception("socket_check_failed")
