"""Offers that are closed because another one was accepted.

An offer can have several parts, so several open offers for new bookings between the same two people
in one conversation are alternatives: accepting one closes the others. A change of a booking closes
the other open changes of the same booking.
"""

from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from contracts.actions.revisions import record_change
from contracts.models import Leg, Offer
from contracts.models.bookings import PENDING, SUPERSEDED
from contracts.money import amount
from core.outbox.models import OutboxEntry

MAX_NAMED = 3


def price_of(offer: Offer) -> str:
    return amount(sum(leg["price_cents"] for leg in offer.terms), offer.currency)


def alternatives_of(offer: Offer) -> QuerySet[Offer]:
    """Open offers for new bookings that are closed when this one is accepted."""
    return Offer.objects.filter(
        thread_id=offer.thread_id,
        buyer=offer.buyer_id,
        seller=offer.seller_id,
        changes__isnull=True,
        status=PENDING,
    ).exclude(pk=offer.pk)


def close_alternatives(offer: Offer, *, by: User) -> list[OutboxEntry]:
    closed = _close(alternatives_of(offer), by)
    if not closed:
        return []
    says = f"{_count(closed, 'offer')} closed, because {by.display_name} accepted another one: "
    key = f"{offer.id}:superseded"
    return [record_change(offer.thread_id, by=by, key=key, says=f"{says}{_named(closed)}.")]


def lock_changes(leg: Leg) -> None:
    """Before the dossier is: whoever declines one of them locks in that order, too."""
    list(_open_changes(leg).select_for_update(of=("self",)).order_by("id").values_list("id"))


def _open_changes(leg: Leg) -> QuerySet[Offer]:
    return Offer.objects.filter(changes=leg, status=PENDING)


def close_changes(leg: Leg, *, by: User, key: str) -> list[OutboxEntry]:
    """Other open changes of a booking that was just changed."""
    closed = _close(_open_changes(leg), by)
    if not closed:
        return []
    says = f"{_count(closed, 'proposed change')} closed, because the booking was changed: "
    return [
        record_change(
            leg.thread_id, by=by, key=f"{key}:superseded", says=f"{says}{_named(closed)}."
        )
    ]


def _close(offers: QuerySet[Offer], by: User) -> list[Offer]:
    locked = list(offers.select_for_update(of=("self",)).order_by("id"))
    for offer in locked:
        offer.status, offer.answered_by, offer.answered_at = SUPERSEDED, by, timezone.now()
        offer.save(update_fields=["status", "answered_by", "answered_at"])
    return locked


def _count(closed: list[Offer], what: str) -> str:
    return f"1 other {what} was" if len(closed) == 1 else f"{len(closed)} other {what}s were"


def _named(closed: list[Offer]) -> str:
    names = [f"{offer.title}, {price_of(offer)}" for offer in closed[:MAX_NAMED]]
    if len(closed) > MAX_NAMED:
        names.append(f"and {len(closed) - MAX_NAMED} more")
    return "; ".join(names)
