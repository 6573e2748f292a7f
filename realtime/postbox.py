"""Messages that wait to be sent: those of all sockets of this process, several in one transaction.

On the event loop, which knows who waits; the work is done in a few threads. While one transaction
is on its way more messages come, and they make up the next. A thread's messages go in the order in
which they came: while one of them is being written or tried again, the others of it wait.
"""

import asyncio
import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakKeyDictionary

import structlog
from django.db import close_old_connections

from accounts.refusals import Refusal
from realtime import figures
from threads.actions.messages import Sending, send_together
from threads.models import Message

log = structlog.get_logger(__name__)

# Transactions at once: while the store works at one, the next is made ready.
LANES = 2
# In one transaction: of all threads, and of one, so that a busy one leaves room for the others.
MOST, MOST_OF_ONE = 16, 8
# For those that have to go by themselves, and may take their time.
ALONE = 16


@dataclass(eq=False)
class Parcel:
    sending: Sending
    done: asyncio.Future[Message]
    came_at: float = field(default_factory=time.monotonic)

    @property
    def thread_id(self) -> str:
        return self.sending.thread_id

    def settle(self, error: Exception | None = None) -> None:
        if self.done.done():
            return
        figures.SEND.observe(time.monotonic() - self.came_at)
        error = self.sending.refusal or error
        if error is not None:
            self.done.set_exception(error)
        elif self.sending.message is not None:
            self.done.set_result(self.sending.message)


class Postbox:
    def __init__(self) -> None:
        self._waiting: dict[str, deque[Parcel]] = {}
        # Threads that are being written to.
        self._busy: set[str] = set()
        self._free_lanes = LANES
        self._together = ThreadPoolExecutor(LANES, thread_name_prefix="together")
        self._alone = ThreadPoolExecutor(ALONE, thread_name_prefix="alone")

    def submit(self, sending: Sending) -> asyncio.Future[Message]:
        parcel = Parcel(sending, asyncio.get_running_loop().create_future())
        self._waiting.setdefault(sending.thread_id, deque()).append(parcel)
        self._go()
        return parcel.done

    def _go(self) -> None:
        while self._free_lanes and (parcels := self._take()):
            self._free_lanes -= 1
            now = time.monotonic()
            figures.GROUP.observe(len(parcels))
            for parcel in parcels:
                figures.WAIT.observe(now - parcel.came_at)
            work = asyncio.get_running_loop().run_in_executor(
                self._together, send_together, [parcel.sending for parcel in parcels]
            )
            work.add_done_callback(partial(self._written, parcels))

    def _take(self) -> list[Parcel]:
        """Those who have waited longest, as many as go together."""
        parcels: list[Parcel] = []
        for thread_id, waiting in list(self._waiting.items()):
            if len(parcels) >= MOST:
                break
            if thread_id in self._busy:
                continue
            self._busy.add(thread_id)
            most = min(MOST_OF_ONE, MOST - len(parcels))
            parcels += [waiting.popleft() for _ in range(min(most, len(waiting)))]
            if not waiting:
                del self._waiting[thread_id]
        return parcels

    def _written(self, parcels: list[Parcel], work: asyncio.Future[None]) -> None:
        self._free_lanes += 1
        if error := work.exception():
            log.error("not_sent_together", exc_info=error)
        left: dict[str, list[Parcel]] = {}
        for parcel in parcels:
            if parcel.sending.is_done:
                parcel.settle()
            else:
                left.setdefault(parcel.thread_id, []).append(parcel)
        for thread_id, rest in left.items():
            self._send_alone(thread_id, rest)
        self._free(parcel.thread_id for parcel in parcels if parcel.thread_id not in left)

    def _send_alone(self, thread_id: str, parcels: list[Parcel]) -> None:
        work = asyncio.get_running_loop().run_in_executor(
            self._alone, _run_each, [parcel.sending for parcel in parcels]
        )

        def done(work: asyncio.Future[list[Exception | None]]) -> None:
            for parcel, error in zip(parcels, work.result(), strict=True):
                parcel.settle(error)
            self._free([thread_id])

        work.add_done_callback(done)

    def _free(self, thread_ids: Iterable[str]) -> None:
        self._busy.difference_update(thread_ids)
        self._go()


def _run_each(sendings: list[Sending]) -> list[Exception | None]:
    """What became of each; one after the other, whatever becomes of those before."""
    errors: list[Exception | None] = []
    for sending in sendings:
        try:
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


_postboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, Postbox] = WeakKeyDictionary()


def postbox() -> Postbox:
    """That of this event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _postboxes:
        _postboxes[loop] = Postbox()
    return _postboxes[loop]
