"""Offers as cards: what they show, counter-offers, expiry with a warning, pages without scripts."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from contracts.models import Card, Leg, Offer
from core.outbox.models import OutboxEntry
from core.outbox.processing import process_due
from core.refusals import Refusal
from projects.actions.bookings import (
    accept_offer,
    counter_offer,
    decline_offer,
    withdraw_offer,
)
from projects.actions.cards import transition_card
from projects.cards.deadline_worker import process_due_cards, warn_of_deadlines
from projects.consistency.records import compare_offers
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import make_card_due
from tests.contracts.conftest import in_week, offer_in, terms
from tests.outbox.timing import make_due
from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of, thread_item
from threads.models.message import ACTION, SYSTEM

DAY = timedelta(days=1)


def card_of(offer: Offer) -> Card:
    return Card.objects.select_related("offer").get(offer=offer)


def counter(by, offer, *, key="counter", **changes):
    return counter_offer(
        by,
        card_id=card_of(offer).id,
        version=1,
        key=key,
        title=offer.title,
        currency=offer.currency,
        terms=[terms(**changes)],
    )


def page_of(client, user, thread) -> str:
    client.force_login(user)
    return client.get(reverse("threads:thread", args=[thread])).content.decode()


def assert_all_agree(thread):
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


# --- Counter-offers


@pytest.mark.storage
def test_a_counter_offer_replaces_the_offer_and_shows_what_changed(thread, buyer, seller, client):
    first = offer_in(thread, seller, terms())
    second = counter(buyer, first, price_cents=100_000, place="Porto")
    third = counter(seller, second, price_cents=110_000, place="Porto")
    assert [one.type for one in messages_of(thread)[-3:]] == [ACTION] * 3
    states = list(Offer.objects.order_by("created_at").values_list("status", flat=True))
    assert states == ["countered", "countered", "pending"]
    payload = card_of(third).payload
    assert payload["old"] == {
        "parts": [{"price_cents": 100_000}],
        "removed": [],
        "total": "EUR 1,000.00",
    }
    assert [each["price"] for each in payload["earlier"]] == [120_000, 100_000]
    page = page_of(client, buyer, thread)
    assert len(re.findall(r'data-state="countered"', page)) == 2
    assert re.search(r"<s class=\"old\">.*?EUR 1,000.00</s>", page)
    assert "2 earlier offers" in page
    assert thread_item(thread).waiting_for == buyer.id
    assert_all_agree(thread)


def test_a_counter_offer_by_the_author_stays_with_the_same_answerer(thread, buyer, seller):
    corrected = counter(seller, offer_in(thread, seller, terms()), price_cents=130_000)
    assert card_of(corrected).waits_for == [buyer.id]
    accept_offer(buyer, offer_id=corrected.id)
    assert Leg.objects.get(thread_id=thread).price_cents == 130_000
    assert_all_agree(thread)


def test_a_repeated_counter_offer_changes_nothing(thread, buyer, seller):
    first = offer_in(thread, seller, terms())
    assert counter(buyer, first) == counter(buyer, first)
    assert Offer.objects.filter(thread_id=thread).count() == 2
    with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
        counter(buyer, first, key="another")
    assert_all_agree(thread)


def test_a_counter_offer_needs_terms(thread, buyer, seller):
    card = card_of(offer_in(thread, seller))
    with pytest.raises(Refusal, match="CARD_INVALID"):
        transition_card(buyer, card_id=card.id, transition="counter", version=1, key="1", given={})
    assert card_of(card.offer).state == "pending"


def test_parts_can_be_added_and_removed(thread, buyer, seller):
    first = offer_in(thread, seller, terms(), in_week(1, service="Retouching"))
    card = card_of(first)
    fields = {"title": first.title, "currency": "EUR", "version": 1}
    second = counter_offer(buyer, card_id=card.id, key="1", terms=[terms()], **fields)
    assert card_of(second).payload["old"]["removed"] == ["Retouching"]
    third = counter_offer(
        seller, card_id=card_of(second).id, key="2", terms=[terms(), in_week(2)], **fields
    )
    assert card_of(third).payload["old"]["parts"] == [{}, None]
    assert_all_agree(thread)


def test_a_change_of_a_booking_is_negotiated_in_the_same_way(leg, thread, buyer, seller):
    change = offer_in(thread, buyer, terms(place="Porto"), changes=leg.id)
    assert card_of(change).payload["old"]["parts"] == [{"place": leg.place}]
    other = counter(seller, change, place="Faro")
    accept_offer(buyer, offer_id=other.id)
    leg.refresh_from_db()
    assert (leg.place, leg.contract.versions.count()) == ("Faro", 2)
    assert_all_agree(thread)


# --- Answers


def test_declining_with_a_reason_shows_it_on_the_card(thread, buyer, seller, client):
    offer = offer_in(thread, seller)
    decline_offer(buyer, offer_id=offer.id, reason="The studio is closed that week.")
    assert "The studio is closed that week." in page_of(client, seller, thread)
    assert_all_agree(thread)


def test_the_reason_is_under_the_policy_before_a_booking(thread, buyer, seller):
    offer = offer_in(thread, seller)
    with pytest.raises(Refusal, match="POLICY"):
        decline_offer(buyer, offer_id=offer.id, reason="Call me on +351 912 345 678 instead")
    assert card_of(offer).state == "pending"


def test_the_record_and_the_card_are_compared(thread, buyer, seller):
    offer = offer_in(thread, seller)
    assert not [each for each in compare_offers() if offer.id in each]
    Offer.objects.filter(pk=offer.pk).update(
        status="declined", answered_by=buyer, answered_at=timezone.now()
    )
    assert [each for each in compare_offers() if offer.id in each]
    assert any("its offer is declined" in each for each in list_differences(thread))


@pytest.mark.storage
def test_an_offer_that_was_answered_elsewhere_is_not_answered_again(thread, buyer, seller):
    """The condition is in the write, in case a row was changed without its card."""
    offer = offer_in(thread, seller)
    Offer.objects.filter(pk=offer.pk).update(
        status="withdrawn", answered_by=seller, answered_at=timezone.now()
    )
    with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
        accept_offer(buyer, offer_id=offer.id)
    assert not Leg.objects.filter(thread_id=thread).exists()


# --- Expiry


def test_an_offer_is_valid_for_a_week_and_never_after_the_start(thread, seller):
    usual = card_of(offer_in(thread, seller))
    assert timedelta(days=6.9) < usual.due_at - timezone.now() < timedelta(days=7.1)
    start = (timezone.now() + 2 * DAY).replace(second=0, microsecond=0)
    soon = offer_in(thread, seller, terms(starts_at=start, ends_at=start + DAY))
    assert card_of(soon).due_at == soon.valid_until == start


@pytest.mark.parametrize("days", [-1, 200], ids=["past", "after the start"])
def test_other_times_of_expiry_are_refused(thread, seller, days):
    until = timezone.now() + days * DAY
    with pytest.raises(Refusal, match="OFFER_INVALID"):
        offer_in(thread, seller, valid_until=until)
    assert not Offer.objects.filter(thread_id=thread).exists()


@pytest.mark.storage
def test_an_offer_expires(thread, buyer, seller):
    offer = offer_in(thread, seller)
    make_card_due(card_of(offer))
    with pytest.raises(Refusal, match="CARD_EXPIRED"):
        accept_offer(buyer, offer_id=offer.id)
    while process_due():
        pass
    process_due_cards()
    offer.refresh_from_db()
    assert (offer.status, offer.answered_by) == ("expired", None)
    assert messages_of(thread)[-1].body.startswith("The offer expired: Team portraits")
    assert not Leg.objects.filter(thread_id=thread).exists()
    assert_all_agree(thread)


@pytest.mark.storage
def test_both_are_warned_once_a_day_before(thread, buyer, seller, delivered, client):
    offer = offer_in(thread, seller)
    card = card_of(offer)
    assert warn_of_deadlines() == 0
    Card.objects.filter(pk=card.pk).update(due_at=timezone.now() + timedelta(hours=23))
    assert (warn_of_deadlines(), warn_of_deadlines()) == (1, 0)
    last = messages_of(thread)[-1]
    assert last.type == SYSTEM
    assert last.body.startswith("The offer expires in a day: Team portraits")
    # Also directly below the card, where messages that repeat the card are hidden.
    assert "repeats-card" not in page_of(client, buyer, thread)
    for user in (buyer, seller):
        assert "expires in a day" in delivered.to(user, "message.sent")[-1]["html"]
    assert thread_item(thread).waiting_for == buyer.id
    assert_all_agree(thread)


def test_a_short_offer_a_paused_one_and_an_answered_one_have_no_warning(thread, buyer, seller):
    offer_in(thread, seller, valid_until=timezone.now() + timedelta(hours=20))
    paused, answered = (card_of(offer_in(thread, seller)) for _ in range(2))
    near = timezone.now() + timedelta(hours=20)
    Card.objects.filter(pk=paused.pk).update(due_at=near, stopped_at=timezone.now())
    Card.objects.filter(pk=answered.pk).update(due_at=near)
    withdraw_offer(seller, offer_id=answered.offer_id)
    assert warn_of_deadlines() == 0


# --- Offers from before offers had cards


def queue_card(offer: Offer) -> None:
    """Queues the entry of the migration."""
    OutboxEntry.objects.create(
        kind="offer_card", payload={"thread": offer.thread_id, "offer": offer.id}
    )


@pytest.mark.storage
def test_a_pending_offer_without_a_card_gets_one(thread, buyer, seller):
    made = offer_in(thread, seller, terms())
    offer = Offer.objects.create(
        thread_id=thread,
        key="of an earlier release",
        proposed_by=seller,
        buyer=buyer,
        seller=seller,
        title="Stored before",
        currency="EUR",
        terms=made.terms,
    )
    for _ in range(2):
        queue_card(offer)
    make_due()
    while process_due():
        pass
    card = card_of(offer)
    assert (card.state, card.waits_for) == ("pending", [buyer.id])
    assert [one.body for one in messages_of(thread)].count(
        "Offer: Stored before, EUR 1,200.00"
    ) == 1
    assert_all_agree(thread)
    accept_offer(buyer, offer_id=offer.id)
    assert Leg.objects.get(thread_id=thread).offer == offer
    assert_all_agree(thread)


def test_a_link_to_an_offer_leads_to_its_place_in_the_conversation(
    thread, buyer, seller, stranger, client
):
    offer = offer_in(thread, seller)
    old = Offer.objects.create(
        thread_id=thread,
        key="old",
        proposed_by=seller,
        buyer=buyer,
        seller=seller,
        title="Answered long ago",
        currency="EUR",
        terms=offer.terms,
        status="declined",
        answered_by=buyer,
        answered_at=timezone.now(),
    )
    client.force_login(buyer)
    found = client.get(reverse("projects:offer", args=[offer.id]))
    assert card_of(offer).message_id in found["Location"]
    found = client.get(reverse("projects:offer", args=[old.id]))
    assert found["Location"] == reverse("threads:thread", args=[thread])
    client.force_login(stranger)
    assert client.get(reverse("projects:offer", args=[offer.id])).status_code == 404


# --- Pages, which work without scripts


def form_fields(html: str) -> dict[str, str]:
    form = html.partition("data-card-form")[2]
    fields = dict(re.findall(r'<input[^>]*?name="([^"]+)"[^>]*?value="([^"]*)"', form))
    fields |= {"form-0-cancellation": "moderate", "currency": "EUR"}
    return {name: value for name, value in fields.items() if name != "more"}


def test_an_offer_is_made_countered_and_accepted_by_plain_forms(thread, buyer, seller, client):
    client.force_login(seller)
    path = reverse("projects:offer_new", args=[thread])
    fields = form_fields(client.get(path).content.decode())
    fields |= {"form-0-place": "Lisbon", "form-0-price": "1200", "form-0-deposit": "400"}
    review = client.post(path, fields).content.decode()
    assert "Check before you send" in review
    sent = client.post(path, fields | {"reviewed": form_fields(review)["reviewed"]})
    offer = Offer.objects.get(thread_id=thread)
    assert card_of(offer).message_id in sent["Location"]

    client.force_login(buyer)
    path = reverse("projects:card_transition", args=[card_of(offer).id, "counter"])
    fields = form_fields(client.get(path).content.decode())
    assert fields["form-0-price"] == "1200.00"
    fields["form-0-price"] = "1000"
    review = client.post(path, fields).content.decode()
    assert "EUR 1,200.00</s>" in review
    client.post(path, fields | {"reviewed": form_fields(review)["reviewed"]})
    other = Offer.objects.get(thread_id=thread, status="pending")

    client.force_login(seller)
    path = reverse("projects:card_transition", args=[card_of(other).id, "accept"])
    confirm = client.get(path).content.decode()
    for shown in ("EUR 1,000.00", "EUR 400.00", "Lisbon", "free of charge"):
        assert shown in confirm
    client.post(path, {"version": "1", "key": "accept-1"})
    assert Leg.objects.get(thread_id=thread).price_cents == 100_000
    assert_all_agree(thread)


def test_an_invalid_time_of_expiry_is_shown_at_its_field(thread, seller, client):
    client.force_login(seller)
    path = reverse("projects:offer_new", args=[thread])
    fields = form_fields(client.get(path).content.decode())
    fields |= {"form-0-place": "Lisbon", "form-0-price": "1200", "form-0-deposit": "400"}
    answered = client.post(path, fields | {"valid_until": "2020-01-01T10:00"})
    assert answered.status_code == 400
    assert "Choose a time in the future." in answered.content.decode()


def test_a_viewer_in_another_zone_also_sees_their_own_times(thread, buyer, seller, client):
    offer_in(thread, seller, terms())
    buyer.time_zone, seller.time_zone = "Asia/Tokyo", "Europe/Lisbon"
    buyer.save()
    seller.save()
    # 09:00 UTC in May.
    assert "Fri 14 May 2027, 10:00 to 16:00 (Lisbon)" in page_of(client, buyer, thread)
    assert re.search(
        r"data-own-time=\"Europe/Lisbon\">Fri 14 May 2027, 18:00 to Sat 15 May",
        page_of(client, buyer, thread),
    )
    assert re.search(r"data-own-time=\"Europe/Lisbon\" hidden>", page_of(client, seller, thread))


def test_the_forms_of_an_answered_offer_lead_to_its_card(thread, buyer, seller, stranger, client):
    offer = offer_in(thread, seller)
    withdraw_offer(seller, offer_id=offer.id)
    path = reverse("projects:card_transition", args=[card_of(offer).id, "counter"])
    client.force_login(buyer)
    assert client.get(path).status_code == 302
    client.force_login(stranger)
    assert client.get(path).status_code == 404
