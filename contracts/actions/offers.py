"""Checks the terms of offers, books accepted ones and changes the terms of bookings.

Offers are made and answered as cards: contracts/cards/types/offer.py.
"""

from dataclasses import asdict
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from contracts.actions.documents import issue_version
from contracts.actions.revisions import record_leg_change
from contracts.currencies import CURRENCIES
from contracts.models import BookingGroup, Dossier, Leg, Offer
from contracts.schedule import check_is_available, find_date_error, has_overlap, lock_seller
from contracts.status import CHANGE, PROPOSE_CHANGE, check_status
from contracts.terms import MAX_LEGS, Terms
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

DEFAULT_VALIDITY = timedelta(days=7)
MAX_VALIDITY = timedelta(days=90)


def check_terms(title: str, currency: str, terms: list[Terms], changes: Leg | None) -> None:
    if not title.strip():
        raise Refusal("OFFER_INVALID", "Give the offer a title.")
    if currency not in CURRENCIES or (changes and changes.currency != currency):
        raise Refusal("OFFER_INVALID", "Choose one of the listed currencies.")
    if not 1 <= len(terms) <= (1 if changes else MAX_LEGS):
        raise Refusal("OFFER_INVALID", f"An offer can have 1 to {MAX_LEGS} parts.")
    if changes:
        check_status(changes, PROPOSE_CHANGE)
    for each in terms:
        each.check()
        wrong = find_date_error(each.times, _times_of(changes) if changes else None)
        if wrong:
            raise Refusal("OFFER_INVALID", wrong)
    if has_overlap([each.times for each in terms]):
        raise Refusal("OFFER_INVALID", "Two parts of this offer overlap. Change one of the times.")


def _times_of(leg: Leg) -> tuple[datetime, datetime]:
    return leg.starts_at, leg.ends_at


def default_valid_until(terms: list[Terms], now: datetime) -> datetime:
    """A week, or until the start if that is earlier."""
    return min(now + DEFAULT_VALIDITY, _latest_validity(terms, now))


def find_validity_error(until: datetime, terms: list[Terms]) -> str:
    """The error as a sentence, or empty."""
    now = timezone.now()
    if until <= now:
        return "Choose a time in the future."
    if until > _latest_validity(terms, now):
        return "Choose a time before the start, at most 90 days ahead."
    return ""


def _latest_validity(terms: list[Terms], now: datetime) -> datetime:
    """The start does not limit a change of a booking that has already started."""
    starts = [each.starts_at for each in terms if each.starts_at > now]
    return min([now + MAX_VALIDITY, *starts])


def book_offer(offer: Offer, *, by: User) -> list[Leg]:
    """Books all legs, issues their contracts and binds the thread. The caller has locked the
    seller and the open offers and cards of the thread."""
    terms = [Terms.from_json(stored) for stored in offer.terms]
    for each in terms:
        _check_can_be_booked(offer, each, by)
    legs = [_book(offer, each) for each in terms]
    _bind(Dossier.objects.select_for_update().get(pk=offer.thread_id), offer, legs)
    return legs


def _check_can_be_booked(offer: Offer, terms: Terms, user: User) -> None:
    wrong = find_date_error(terms.times)
    if wrong:
        raise Refusal("ACTION_INVALID_STATE", wrong, hint="Suggest another time.")
    check_is_available(offer.seller, terms.times, asked_by=user)


def _book(offer: Offer, terms: Terms) -> Leg:
    leg = Leg.objects.create(
        offer=offer,
        thread_id=offer.thread_id,
        buyer=offer.buyer,
        seller=offer.seller,
        currency=offer.currency,
        **asdict(terms),
    )
    issue_version(leg)
    return leg


def _bind(dossier: Dossier, offer: Offer, legs: list[Leg]) -> None:
    """Binds the thread to its only leg, or to a group once it has several."""
    first = dossier.leg
    if first is None and dossier.group is None and len(legs) == 1:
        dossier.leg = legs[0]
        dossier.save()
        return
    if first is not None and first.group_id:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "This booking is part of a group. Start a new conversation for another booking.",
        )
    group = dossier.group or BookingGroup.objects.create(
        title=offer.title, buyer=offer.buyer, thread_id=offer.thread_id
    )
    leg_ids = [leg.pk for leg in (first, *legs) if leg is not None]
    Leg.objects.filter(pk__in=leg_ids).update(group=group)
    dossier.leg, dossier.group = None, group
    dossier.save()


@transaction.atomic
def change_leg(leg: Leg, terms: Terms, *, by: User, key: str = "") -> list[OutboxEntry]:
    """Changes the terms of a leg and issues a new contract version, which voids the signatures."""
    lock_seller(leg.seller_id)
    leg = Leg.objects.select_for_update().get(pk=leg.pk)
    check_status(leg, CHANGE)
    if terms.times != _times_of(leg):
        _check_can_be_moved(leg, terms, by)
    for name, value in asdict(terms).items():
        setattr(leg, name, value)
    leg.save()
    version = issue_version(leg)
    text = f"The booking was changed: {leg.service}. You both need to sign version "
    text += f"{version.number} of the contract."
    return record_leg_change(leg, by=by, key=key or f"{leg.id}:version:{version.number}", text=text)


def _check_can_be_moved(leg: Leg, terms: Terms, by: User) -> None:
    wrong = find_date_error(terms.times, _times_of(leg))
    if wrong:
        raise Refusal("ACTION_INVALID_STATE", wrong, hint="Suggest another time.")
    check_is_available(leg.seller, terms.times, asked_by=by, leg=leg)
