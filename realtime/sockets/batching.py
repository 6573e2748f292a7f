"""Batches the sends of all connections of this process: several messages in one transaction.

Everything runs on the event loop, since handing a message to a thread would cost more than the work
itself. Messages that arrive during a transaction form the next batch, and wait for the transaction
only while that gains something (`SendBatcher._is_due`). Slow sends run one by one in worker
threads. The messages of a conversation keep their order: while one is being written or retried,
later ones wait.
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

from accounts.models import User
from core import metrics
from core.refusals import Refusal
from threads.actions.messages import OutgoingMessage, send_batch_steps
from threads.dynamodb.retry import time_budget
from threads.dynamodb.transactions import commit_steps_async
from threads.models import Message

log = structlog.get_logger(__name__)

# Concurrent transactions cost the store more than larger ones. So messages wait for the batches in
# progress, but only while they are fewer than those, and not longer than a transaction usually
# takes: after that, waiting gains less than it costs.
MAX_CONCURRENT_BATCHES = 2
# The weight of the newest transaction in the usual duration.
DURATION_WEIGHT = 0.2
# Messages in one transaction, in total and per thread: a busy thread leaves room for others.
MAX_BATCH_SIZE, MAX_BATCH_SIZE_PER_THREAD = 16, 8
# Worker threads for sends that cannot be batched.
MAX_SINGLE_SENDS = 16


@dataclass(eq=False)
class PendingSend:
    outgoing: OutgoingMessage
    done: asyncio.Future[Message]
    submitted_at: float = field(default_factory=time.monotonic)

    @property
    def thread_id(self) -> str:
        return self.outgoing.thread_id

    def resolve(self, error: Exception | None = None) -> None:
        if self.done.done():
            return
        metrics.SEND_SECONDS.observe(time.monotonic() - self.submitted_at)
        error = self.outgoing.refusal or error
        if error is not None:
            self.done.set_exception(error)
        elif self.outgoing.message is not None:
            self.done.set_result(self.outgoing.message)


class SendBatcher:
    def __init__(self) -> None:
        self._queues: dict[str, deque[PendingSend]] = {}
        # Threads with a write in progress.
        self._busy: set[str] = set()
        # The sizes of the batches in progress.
        self._in_progress: list[int] = []
        # How long a transaction usually takes; nothing waits before that is known.
        self._usual_seconds = 0.0
        self._is_scheduled = False
        self._linger_timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._executor = ThreadPoolExecutor(MAX_SINGLE_SENDS, thread_name_prefix="single-send")

    def submit(self, outgoing: OutgoingMessage) -> asyncio.Future[Message]:
        send = PendingSend(outgoing, asyncio.get_running_loop().create_future())
        self._queues.setdefault(outgoing.thread_id, deque()).append(send)
        self._schedule_flush()
        return send.done

    def _schedule_flush(self) -> None:
        """Flushes after everything that has arrived by now is queued, which takes no time."""
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._is_scheduled = False
        while self._is_due() and (pending := self._take_batch()):
            self._in_progress.append(len(pending))
            now = time.monotonic()
            metrics.SEND_BATCH_SIZE.observe(len(pending))
            for send in pending:
                metrics.SEND_QUEUE_SECONDS.observe(now - send.submitted_at)
            # An empty context: log lines of a batch must not carry one connection's context.
            task = asyncio.get_running_loop().create_task(
                self._write(pending), context=contextvars.Context()
            )
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _is_due(self) -> bool:
        """Whether waiting for the batches in progress would gain nothing."""
        if not self._in_progress:
            return True
        if len(self._in_progress) >= MAX_CONCURRENT_BATCHES:
            return False
        ready = [self._queues[thread_id] for thread_id in self._queues.keys() - self._busy]
        if not ready:
            return False
        size = sum(min(len(queue), MAX_BATCH_SIZE_PER_THREAD) for queue in ready)
        if size >= min(MAX_BATCH_SIZE, sum(self._in_progress)):
            return True
        oldest = min(queue[0].submitted_at for queue in ready)
        left = oldest + self._usual_seconds - time.monotonic()
        if left > 0 and self._linger_timer is None:
            self._linger_timer = asyncio.get_running_loop().call_later(left, self._flush_late)
        return left <= 0

    def _flush_late(self) -> None:
        self._linger_timer = None
        self._flush()

    def _take_batch(self) -> list[PendingSend]:
        """The oldest messages of idle threads, up to the limits of a batch."""
        pending: list[PendingSend] = []
        for thread_id, queue in list(self._queues.items()):
            if len(pending) >= MAX_BATCH_SIZE:
                break
            if thread_id in self._busy:
                continue
            self._busy.add(thread_id)
            limit = min(MAX_BATCH_SIZE_PER_THREAD, MAX_BATCH_SIZE - len(pending))
            pending += [queue.popleft() for _ in range(min(limit, len(queue)))]
            if not queue:
                del self._queues[thread_id]
        return pending

    async def _write(self, pending: list[PendingSend]) -> None:
        started_at = time.monotonic()
        try:
            # A short budget: the next batch waits for this one, and failed sends are retried.
            with time_budget(settings.DYNAMODB["retry_seconds"] / 4):
                await commit_steps_async(send_batch_steps([send.outgoing for send in pending]))
        except Exception:
            log.exception("batch_failed")
        self._record_duration(time.monotonic() - started_at)
        self._in_progress.remove(len(pending))
        left: dict[str, list[PendingSend]] = {}
        for send in pending:
            if send.outgoing.is_done:
                send.resolve()
            else:
                left.setdefault(send.thread_id, []).append(send)
        for thread_id, rest in left.items():
            self._send_singly(thread_id, rest)
        self._release(send.thread_id for send in pending if send.thread_id not in left)

    def _record_duration(self, seconds: float) -> None:
        self._usual_seconds += DURATION_WEIGHT * (seconds - self._usual_seconds)

    def _send_singly(self, thread_id: str, pending: list[PendingSend]) -> None:
        work = asyncio.get_running_loop().run_in_executor(
            self._executor, _run_each, [send.outgoing for send in pending]
        )

        def done(work: asyncio.Future[list[Exception | None]]) -> None:
            failed: Any = work.exception()
            errors = [failed] * len(pending) if failed else work.result()
            for send, error in zip(pending, errors, strict=True):
                send.resolve(error)
            self._release([thread_id])

        work.add_done_callback(done)

    def _release(self, thread_ids: Iterable[str]) -> None:
        self._busy.difference_update(thread_ids)
        self._schedule_flush()


def _run_each(messages: list[OutgoingMessage]) -> list[Exception | None]:
    """Sends in order and returns the error of each, or None; an error does not stop the rest."""
    errors: list[Exception | None] = []
    for outgoing in messages:
        try:
            with time_budget():
                outgoing.message = outgoing.run()
            errors.append(None)
        except Refusal as refusal:
            errors.append(refusal)
        except Exception as error:
            log.exception("send_failed")
            errors.append(error)
    # Messages with files have used the database.
    close_old_connections()
    return errors


_batchers: WeakKeyDictionary[asyncio.AbstractEventLoop, SendBatcher] = WeakKeyDictionary()


def submit_message(sender: User, **arguments: Any) -> asyncio.Future[Message]:
    """Queues a message on the batcher of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _batchers:
        _batchers[loop] = SendBatcher()
    return _batchers[loop].submit(OutgoingMessage(sender, **arguments))
