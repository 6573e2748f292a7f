"""Conflicts of offers and new times with bookings, blocks and imported calendars."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from availability.actions import add_block
from availability.models import BusyTime, CalendarFeed
from contracts.models import Card, Leg, Offer
from contracts.schedule import list_warnings
from tests.contracts.card_helpers import new_time, propose
from tests.contracts.conftest import IN_MAY, offer_in
from tests.contracts.test_amount_forms import offer as offer_form
from tests.contracts.test_schedule import at

DAY = timedelta(days=1)


def block(user, start, end, note="Family, no work"):
    return add_block(
        user, key=str(uuid4()), starts_at=start, ends_at=end, is_all_day=False, note=note
    )


def import_busy(user, start, end):
    feed = CalendarFeed.objects.create(
        user=user, name="Private", url="https://a.example/", due_at=timezone.now()
    )
    BusyTime.objects.create(user=user, feed=feed, starts_at=start, ends_at=end)


def times_of(leg):
    return leg.starts_at, leg.ends_at


@pytest.mark.storage
def test_the_seller_sees_what_takes_the_time_and_others_that_they_are_not_available(
    leg, seller, buyer
):
    start, end = times_of(leg)
    block(seller, start, end)
    import_busy(seller, start, end)
    mine = list_warnings(seller, [times_of(leg)], viewer=seller)
    assert mine == [
        f"You have another booking: {leg.service}, 14 May 2027, 09:00 to 15:00.",
        "You blocked this time: Family, no work, 14 May 2027, 09:00 to 15:00.",
        "You're busy in your calendar “Private”, 14 May 2027, 09:00 to 15:00.",
    ]
    theirs = list_warnings(seller, [times_of(leg)], viewer=buyer)
    assert theirs == ["Sam isn't available at that time."]


def test_times_that_only_touch_do_not_conflict(leg, seller):
    start, end = times_of(leg)
    block(seller, start - DAY, start)
    block(seller, end, end + DAY)
    assert list_warnings(seller, [times_of(leg)], viewer=seller, leg=leg) == []


def test_blocks_of_the_buyer_do_not_matter(leg, seller, buyer):
    block(buyer, *times_of(leg))
    assert list_warnings(seller, [times_of(leg)], viewer=buyer, leg=leg) == []


def accept(client, card, **more):
    url = reverse("projects:card_transition", args=[card.id, "accept"])
    headers = more.pop("headers", {})
    return client.post(url, {"key": "a", "version": card.version} | more, headers=headers)


# --- Offers


def review(client, user, thread):
    client.force_login(user)
    fields = offer_form() | {"key": str(uuid4())}
    response = client.post(reverse("projects:offer_new", args=[thread]), fields)
    assert response.status_code == 200
    return response.content.decode()


@pytest.fixture
def blocked_day(seller):
    day = datetime.fromisoformat(offer_form()["form-0-starts_at"][:10]).replace(tzinfo=UTC)
    block(seller, day - DAY, day + 2 * DAY)


def test_the_review_of_an_offer_says_with_what_it_conflicts(
    thread, seller, buyer, client, blocked_day
):
    assert "Family, no work" in review(client, seller, thread)
    to_buyer = review(client, buyer, thread)
    assert "Sam isn&#x27;t available at that time." in to_buyer
    assert "Family" not in to_buyer


def test_a_seller_confirms_an_offer_into_a_time_that_they_blocked(thread, seller, buyer, client):
    later = IN_MAY + timedelta(days=60)
    block(seller, later - DAY, later + DAY)
    offer = offer_in(thread, buyer, at(later))
    card = Card.objects.get(offer=offer)
    client.force_login(seller)
    asked = client.get(reverse("projects:card_transition", args=[card.id, "accept"]))
    assert "You blocked this time: Family, no work" in asked.content.decode()
    assert accept(client, card).status_code == 200
    assert not Leg.objects.filter(offer=offer).exists()
    assert accept(client, card, warned="yes").status_code == 302
    assert Leg.objects.filter(offer=offer).exists()


def test_a_buyer_accepts_an_offer_without_being_told_of_blocks(thread, seller, buyer, client):
    later = IN_MAY + timedelta(days=60)
    offer = offer_in(thread, seller, at(later))
    block(seller, later - DAY, later + DAY)
    card = Card.objects.get(offer=offer)
    client.force_login(buyer)
    asked = client.get(reverse("projects:card_transition", args=[card.id, "accept"]))
    assert "Family" not in asked.content.decode()
    assert accept(client, card).status_code == 302


# --- New times


def propose_time(client, user, leg, **more):
    client.force_login(user)
    url = reverse("projects:card_new", args=[leg.thread_id, "reschedule"])
    fields = new_time(leg) | {"leg": leg.id, "key": "one"} | more
    return client.post(url, fields)


def test_a_new_time_without_a_conflict_is_proposed_at_once(leg, seller, client):
    assert propose_time(client, seller, leg).status_code == 302
    assert Card.objects.filter(type="reschedule").exists()


@pytest.mark.parametrize("role", ["seller", "buyer"])
def test_a_new_time_that_conflicts_is_proposed_after_a_review(leg, client, role):
    user = getattr(leg, role)
    block(leg.seller, leg.starts_at + DAY, leg.ends_at + DAY)
    response = propose_time(client, user, leg)
    assert response.status_code == 200
    page = response.content.decode()
    assert ("Family, no work" in page) == (role == "seller")
    assert ("Sam isn&#x27;t available at that time." in page) == (role == "buyer")
    assert not Card.objects.filter(type="reschedule").exists()
    confirmed = response.context["review"].content_hash
    assert propose_time(client, user, leg, reviewed=confirmed).status_code == 302
    assert Card.objects.filter(type="reschedule").count() == 1


def test_other_times_need_another_review(leg, seller, client):
    block(seller, leg.starts_at + DAY, leg.ends_at + 3 * DAY)
    first = propose_time(client, seller, leg).context["review"].content_hash
    response = propose_time(client, seller, leg, **new_time(leg, days=2), reviewed=first)
    assert response.status_code == 200
    assert not Card.objects.filter(type="reschedule").exists()


def test_a_seller_confirms_a_new_time_that_they_blocked(leg, seller, buyer, client):
    card = propose("reschedule", leg, by=buyer)
    block(seller, leg.starts_at + DAY, leg.ends_at + DAY)
    client.force_login(seller)
    page = accept(client, card)
    assert page.status_code == 200
    assert "Family, no work" in page.content.decode()
    card.refresh_from_db()
    assert card.state == "pending"
    by_script = accept(client, card, headers={"Accept": "application/json"})
    assert (by_script.status_code, by_script.json()["confirm"]) == (
        409,
        f"/cards/{card.id}/accept/",
    )
    assert accept(client, card, warned="yes").status_code == 302
    card.refresh_from_db()
    assert card.state == "accepted"


def test_a_buyer_accepts_without_being_told_of_blocks(leg, seller, buyer, client):
    card = propose("reschedule", leg, by=seller)
    block(seller, leg.starts_at + DAY, leg.ends_at + DAY)
    client.force_login(buyer)
    assert accept(client, card).status_code == 302
    assert not Offer.objects.filter(status="pending").exists()
