"""The secret link to a user's bookings, read by an iCalendar parser."""

from datetime import UTC, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from icalendar import Calendar

from accounts.models import User
from availability.actions import create_link, remove_link
from availability.models import BookingsLink
from contracts.models import Leg
from contracts.models.bookings import CANCELLED
from tests.contracts.conftest import book, in_week


def get(token):
    return Client().get(reverse("availability:bookings", args=[token]))


def events_of(token):
    return list(Calendar.from_ical(get(token).content).walk("VEVENT"))


def test_contains_the_bookings_of_both_roles(leg, seller, buyer, stranger):
    for user in (seller, buyer):
        (event,) = events_of(create_link(user))
        assert event["UID"] == f"{leg.id}@parley"
        assert event["SUMMARY"] == leg.service
        assert event["DTSTART"].dt == leg.starts_at.astimezone(UTC)
        assert event["SEQUENCE"] == 1
        assert event["URL"] == f"http://testserver/threads/{leg.thread_id}/"
    assert events_of(create_link(stranger)) == []


def test_a_cancelled_booking_is_a_later_cancelled_event(leg, seller):
    token = create_link(seller)
    Leg.objects.filter(pk=leg.pk).update(status=CANCELLED)
    (event,) = events_of(token)
    assert (event["STATUS"], event["SEQUENCE"]) == ("CANCELLED", 2)


def test_bookings_of_past_years_are_left_out(leg, seller):
    past = timezone.now() - timedelta(days=400)
    Leg.objects.filter(pk=leg.pk).update(starts_at=past, ends_at=past + timedelta(hours=1))
    assert events_of(create_link(seller)) == []


def test_needs_no_session_and_is_not_stored_by_shared_caches(leg, seller):
    response = get(create_link(seller))
    assert response.status_code == 200
    assert response["Content-Type"] == "text/calendar; charset=utf-8"
    assert response["Cache-Control"].startswith("private")
    assert not response.cookies


def test_only_a_hash_of_the_token_is_stored(seller):
    token = create_link(seller)
    assert len(token) >= 43
    stored = BookingsLink.objects.values().get()
    assert token not in str(stored)


def test_a_replaced_or_removed_link_does_not_exist(seller):
    first = create_link(seller)
    second = create_link(seller)
    assert (get(first).status_code, get(second).status_code) == (404, 200)
    remove_link(seller)
    assert get(second).status_code == 404


@pytest.mark.parametrize("token", ["a", "a" * 43, "a" * 5000])
def test_an_unknown_token_does_not_exist(db, token):
    assert get(token).status_code == 404


def test_the_link_of_a_suspended_user_does_not_exist(seller):
    token = create_link(seller)
    User.objects.filter(pk=seller.pk).update(is_active=False)
    assert get(token).status_code == 404


def test_requests_of_a_link_are_limited(seller, settings):
    settings.PACES = settings.PACES | {"calendar_link": (3, 1)}
    token = create_link(seller)
    statuses = [get(token).status_code for _ in range(8)]
    assert statuses[0] == 200
    assert statuses[-1] == 429


def test_the_number_of_queries_does_not_grow(leg, thread, buyer, seller, django_assert_num_queries):
    token = create_link(seller)
    for week in range(2, 6):
        book(thread, buyer, seller, in_week(week))
    with django_assert_num_queries(2):
        assert len(events_of(token)) == 5
