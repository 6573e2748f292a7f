"""What people do with the records of a thread: the record first, then the conversation follows.

A record that was written is carried to the table at once; if that does not go through, the relay
does it in its own time, and the answer to the person is the same.
"""

from collections.abc import Callable
from typing import Any

from accounts.models import User
from contracts.actions import documents, groups, manifests, offers, payments
from contracts.cards import transitions
from contracts.models import BookingGroup, Card, DeliverableManifest, Leg, Offer, Receipt
from contracts.queries import access_leg, access_offer, access_receipt
from contracts.terms import Terms
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from threads import cache, policy
from threads.actions.messages import check_can_write, check_not_held
from threads.cache import CachedThread
from threads.outbox_handlers import process_entries


def make_offer(
    user: User,
    *,
    thread_id: str,
    key: str,
    title: str,
    currency: str,
    terms: list[Terms],
    changes: str = "",
) -> Offer:
    cached, leg = _check_offer(user, thread_id, title, terms, changes)
    buyer_id, seller_id = leg.parties if leg else (cached.thread.buyer_id, cached.thread.seller_id)
    people = User.objects.in_bulk([buyer_id, seller_id])
    done = offers.make_offer(
        user,
        thread_id=thread_id,
        buyer=people[buyer_id],
        seller=people[seller_id],
        key=key,
        title=title,
        currency=currency,
        terms=terms,
        changes=leg,
    )
    process_entries(done.entries)
    return done.offer


def review_offer(
    user: User,
    *,
    thread_id: str,
    title: str,
    currency: str,
    terms: list[Terms],
    changes: str = "",
) -> None:
    """Checks what `make_offer` checks, and makes nothing."""
    _, leg = _check_offer(user, thread_id, title, terms, changes)
    offers.check_terms(title, currency, terms, leg)


def _check_offer(
    user: User, thread_id: str, title: str, terms: list[Terms], changes: str
) -> tuple[CachedThread, Leg | None]:
    cached = _of_two(user, thread_id)
    check_rate_limit("proposal", user.id)
    said = [text for each in terms for text in (each.service, each.place)]
    policy.check_text(cached.thread, title, *said)
    return cached, _leg_of_thread(user, thread_id, changes) if changes else None


def _of_two(user: User, thread_id: str) -> CachedThread:
    """Offers are between the two principals, where both may write."""
    cached = cache.reload(thread_id)
    check_can_write(cached, user.id)
    if user.id not in (cached.thread.buyer_id, cached.thread.seller_id):
        raise Refusal("ACTION_FORBIDDEN", "Only the buyer and the seller can make an offer.")
    return cached


def _leg_of_thread(user: User, thread_id: str, leg_id: str) -> Leg:
    leg = access_leg(user, leg_id)
    if leg.thread_id != thread_id:
        raise Refusal("THREAD_NOT_FOUND", "There is no such booking.")
    return leg


def accept_offer(user: User, *, offer_id: str) -> Offer:
    return _answer(offers.accept_offer, user, offer_id)


def decline_offer(user: User, *, offer_id: str) -> Offer:
    return _answer(offers.decline_offer, user, offer_id)


def withdraw_offer(user: User, *, offer_id: str) -> Offer:
    return _answer(offers.withdraw_offer, user, offer_id)


def _answer(action: Callable[..., offers.OfferResult], user: User, offer_id: str) -> Offer:
    offer = access_offer(user, offer_id)
    check_can_write(cache.reload(offer.thread_id), user.id)
    done = action(user, offer_id=offer_id)
    process_entries(done.entries)
    return done.offer


def sign_contract(user: User, *, document_id: str, number: int, **signature: Any) -> None:
    """By way of the card that asks for it, if there is one: it must not go on asking."""
    card = Card.objects.filter(
        type="sign", is_open=True, payload__document=document_id, payload__number=number
    ).first()
    if card is None or user.id not in card.waits_for:
        process_entries(
            documents.sign_version(user, document_id=document_id, number=number, **signature)
        )
        return
    key = f"sign-{card.version}"
    done = transitions.move(
        user, card_id=card.id, name="sign", version=card.version, key=key, given=signature
    )
    process_entries(done.entries)


def record_payment(user: User, *, leg_id: str, **payment: Any) -> Receipt:
    access_leg(user, leg_id)
    receipt, entries = payments.record_payment(user, leg_id=leg_id, **payment)
    process_entries(entries)
    return receipt


def reverse_payment(user: User, *, receipt_id: str, key: str) -> Receipt:
    access_receipt(user, receipt_id)
    receipt, entries = payments.reverse_payment(user, receipt_id=receipt_id, key=key)
    process_entries(entries)
    return receipt


def link_bookings(user: User, *, title: str, leg_ids: list[str]) -> BookingGroup:
    group, entries = groups.link_legs(user, title=title, leg_ids=leg_ids)
    process_entries(entries)
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
    process_entries(entries)
    return manifest
