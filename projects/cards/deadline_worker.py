"""Background worker for card deadlines and payment reminders.

It applies the transitions of cards that are due, and resumes deadlines that a crash left paused.
Cards that became due during an outage are processed after it."""

import threading

import structlog
from django.db import close_old_connections, connection

from contracts.actions import reminders
from contracts.cards import deadlines, warnings
from contracts.cards.locks import access_card
from contracts.cards.transitions import apply_due_transition
from core.outbox.processing import process_now
from threads.dynamodb import keys
from threads.models import Thread

log = structlog.get_logger(__name__)

# Deadlines are shown to the minute.
INTERVAL_SECONDS = 10.0


def process_due_cards() -> int:
    """Returns how many cards changed. A card that fails does not delay the others."""
    return sum(_move(card_id) for card_id in deadlines.list_due_cards())


def _move(card_id: str) -> bool:
    try:
        thread_id = access_card(None, card_id).thread_id
        holds = _holds(thread_id)
        for why in holds:
            # The hold was placed earlier, but its signal was lost.
            process_now(deadlines.pause_deadlines(thread_id, why))
        if holds:
            return False
        done = apply_due_transition(card_id)
    except Exception:
        log.exception("card_deadline_failed", card=card_id)
        return False
    if done is None:
        return False
    process_now(done.entries)
    return True


def warn_of_deadlines() -> int:
    """Returns how many cards got a warning. Those of a thread on hold wait until it is resumed."""
    return sum(_warn(card_id) for card_id in warnings.list_cards_to_warn())


def _warn(card_id: str) -> bool:
    try:
        if _holds(access_card(None, card_id).thread_id):
            return False
        entries = warnings.warn_of_deadline(card_id)
    except Exception:
        log.exception("card_warning_failed", card=card_id)
        return False
    process_now(entries)
    return bool(entries)


def _holds(thread_id: str) -> set[str]:
    """Reasons why the deadlines of a thread must be paused now."""
    thread = Thread.find(keys.thread_pk(thread_id), keys.THREAD)
    if thread is None:
        return {deadlines.LOCK}
    why = {deadlines.LOCK: thread.is_locked, deadlines.HOLD: bool(thread.soft_block)}
    return {name for name, holds in why.items() if holds}


def resume_stale_pauses() -> None:
    """Resumes deadlines whose hold or lock has ended. Cases resume them on their own."""
    for thread_id, why in deadlines.list_pauses():
        if why != deadlines.CASE and why not in _holds(thread_id):
            process_now(deadlines.resume_deadlines(thread_id, why))


def send_payment_reminders() -> int:
    """Returns how many threads got a reminder. A thread that fails does not delay the others."""
    return sum(_remind(thread_id) for thread_id in reminders.list_threads_to_check())


def _remind(thread_id: str) -> bool:
    try:
        entries = reminders.remind(thread_id)
    except Exception:
        log.exception("payment_reminder_failed", thread=thread_id)
        return False
    process_now(entries)
    return bool(entries)


def run_deadlines(stop: threading.Event) -> None:
    """Runs in a thread of the server until `stop` is set."""
    while not stop.is_set():
        try:
            close_old_connections()
            resume_stale_pauses()
            process_due_cards()
            warn_of_deadlines()
            send_payment_reminders()
        except Exception:
            log.exception("deadline_worker_failed")
        stop.wait(INTERVAL_SECONDS)
    connection.close()
