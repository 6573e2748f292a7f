"""Runs without anybody online: moves the cards that are due, and lets a clock go on that a crash
left standing. Whatever an outage kept from being moved is moved when it is over: due is due."""

import threading

import structlog
from django.db import close_old_connections, connection

from contracts.cards import deadlines
from contracts.cards.locks import access_card
from contracts.cards.transitions import apply_due_transition
from threads.dynamodb import keys
from threads.models import Thread
from threads.outbox_handlers import process_entries

log = structlog.get_logger(__name__)

# Shown to the minute, kept well within it.
EVERY = 10.0


def process_due_cards() -> int:
    """How many were moved. One that cannot be holds up no other."""
    return sum(_move(card_id) for card_id in deadlines.list_due_cards())


def _move(card_id: str) -> bool:
    try:
        thread_id = access_card(None, card_id).thread_id
        holds = _holds(thread_id)
        for why in holds:
            # The hold came first; only its word did not get here.
            process_entries(deadlines.pause_deadlines(thread_id, why))
        if holds:
            return False
        done = apply_due_transition(card_id)
    except Exception:
        log.exception("card_not_moved", card=card_id)
        return False
    if done is None:
        return False
    process_entries(done.entries)
    return True


def _holds(thread_id: str) -> set[str]:
    """Why nothing may happen in a thread just now; empty if it may."""
    thread = Thread.find(keys.thread_pk(thread_id), keys.THREAD)
    if thread is None:
        return {deadlines.LOCK}
    why = {deadlines.LOCK: thread.is_locked, deadlines.HOLD: bool(thread.soft_block)}
    return {name for name, holds in why.items() if holds}


def resume_stale_pauses() -> None:
    """Where the hold is over, and only the clock was not told. A case speaks for itself."""
    for thread_id, why in deadlines.list_pauses():
        if why != deadlines.CASE and why not in _holds(thread_id):
            process_entries(deadlines.resume_deadlines(thread_id, why))


def run_deadlines(stop: threading.Event) -> None:
    """The server runs this in a thread of its own."""
    while not stop.is_set():
        try:
            close_old_connections()
            resume_stale_pauses()
            process_due_cards()
        except Exception:
            log.exception("clock_failed")
        stop.wait(EVERY)
    connection.close()
