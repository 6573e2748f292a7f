"""Warns both parties a day before the deadline of a card, for types that have a warning."""

from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from contracts.actions.revisions import record_change
from contracts.cards.locks import lock_card
from contracts.cards.proposals import WARNED_BEFORE
from contracts.cards.types import TYPES
from contracts.models.cards import Card
from core.outbox.models import OutboxEntry

WARNED_TYPES = [kind.name for kind in TYPES.values() if kind.warning]


def list_cards_to_warn() -> list[str]:
    now = timezone.now()
    found = Card.objects.filter(_is_near(now), type__in=WARNED_TYPES)
    return list(found.order_by("due_at").values_list("id", flat=True))


def _is_near(now: datetime) -> Q:
    """Paused deadlines and deadlines that have passed are excluded."""
    is_near = Q(due_at__gt=now, due_at__lte=now + WARNED_BEFORE)
    return is_near & Q(warned_at__isnull=True, stopped_at__isnull=True)


@transaction.atomic
def warn_of_deadline(card_id: str) -> list[OutboxEntry]:
    """Queues the system message once, unless the card changed in the meantime."""
    now = timezone.now()
    card, _ = lock_card(card_id)
    if not Card.objects.filter(_is_near(now), pk=card_id).update(warned_at=now):
        return []
    kind = TYPES[card.type]
    text = kind.warning.format(what=kind.summary(card.payload))
    shown = {"id": card.id, "version": card.version}
    # Does not start with the card's id: the card itself does not say it, so that it stays visible
    # below the card.
    key = f"warning:{card.id}"
    return [record_change(card.thread_id, by=card.proposed_by, key=key, text=text, card=shown)]
