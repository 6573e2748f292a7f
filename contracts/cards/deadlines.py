"""Deadlines of cards, which are paused while a thread is on hold, locked or under a case.

Each reason for a pause is a separate row, so that two reasons do not interfere. No card of the
thread is due while one exists. When the last one is removed, each card has the same time left as
before the pause.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from contracts.actions.revisions import BOOKING_ENTRY, record_change
from contracts.models.cards import Card, ClockStop
from core.outbox.models import OutboxEntry

HOLD, LOCK, CASE = "hold", "lock", "case"


def list_due_cards() -> list[str]:
    """Ids of all due cards, the longest overdue first. There is no limit, because cards that cannot
    change must not hide the others."""
    due = Card.objects.filter(due_at__lte=timezone.now(), stopped_at__isnull=True)
    return list(due.order_by("due_at").values_list("id", flat=True))


def list_pauses() -> list[tuple[str, str]]:
    return list(ClockStop.objects.values_list("thread_id", "why"))


@transaction.atomic
def pause_deadlines(thread_id: str, why: str) -> list[OutboxEntry]:
    """Pauses all cards of a thread. Repeating it for the same reason is a no-op."""
    now = timezone.now()
    ClockStop.objects.get_or_create(thread_id=thread_id, why=why, defaults={"since": now})
    running = _with_deadline(thread_id).filter(stopped_at__isnull=True)
    return _change(running, stopped_at=now)


@transaction.atomic
def resume_deadlines(thread_id: str, why: str) -> list[OutboxEntry]:
    """Removes one reason, and resumes the cards if no other is left."""
    ClockStop.objects.filter(thread_id=thread_id, why=why).delete()
    if is_paused(thread_id):
        return []
    return _change(_with_deadline(thread_id).filter(stopped_at__isnull=False), stopped_at=None)


def is_paused(thread_id: str) -> bool:
    return ClockStop.objects.filter(thread_id=thread_id).exists()


def _with_deadline(thread_id: str) -> QuerySet[Card]:
    return Card.objects.filter(thread_id=thread_id, is_open=True, due_at__isnull=False)


def _change(cards: QuerySet[Card], *, stopped_at: datetime | None) -> list[OutboxEntry]:
    entries = []
    # Locked by id, like in `lock_leg`, to avoid deadlocks.
    locked = cards.select_for_update(of=("self",)).select_related("proposed_by").order_by("id")
    for card in locked:
        if stopped_at is None and card.due_at and card.stopped_at:
            # The time left is the same as before the pause.
            card.due_at = card.due_at + (timezone.now() - card.stopped_at)
        card.stopped_at = stopped_at
        card.save(update_fields=["due_at", "stopped_at"])
        entries.append(refresh_card(card))
    return entries


def refresh_other_cards(card: Card, done: list[OutboxEntry]) -> list[OutboxEntry]:
    """Refreshes the other open cards of a booking whose status changed, and with it their buttons.
    Cards with an entry in `done` are skipped."""
    refreshed = [
        each.payload["card"]["id"]
        for each in done
        if each.kind == BOOKING_ENTRY and "card" in each.payload
    ]
    others = Card.objects.filter(leg=card.leg_id, is_open=True).exclude(
        pk__in=[card.pk, *refreshed]
    )
    return [refresh_card(other) for other in others.select_related("proposed_by").order_by("id")]


def refresh_card(card: Card) -> OutboxEntry:
    """Queues an update of the stored card without a system message."""
    return record_change(
        card.thread_id, by=card.proposed_by, key="", card={"id": card.id, "version": 0}
    )
