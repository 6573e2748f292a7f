"""Runs handlers: of entries that are due, for the relay; of its own entries, for an action."""

import random
import time
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from datetime import timedelta
from enum import StrEnum

import structlog
from django.db import InterfaceError, OperationalError
from django.utils import timezone

from core.outbox import claims
from core.outbox.handlers import HANDLERS, Postponed, entry_processed
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

log = structlog.get_logger(__name__)

MAX_BATCH_SIZE = 100
# In a row, in one batch: then a store is away, and the others would not go through either.
MAX_UNAVAILABLE = 3
# A handler that fails so often makes its entry a dead letter.
MAX_FAILURES = 10
BACKOFF_SECONDS = 1.0
MAX_BACKOFF_SECONDS = {"failed": 600.0, "postponed": 60.0, "unavailable": 30.0}
# How long an action tries to see its own entries processed before it answers.
WAIT_SECONDS = 2.0
POLL_SECONDS = 0.02

_running: ContextVar[frozenset[str]] = ContextVar("running", default=frozenset())


class HandlerOutcome(StrEnum):
    DONE = "done"
    POSTPONED = "postponed"
    # A store did not answer: not the entry's fault, however long it lasts.
    UNAVAILABLE = "unavailable"
    FAILED = "failed"
    DEAD = "dead"
    # The lease ended before the handler did.
    LOST = "lost"


def process_due(*, limit: int = MAX_BATCH_SIZE, stop: Callable[[], bool] = lambda: False) -> int:
    """One entry of each key in turn, the longest due first; returns how many are done."""
    tried = done = unavailable = 0
    while tried < limit:
        claimed = 0
        for entry_id in claims.list_due(limit - tried):
            entry = None if stop() else claims.claim(entry_id)
            if entry is None:
                continue
            claimed += 1
            outcome = process(entry)
            done += outcome is HandlerOutcome.DONE
            unavailable = unavailable + 1 if outcome is HandlerOutcome.UNAVAILABLE else 0
            if unavailable == MAX_UNAVAILABLE:
                return done
        tried += claimed
        if not claimed:
            break
    return done


def process_now(entries: Iterable[OutboxEntry]) -> None:
    """By the action that wrote them, once they are committed. Never raises: what does not go
    through is left to the relay."""
    last: dict[str, int] = {}
    for entry in entries:
        last[entry.ordering_key] = max(entry.pk, last.get(entry.ordering_key, 0))
    deadline = time.monotonic() + WAIT_SECONDS
    for key, last_id in last.items():
        _process_key(key, last_id, deadline)


def _process_key(key: str, last_id: int, deadline: float) -> None:
    """In order, up to the action's own last entry."""
    while True:
        head = claims.pending().filter(ordering_key=key, pk__lte=last_id).order_by("id").first()
        if head is None or head.claimed_by in _running.get():
            return
        entry = claims.claim(head.pk, at_once=True)
        if entry is not None:
            if process(entry) is not HandlerOutcome.DONE:
                return
        elif head.claimed_until is None and head.failures:
            return
        if time.monotonic() > deadline:
            return
        if entry is None:
            # Somebody else is processing it, and will be done in a moment.
            time.sleep(POLL_SECONDS)


def process(entry: OutboxEntry) -> HandlerOutcome:
    """Runs the handler of an entry that was claimed, and keeps what came of it."""
    token = _running.set(_running.get() | {entry.claimed_by})
    try:
        outcome, error = _run(entry)
    finally:
        _running.reset(token)
    outcome = _settle(entry, outcome, error)
    entry_processed.send(sender=OutboxEntry, entry=entry, outcome=outcome)
    return outcome


def _run(entry: OutboxEntry) -> tuple[HandlerOutcome, str]:
    if entry.failures >= MAX_FAILURES:
        return HandlerOutcome.FAILED, "the process died"
    try:
        HANDLERS[entry.kind](entry)
    except Postponed:
        return HandlerOutcome.POSTPONED, ""
    except claims.LeaseLost:
        return HandlerOutcome.LOST, ""
    except (OperationalError, InterfaceError) as error:
        log.warning("outbox_unavailable", entry=entry.pk, kind=entry.kind, error=str(error))
        return HandlerOutcome.UNAVAILABLE, type(error).__name__
    except Refusal as refusal:
        if refusal.code == "TRY_AGAIN":
            log.warning("outbox_unavailable", entry=entry.pk, kind=entry.kind)
            return HandlerOutcome.UNAVAILABLE, refusal.code
        log.exception("outbox_handler_failed", entry=entry.pk, kind=entry.kind)
        return HandlerOutcome.FAILED, refusal.code
    except Exception as error:
        log.exception("outbox_handler_failed", entry=entry.pk, kind=entry.kind)
        # The name alone: what an error says may hold what people wrote.
        return HandlerOutcome.FAILED, type(error).__name__
    return HandlerOutcome.DONE, ""


def _settle(entry: OutboxEntry, outcome: HandlerOutcome, error: str) -> HandlerOutcome:
    if outcome is HandlerOutcome.LOST:
        return outcome
    if outcome is HandlerOutcome.DONE:
        return outcome if claims.complete(entry) else HandlerOutcome.LOST
    failures = entry.failures + (outcome is HandlerOutcome.FAILED)
    if failures >= MAX_FAILURES:
        claims.mark_dead(entry, failures=failures, error=error)
        log.error("outbox_dead_letter", entry=entry.pk, kind=entry.kind, error=error)
        return HandlerOutcome.DEAD
    wait = timedelta(seconds=backoff(entry.attempts, MAX_BACKOFF_SECONDS[outcome]))
    claims.release(entry, due_at=timezone.now() + wait, failures=failures, error=error)
    return outcome


def backoff(attempts: int, longest: float) -> float:
    """Twice as long after each attempt, up to a limit; between half of that and all of it."""
    wait = min(longest, BACKOFF_SECONDS * 2 ** min(attempts - 1, 20))
    return random.uniform(wait / 2, wait)
