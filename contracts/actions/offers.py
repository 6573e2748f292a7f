"""Offers: made, taken back, declined, accepted. Accepting is what makes a booking."""

from dataclasses import asdict, dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from contracts.actions.documents import issue_version
from contracts.actions.revisions import record_change, record_leg_change
from contracts.actions.superseding import (
    close_alternatives,
    close_changes,
    lock_changes,
    price_of,
)
from contracts.models import BookingGroup, Dossier, Leg, Offer
from contracts.models.bookings import ACCEPTED, DECLINED, PENDING, SUPERSEDED, WITHDRAWN
from contracts.models.fields import CURRENCIES
from contracts.schedule import check_is_available, find_date_error, has_overlap, lock_seller
from contracts.status import CHANGE, DECLINE_CHANGE, PROPOSE_CHANGE, WITHDRAW_CHANGE, check_status
from contracts.terms import MAX_LEGS, Terms
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

ANSWERED = {
    ACCEPTED: "accepted",
    DECLINED: "declined",
    WITHDRAWN: "withdrawn",
    SUPERSEDED: "closed, because another one was accepted",
}


@dataclass
class OfferResult:
    offer: Offer
    entries: list[OutboxEntry]


@transaction.atomic
def make_offer(
    proposer: User,
    *,
    thread_id: str,
    buyer: User,
    seller: User,
    key: str,
    title: str,
    currency: str,
    terms: list[Terms],
    changes: Leg | None = None,
) -> OfferResult:
    before = Offer.objects.filter(proposed_by=proposer, key=key).first()
    if before is not None:
        return _repeated(before, thread_id, title, terms)
    if changes is not None:
        changes = Leg.objects.select_for_update().get(pk=changes.pk)
    check_terms(title, currency, terms, changes)
    offer, is_new = Offer.objects.get_or_create(
        proposed_by=proposer,
        key=key,
        defaults={
            "thread_id": thread_id,
            "buyer": buyer,
            "seller": seller,
            "title": title,
            "currency": currency,
            "terms": [each.kept() for each in terms],
            "changes": changes,
        },
    )
    if not is_new:
        return _repeated(offer, thread_id, title, terms)
    what = "proposed a change" if changes else "made an offer"
    says = f"{proposer.display_name} {what}: {title}, {price_of(offer)}."
    return OfferResult(
        offer, [record_change(thread_id, by=proposer, key=f"{offer.id}:made", says=says)]
    )


def check_terms(title: str, currency: str, terms: list[Terms], changes: Leg | None) -> None:
    if not title.strip():
        raise Refusal("OFFER_INVALID", "Give the offer a title.")
    if currency not in CURRENCIES or (changes and changes.currency != currency):
        raise Refusal("OFFER_INVALID", "That is not a currency we can book in.")
    if not 1 <= len(terms) <= (1 if changes else MAX_LEGS):
        raise Refusal("OFFER_INVALID", f"An offer has one to {MAX_LEGS} parts.")
    if changes:
        check_status(changes, PROPOSE_CHANGE)
    for each in terms:
        each.check()
        wrong = find_date_error(each.times, _times_of(changes) if changes else None)
        if wrong:
            raise Refusal("OFFER_INVALID", wrong)
    if has_overlap([each.times for each in terms]):
        raise Refusal("OFFER_INVALID", "Two parts of this offer are at the same time.")


def _times_of(leg: Leg) -> tuple[datetime, datetime]:
    return leg.starts_at, leg.ends_at


def _repeated(offer: Offer, thread_id: str, title: str, terms: list[Terms]) -> OfferResult:
    same = (offer.thread_id, offer.title, offer.terms) == (
        thread_id,
        title,
        [each.kept() for each in terms],
    )
    if not same:
        raise Refusal("CLIENT_ID_REUSED", "This offer was already made with other terms.")
    return OfferResult(offer, _waiting(offer.thread_id))


@transaction.atomic
def decline_offer(user: User, *, offer_id: str) -> OfferResult:
    return _turn_down(user, _access(user, offer_id), DECLINED)


@transaction.atomic
def withdraw_offer(user: User, *, offer_id: str) -> OfferResult:
    return _turn_down(user, _access(user, offer_id), WITHDRAWN)


def _turn_down(user: User, offer: Offer, status: str) -> OfferResult:
    if not _answer(user, offer, status):
        return OfferResult(offer, _waiting(offer.thread_id))
    if offer.changes is not None:
        action = WITHDRAW_CHANGE if status == WITHDRAWN else DECLINE_CHANGE
        check_status(Leg.objects.select_for_update().get(pk=offer.changes_id), action)
    word = "took back" if status == WITHDRAWN else "declined"
    says = f"{user.display_name} {word} the offer: {offer.title}."
    return OfferResult(
        offer, [record_change(offer.thread_id, by=user, key=f"{offer.id}:{status}", says=says)]
    )


@transaction.atomic
def accept_offer(user: User, *, offer_id: str) -> OfferResult:
    """The legs, their contracts, and what the thread is bound to, all at once or not at all."""
    offer = _access(user, offer_id)
    if not _answer(user, offer, ACCEPTED):
        return OfferResult(offer, _waiting(offer.thread_id))
    if offer.changes is not None:
        return OfferResult(offer, change_leg(offer.changes, Terms.read(offer.terms[0]), by=user))
    terms = [Terms.read(kept) for kept in offer.terms]
    for each in terms:
        _check_can_be_booked(offer, each, user)
    legs = [_book(offer, each) for each in terms]
    says = f"{user.display_name} accepted the offer: {offer.title}, {price_of(offer)}."
    # The dossier is locked by this: what follows happens to one acceptance after the other.
    entry = record_change(offer.thread_id, by=user, key=f"{offer.id}:accepted", says=says)
    _bind(Dossier.objects.get(pk=offer.thread_id), offer, legs)
    return OfferResult(offer, [entry, *close_alternatives(offer, by=user)])


def _lock_offers(offer_id: str) -> None:
    """The seller first, then the open offers of the conversation in one order; legs and cards come
    after them, so that two answers never wait for each other."""
    found = Offer.objects.filter(pk=offer_id).values_list("seller_id", "thread_id").first()
    if found is None:
        return
    seller_id, thread_id = found
    lock_seller(seller_id)
    offers = Offer.objects.filter(Q(thread_id=thread_id, status=PENDING) | Q(pk=offer_id))
    list(offers.select_for_update(of=("self",)).order_by("id").values_list("id"))


def _check_can_be_booked(offer: Offer, terms: Terms, user: User) -> None:
    wrong = find_date_error(terms.times)
    if wrong:
        raise Refusal("ACTION_INVALID_STATE", wrong, hint="Decline it, and ask for another time.")
    check_is_available(offer.seller, terms.times, asked_by=user)


def _access(user: User, offer_id: str) -> Offer:
    _lock_offers(offer_id)
    offer = Offer.objects.select_for_update().filter(pk=offer_id).first()
    if offer is None or user.id not in (offer.buyer_id, offer.seller_id):
        raise Refusal("THREAD_NOT_FOUND", "There is no such offer.")
    return offer


def _answer(user: User, offer: Offer, status: str) -> bool:
    """Whether it is answered now; False if it was already, the same way by the same person."""
    rightful = offer.proposed_by_id if status == WITHDRAWN else offer.answers
    if user.id != rightful:
        raise Refusal("ACTION_FORBIDDEN", "This is for the other side to decide.")
    if offer.status == status:
        return False
    if offer.status != PENDING:
        raise Refusal("ACTION_INVALID_STATE", f"This offer was already {ANSWERED[offer.status]}.")
    offer.status, offer.answered_by, offer.answered_at = status, user, timezone.now()
    offer.save()
    return True


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
    """One leg by itself, or a group as soon as there are several in this conversation."""
    first = dossier.leg
    if first is None and dossier.group is None and len(legs) == 1:
        dossier.leg = legs[0]
        dossier.save()
        return
    if first is not None and first.group_id:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "The booking of this conversation belongs to a group. Start another conversation.",
        )
    group = dossier.group or BookingGroup.objects.create(
        title=offer.title, buyer=offer.buyer, thread_id=offer.thread_id
    )
    together = [leg.pk for leg in (first, *legs) if leg is not None]
    Leg.objects.filter(pk__in=together).update(group=group)
    dossier.leg, dossier.group = None, group
    dossier.save()


@transaction.atomic
def change_leg(leg: Leg, terms: Terms, *, by: User, key: str = "") -> list[OutboxEntry]:
    """Other terms for a leg: what was signed no longer counts, and a new version is issued."""
    lock_seller(leg.seller_id)
    leg = Leg.objects.select_for_update().get(pk=leg.pk)
    check_status(leg, CHANGE)
    if terms.times != _times_of(leg):
        _check_can_be_moved(leg, terms, by)
    lock_changes(leg)
    for name, value in asdict(terms).items():
        setattr(leg, name, value)
    leg.save()
    version = issue_version(leg)
    says = f"The booking was changed: {leg.service}. Version {version.number} of its contract "
    says += "has to be signed by both."
    key = key or f"{leg.id}:version:{version.number}"
    return [*record_leg_change(leg, by=by, key=key, says=says), *close_changes(leg, by=by, key=key)]


def _check_can_be_moved(leg: Leg, terms: Terms, by: User) -> None:
    wrong = find_date_error(terms.times, _times_of(leg))
    if wrong:
        raise Refusal("ACTION_INVALID_STATE", wrong, hint="Suggest another time.")
    check_is_available(leg.seller, terms.times, asked_by=by, leg=leg)


def _waiting(thread_id: str) -> list[OutboxEntry]:
    """For a repeat: what the first attempt may have left undone."""
    waiting = OutboxEntry.objects.filter(kind="booking", done_at__isnull=True)
    return list(waiting.filter(payload__thread=thread_id).order_by("id"))
