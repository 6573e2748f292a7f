"""Messages that wait to be sent: those of all sockets of this process, several in one transaction.

All of it on the event loop: there is little to do for a message, and handing it to a thread and
back would cost more. While one transaction is on its way more messages come, and they make up the
next. What may take its time goes by itself, in a thread. A thread's messages go in the order in
which they came: while one of them is being written or tried again, the others of it wait.
"""

import asyncio
import contextvars
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import structlog
from django.conf import settings
from django.db import close_old_connections

from core import metrics
from core.refusals import Refusal
from threads.actions.messages import OutgoingMessage, send_batch_steps
from threads.dynamodb.retry import time_budget
from threads.dynamodb.transactions import commit_steps_async
from threads.models import Message

log = structlog.get_logger(__name__)

# Transactions at once. While the store works at one, what comes makes up the next: together they
# cost less, and two transactions at once cost the store more. So the next waits for the first to be
# back, unless it is full already, or somebody has waited for so many seconds.
MAX_CONCURRENT_BATCHES = 2
MAX_LINGER_SECONDS = 0.05
# In one transaction: of all threads, and of one, so that a busy one leaves room for the others.
MAX_BATCH_SIZE, MAX_BATCH_SIZE_PER_THREAD = 16, 8
# For those that have to go by themselves, and may take their time.
MAX_SINGLE_SENDS = 16


@dataclass(eq=False)
class PendingSend:
    sending: OutgoingMessage
    done: asyncio.Future[Message]
    came_at: float = field(default_factory=time.monotonic)

    @property
    def thread_id(self) -> str:
        return self.sending.thread_id

    def settle(self, error: Exception | None = None) -> None:
        if self.done.done():
            return
        metrics.SEND_SECONDS.observe(time.monotonic() - self.came_at)
        error = self.sending.refusal or error
        if error is not None:
            self.done.set_exception(error)
        elif self.sending.message is not None:
            self.done.set_result(self.sending.message)


class SendBatcher:
    def __init__(self) -> None:
        self._waiting: dict[str, deque[PendingSend]] = {}
        # Threads that are being written to.
        self._busy: set[str] = set()
        self._free_slots = MAX_CONCURRENT_BATCHES
        self._look_again: asyncio.TimerHandle | None = None
        self._on_their_way: set[asyncio.Task[None]] = set()
        self._alone = ThreadPoolExecutor(MAX_SINGLE_SENDS, thread_name_prefix="alone")

    def submit(self, sending: OutgoingMessage) -> asyncio.Future[Message]:
        send = PendingSend(sending, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(sending.thread_id, deque()).append(send)
        self._go()
        return send.done

    def _go(self) -> None:
        while self._free_slots and self._is_due() and (pending := self._take()):
            self._free_slots -= 1
            now = time.monotonic()
            metrics.SEND_BATCH_SIZE.observe(len(pending))
            for send in pending:
                metrics.SEND_QUEUE_SECONDS.observe(now - send.came_at)
            # Whose message it is that comes last is nothing that the others' should be logged with.
            task = asyncio.get_running_loop().create_task(
                self._write(pending), context=contextvars.Context()
            )
            self._on_their_way.add(task)
            task.add_done_callback(self._on_their_way.discard)

    def _is_due(self) -> bool:
        if self._free_slots == MAX_CONCURRENT_BATCHES:
            return True
        ready = [self._waiting[thread_id] for thread_id in self._waiting.keys() - self._busy]
        if not ready:
            return False
        if sum(min(len(pending), MAX_BATCH_SIZE_PER_THREAD) for pending in ready) >= MAX_BATCH_SIZE:
            return True
        left = min(pending[0].came_at for pending in ready) + MAX_LINGER_SECONDS - time.monotonic()
        if left > 0 and self._look_again is None:
            self._look_again = asyncio.get_running_loop().call_later(left, self._flush_late)
        return left <= 0

    def _flush_late(self) -> None:
        self._look_again = None
        self._go()

    def _take(self) -> list[PendingSend]:
        """Those who have waited longest, as many as go together."""
        pending: list[PendingSend] = []
        for thread_id, waiting in list(self._waiting.items()):
            if len(pending) >= MAX_BATCH_SIZE:
                break
            if thread_id in self._busy:
                continue
            self._busy.add(thread_id)
            most = min(MAX_BATCH_SIZE_PER_THREAD, MAX_BATCH_SIZE - len(pending))
            pending += [waiting.popleft() for _ in range(min(most, len(waiting)))]
            if not waiting:
                del self._waiting[thread_id]
        return pending

    async def _write(self, pending: list[PendingSend]) -> None:
        try:
            sendings = [send.sending for send in pending]
            # The next transaction waits for this one; what fails goes again by itself.
            with time_budget(settings.DYNAMODB["retry_seconds"] / 4):
                await commit_steps_async(send_batch_steps(sendings))
        except Exception:
            log.exception("not_sent_together")
        self._free_slots += 1
        left: dict[str, list[PendingSend]] = {}
        for send in pending:
            if send.sending.is_done:
                send.settle()
            else:
                left.setdefault(send.thread_id, []).append(send)
        for thread_id, rest in left.items():
            self._send_alone(thread_id, rest)
        self._free(send.thread_id for send in pending if send.thread_id not in left)

    def _send_alone(self, thread_id: str, pending: list[PendingSend]) -> None:
        work = asyncio.get_running_loop().run_in_executor(
            self._alone, _run_each, [send.sending for send in pending]
        )

        def done(work: asyncio.Future[list[Exception | None]]) -> None:
            failed: Any = work.exception()
            errors = [failed] * len(pending) if failed else work.result()
            for send, error in zip(pending, errors, strict=True):
                send.settle(error)
            self._free([thread_id])

        work.add_done_callback(done)

    def _free(self, thread_ids: Iterable[str]) -> None:
        self._busy.difference_update(thread_ids)
        self._go()


def _run_each(sendings: list[OutgoingMessage]) -> list[Exception | None]:
    """What became of each; one after the other, whatever becomes of those before."""
    errors: list[Exception | None] = []
    for sending in sendings:
        try:
            with time_budget():
                sending.message = sending.run()
            errors.append(None)
        except Refusal as refusal:
            errors.append(refusal)
        except Exception as error:
            log.exception("not_sent")
            errors.append(error)
    # Those with files have used the database.
    close_old_connections()
    return errors


_batchers: WeakKeyDictionary[asyncio.AbstractEventLoop, SendBatcher] = WeakKeyDictionary()


def send_batcher() -> SendBatcher:
    """That of this event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _batchers:
        _batchers[loop] = SendBatcher()
    return _batchers[loop]
