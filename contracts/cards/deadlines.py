"""The clock of a card: it moves what is due, and stands still while staff look at the thread.

Whatever stops it is a row of its own, so that two reasons at once do not undo each other. While
there is one, no card of the thread is due; when the last goes, each has as much time as it had.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from contracts.actions.revisions import KIND, record_change
from contracts.models.cards import Card, ClockStop
from core.outbox.models import OutboxEntry

HOLD, LOCK, CASE = "hold", "lock", "case"


def list_due_cards() -> list[str]:
    """Ids of cards whose time has come, the longest overdue first. All of them, however many an
    outage has left: those that cannot be moved must not hide the others."""
    due = Card.objects.filter(due_at__lte=timezone.now(), stopped_at__isnull=True)
    return list(due.order_by("due_at").values_list("id", flat=True))


def list_pauses() -> list[tuple[str, str]]:
    return list(ClockStop.objects.values_list("thread_id", "why"))


@transaction.atomic
def pause_deadlines(thread_id: str, why: str) -> list[OutboxEntry]:
    """For all cards of the thread; a second time for the same reason changes nothing."""
    now = timezone.now()
    ClockStop.objects.get_or_create(thread_id=thread_id, why=why, defaults={"since": now})
    running = _ticking(thread_id).filter(stopped_at__isnull=True)
    return _change(running, stopped_at=now)


@transaction.atomic
def resume_deadlines(thread_id: str, why: str) -> list[OutboxEntry]:
    """If nothing else stops it."""
    ClockStop.objects.filter(thread_id=thread_id, why=why).delete()
    if is_paused(thread_id):
        return []
    return _change(_ticking(thread_id).filter(stopped_at__isnull=False), stopped_at=None)


def is_paused(thread_id: str) -> bool:
    return ClockStop.objects.filter(thread_id=thread_id).exists()


def _ticking(thread_id: str) -> QuerySet[Card]:
    return Card.objects.filter(thread_id=thread_id, is_open=True, due_at__isnull=False)


def _change(cards: QuerySet[Card], *, stopped_at: datetime | None) -> list[OutboxEntry]:
    entries = []
    # In one order, as whoever moves one of them: nobody waits for somebody who waits for them.
    locked = cards.select_for_update(of=("self",)).select_related("proposed_by").order_by("id")
    for card in locked:
        if stopped_at is None and card.due_at and card.stopped_at:
            # As much time as there was when it stopped.
            card.due_at = card.due_at + (timezone.now() - card.stopped_at)
        card.stopped_at = stopped_at
        card.save(update_fields=["due_at", "stopped_at"])
        entries.append(refresh(card))
    return entries


def refresh_other_cards(card: Card, done: list[OutboxEntry]) -> list[OutboxEntry]:
    """Of the other open cards of a booking whose status changed, and with it what they offer;
    `done` has entries for some of them already."""
    refreshed = [
        each.payload["card"]["id"] for each in done if each.kind == KIND and "card" in each.payload
    ]
    others = Card.objects.filter(leg=card.leg_id, is_open=True).exclude(
        pk__in=[card.pk, *refreshed]
    )
    return [refresh(other) for other in others.select_related("proposed_by").order_by("id")]


def refresh(card: Card) -> OutboxEntry:
    """Nothing is said of it; the table just shows what is so."""
    return record_change(
        card.thread_id, by=card.proposed_by, key="", card={"id": card.id, "version": 0}
    )
