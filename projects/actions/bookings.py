"""Actions on the offers, bookings, contracts and payments of a thread.

Each action stores the record in SQL and then processes its outbox entries, which update the thread
in DynamoDB. If that fails, the relay retries it later; the result for the user is the same.
"""

from datetime import datetime
from typing import Any

from accounts.models import User
from contracts.actions import documents, groups, manifests, payments
from contracts.cards import proposals, transitions
from contracts.cards.locks import access_card
from contracts.cards.superseding import OFFER
from contracts.cards.types import TYPES
from contracts.cards.types.offer import OfferInput
from contracts.models import BookingGroup, Card, DeliverableManifest, Leg, Offer, Receipt
from contracts.queries import access_leg, access_offer, access_receipt, find_offer_card
from contracts.refusals import not_found
from contracts.schedule import list_warnings
from contracts.terms import Terms
from core.outbox.processing import process_now
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from projects.actions.cards import transition_card
from threads import cache, policy
from threads.cache import CachedThread
from threads.permissions import check_can_write, check_not_held


def make_offer(
    user: User,
    *,
    thread_id: str,
    key: str,
    title: str,
    currency: str,
    terms: list[Terms],
    valid_until: datetime | None = None,
    changes: str = "",
) -> Offer:
    """Offers new bookings, or new terms for the booking `changes`."""
    cached, leg = _check_offer(user, thread_id, title, terms, changes)
    if Offer.objects.filter(proposed_by=user, key=key).exists():
        # A repeat of a form that was sent before offers had cards.
        raise Refusal("CLIENT_ID_REUSED", "This offer was already sent.")
    given = offer_input(title, currency, terms, valid_until)
    if leg is not None:
        done = proposals.propose(
            user, type_name=OFFER, thread_id=thread_id, leg_id=leg.id, key=key, given=given
        )
    else:
        thread = cached.thread
        people = User.objects.in_bulk([thread.buyer_id, thread.seller_id])
        done = proposals.propose_offer(
            user,
            thread_id=thread_id,
            buyer=people[thread.buyer_id],
            seller=people[thread.seller_id],
            key=key,
            given=given,
        )
    process_now(done.entries)
    return _offer_of(done.card)


def counter_offer(
    user: User,
    *,
    card_id: str,
    version: int,
    key: str,
    title: str,
    currency: str,
    terms: list[Terms],
    valid_until: datetime | None = None,
) -> Offer:
    """Replaces an open offer by another one."""
    card = access_card(user, card_id)
    _check_offer(user, card.thread_id, title, terms, card.leg_id or "")
    given = offer_input(title, currency, terms, valid_until)
    transition_card(
        user, card_id=card_id, transition="counter", version=version, key=key, given=given
    )
    return _offer_of(Card.objects.select_related("offer").get(counters=card_id))


def offer_input(
    title: str, currency: str, terms: list[Terms], valid_until: datetime | None
) -> dict[str, Any]:
    """The terms as the card type takes them."""
    parts = [each.to_json() for each in terms]
    return {"title": title, "currency": currency, "terms": parts, "valid_until": valid_until}


def _offer_of(card: Card) -> Offer:
    assert card.offer is not None
    return card.offer


def review_offer(
    user: User,
    *,
    thread_id: str,
    title: str,
    currency: str,
    terms: list[Terms],
    valid_until: datetime | None = None,
    changes: str = "",
) -> list[str]:
    """Runs the checks of `make_offer` without storing an offer. Returns what its author should know
    about the seller's schedule before it is sent."""
    cached, leg = _check_offer(user, thread_id, title, terms, changes)
    given = OfferInput(**offer_input(title, currency, terms, valid_until))
    TYPES[OFFER].build_payload(leg, given, user)
    seller = User.objects.get(pk=leg.seller_id if leg else cached.thread.seller_id)
    return list_warnings(seller, [each.times for each in terms], viewer=user, leg=leg)


def _check_offer(
    user: User, thread_id: str, title: str, terms: list[Terms], changes: str
) -> tuple[CachedThread, Leg | None]:
    cached = _access_as_principal(user, thread_id)
    check_rate_limit("proposal", user.id)
    texts = [text for each in terms for text in (each.service, each.place)]
    policy.check_text(cached.thread, title, *texts)
    return cached, _access_leg_of_thread(user, thread_id, changes) if changes else None


def _access_as_principal(user: User, thread_id: str) -> CachedThread:
    """Offers are made by the buyer or the seller, where they can send messages."""
    cached = cache.reload(thread_id)
    check_can_write(cached, user.id)
    if user.id not in (cached.thread.buyer_id, cached.thread.seller_id):
        raise Refusal("ACTION_FORBIDDEN", "Only the buyer and the seller can make an offer.")
    return cached


def _access_leg_of_thread(user: User, thread_id: str, leg_id: str) -> Leg:
    leg = access_leg(user, leg_id)
    if leg.thread_id != thread_id:
        raise not_found("booking")
    return leg


def accept_offer(user: User, *, offer_id: str) -> Offer:
    return _answer(user, offer_id, "accept")


def decline_offer(user: User, *, offer_id: str, reason: str = "") -> Offer:
    return _answer(user, offer_id, "decline", reason=reason)


def withdraw_offer(user: User, *, offer_id: str) -> Offer:
    return _answer(user, offer_id, "withdraw")


def _answer(user: User, offer_id: str, transition: str, **given: str) -> Offer:
    """Answers the current version of the card. A repeat of the same answer changes nothing."""
    card = find_offer_card(access_offer(user, offer_id))
    if card is None:
        # Stored before offers had cards; the relay is about to add one.
        raise Refusal("TRY_AGAIN")
    changed = transition_card(
        user,
        card_id=card.id,
        transition=transition,
        version=card.version,
        key=transition,
        given=given,
    )
    return Offer.objects.get(pk=changed.offer_id)


def sign_contract(user: User, *, document_id: str, number: int, **signature: Any) -> None:
    """Signs through the open signature card, if there is one, so that the card closes as well."""
    card = Card.objects.filter(
        type="sign", is_open=True, payload__document=document_id, payload__number=number
    ).first()
    if card is None or user.id not in card.waits_for:
        process_now(
            documents.sign_version(user, document_id=document_id, number=number, **signature)
        )
        return
    key = f"sign-{card.version}"
    done = transitions.apply_transition(
        user, card_id=card.id, name="sign", version=card.version, key=key, given=signature
    )
    process_now(done.entries)


def record_payment(user: User, *, leg_id: str, **payment: Any) -> Receipt:
    access_leg(user, leg_id)
    receipt, entries = payments.record_payment(user, leg_id=leg_id, **payment)
    process_now(entries)
    return receipt


def reverse_payment(user: User, *, receipt_id: str, key: str) -> Receipt:
    access_receipt(user, receipt_id)
    receipt, entries = payments.reverse_payment(user, receipt_id=receipt_id, key=key)
    process_now(entries)
    return receipt


def link_bookings(user: User, *, title: str, leg_ids: list[str]) -> BookingGroup:
    group, entries = groups.link_legs(user, title=title, leg_ids=leg_ids)
    process_now(entries)
    return group


def deliver_finals(
    user: User, *, leg_id: str, key: str, title: str, listing: str
) -> DeliverableManifest:
    author = cache.reload(access_leg(user, leg_id).thread_id).people.get(user.id)
    if author is not None:
        check_not_held(author)
    check_rate_limit("delivery", user.id)
    manifest, entries = manifests.add_manifest(
        user, leg_id=leg_id, key=key, title=title, listing=listing
    )
    process_now(entries)
    return manifest
