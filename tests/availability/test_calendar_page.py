"""The calendar page: months in the user's zone, blocks, imported calendars and the link."""

import json
from datetime import UTC, date, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from availability.actions import MAX_BLOCKS, add_block, add_feed, create_link
from availability.models import BookingsLink, BusyTime, CalendarFeed, TimeBlock
from availability.month import get_month, parse_month
from contracts.models import Leg
from core.refusals import Refusal
from privacy.actions import delete_account
from privacy.export.account import _describe_calendar
from tests.availability.conftest import ZONE

NOW = datetime(2027, 3, 10, 12, tzinfo=UTC)
PAGE = "/calendar/"


@pytest.fixture(autouse=True)
def in_march():
    with time_machine.travel(NOW, tick=False):
        yield


@pytest.fixture
def page(client, owner):
    client.force_login(owner)
    return client


def block_fields(**changes):
    fields = {"key": str(uuid4()), "first_day": "2027-03-20", "last_day": "", "note": "Rest"}
    return fields | {"start": "", "end": "", "month": "2027-03"} | changes


def add(page, **changes):
    return page.post(reverse("availability:add_block"), block_fields(**changes))


def days_of(user, first, kinds=("booking", "block", "busy")):
    month = get_month(user, first, ZoneInfo(ZONE))
    return {
        day.date.day: [one.hours for one in day.entries if one.entry.kind in kinds]
        for day in month.days
        if day.entries
    }


# --- Months


def test_a_month_of_an_address_is_valid_or_the_current_one():
    today = date(2027, 3, 10)
    assert parse_month("2027-12", today) == date(2027, 12, 1)
    for wrong in ("", "2027-13", "2027-00", "9999-01", "0001-01", "٢٠٢٧-01", "2027-1", "x" * 9999):
        assert parse_month(wrong, today) == date(2027, 3, 1)


def test_an_entry_is_on_each_of_its_days_in_the_zone_of_the_user(owner):
    def block(start, end):
        add_block(owner, key=str(uuid4()), starts_at=start, ends_at=end, is_all_day=False)

    # Clocks change on 28 March in Lisbon.
    block(datetime(2027, 3, 27, 22, tzinfo=UTC), datetime(2027, 3, 28, 23, tzinfo=UTC))
    block(datetime(2027, 2, 27, tzinfo=UTC), datetime(2027, 3, 2, 9, tzinfo=UTC))
    block(datetime(2027, 3, 31, 20, tzinfo=UTC), datetime(2027, 4, 2, 9, tzinfo=UTC))
    assert days_of(owner, date(2027, 3, 1)) == {
        1: [""],
        2: ["until 09:00"],
        27: ["from 22:00"],
        28: [""],
        31: ["from 21:00"],
    }


def test_bookings_of_both_roles_are_shown_but_cancelled_ones_are_not(leg, seller, buyer):
    month = leg.starts_at.date().replace(day=1)
    for user in (seller, buyer):
        assert days_of(user, month, ["booking"]) == {14: ["10:00 to 16:00"]}
    Leg.objects.update(status="cancelled")
    assert days_of(seller, month) == {}


def test_the_page_links_a_booking_to_its_conversation(leg, seller, client):
    client.force_login(seller)
    content = client.get(f"{PAGE}?month=2027-05").content.decode()
    assert f'href="/threads/{leg.thread_id}/"' in content
    assert leg.service in content
    assert "May 2027" in content


def test_a_hostile_number_of_entries_does_not_grow_the_page(owner):
    feed = CalendarFeed.objects.create(
        user=owner, name="Private", url="https://a.example/", due_at=NOW
    )
    start = datetime(2027, 3, 20, tzinfo=UTC)
    times = [start + timedelta(minutes=20 * number) for number in range(60)]
    BusyTime.objects.bulk_create(
        BusyTime(user=owner, feed=feed, starts_at=each, ends_at=each + timedelta(minutes=5))
        for each in times
    )
    (day,) = [day for day in get_month(owner, date(2027, 3, 1), ZoneInfo(ZONE)).days if day.entries]
    assert (len(day.entries), day.more) == (8, 52)


def test_the_number_of_queries_does_not_grow_with_entries(page, owner):
    def count():
        with CaptureQueriesContext(connection) as queries:
            assert page.get(f"{PAGE}?month=2027-03").status_code == 200
        return len(queries)

    page.get(PAGE)
    before = count()
    feed = add_feed(owner, name="Private", url="https://a.example/a.ics")
    for day in range(1, 20):
        start = datetime(2027, 3, day, tzinfo=UTC)
        times = {"starts_at": start, "ends_at": start + timedelta(hours=1)}
        TimeBlock.objects.create(user=owner, key=str(day), **times)
        BusyTime.objects.create(user=owner, feed=feed, **times)
    assert count() == before


# --- Blocks


@pytest.mark.parametrize(
    ("fields", "starts_at", "ends_at"),
    [
        ({}, "2027-03-20T00:00Z", "2027-03-21T00:00Z"),
        # The day on which the clocks change has 23 hours.
        ({"first_day": "2027-03-28"}, "2027-03-28T00:00Z", "2027-03-28T23:00Z"),
        ({"last_day": "2027-03-30"}, "2027-03-20T00:00Z", "2027-03-30T23:00Z"),
        ({"start": "10:00", "end": "12:30"}, "2027-03-20T10:00Z", "2027-03-20T12:30Z"),
        (
            {"first_day": "2027-04-01", "start": "22:00", "last_day": "2027-04-02", "end": "02:00"},
            "2027-04-01T21:00Z",
            "2027-04-02T01:00Z",
        ),
    ],
)
def test_days_or_times_are_blocked_in_the_zone_of_the_user(page, fields, starts_at, ends_at):
    assert add(page, **fields).status_code == 302
    block = TimeBlock.objects.get()
    parse = datetime.fromisoformat
    assert (block.starts_at, block.ends_at) == (parse(starts_at), parse(ends_at))
    assert block.is_all_day == ("start" not in fields)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("first_day", {"first_day": ""}),
        ("first_day", {"first_day": "2027-03-01"}),
        ("first_day", {"first_day": "9999-12-31"}),
        ("last_day", {"last_day": "2027-03-19"}),
        ("last_day", {"last_day": "2029-03-19"}),
        ("last_day", {"first_day": "2040-01-01"}),
        ("last_day", {"start": "12:00", "end": "12:00"}),
        ("end", {"start": "12:00"}),
        ("start", {"end": "12:00"}),
        ("note", {"note": "x" * 200}),
        ("key", {"key": "not a key"}),
    ],
)
def test_an_impossible_time_is_refused_at_its_field(page, field, changes):
    response = add(page, **changes)
    assert response.status_code == 400
    assert list(response.context["block_form"].errors) == [field]
    assert not TimeBlock.objects.exists()


def test_a_repeated_form_blocks_once(page):
    key = str(uuid4())
    for _ in range(2):
        assert add(page, key=key).status_code == 302
    assert TimeBlock.objects.count() == 1


def test_a_block_is_removed_by_its_owner_only(page, stranger):
    add(page)
    block = TimeBlock.objects.get()
    url = reverse("availability:remove_block", args=[block.id])
    assert "Rest" in page.get(f"{PAGE}?month=2027-03").content.decode()
    page.force_login(stranger)
    assert page.post(url).status_code == 302
    assert TimeBlock.objects.exists()
    page.force_login(block.user)
    assert page.post(url, {"month": "2027-03"})["Location"] == f"{PAGE}?month=2027-03"
    assert not TimeBlock.objects.exists()
    assert page.post(url).status_code == 302


def test_a_user_has_a_limited_number_of_blocks(owner):
    now = timezone.now()
    times = {"starts_at": now, "ends_at": now + timedelta(days=1)}
    TimeBlock.objects.bulk_create(
        TimeBlock(user=owner, key=str(number), **times) for number in range(MAX_BLOCKS)
    )
    with pytest.raises(Refusal) as refusal:
        add_block(owner, key="more", is_all_day=False, **times)
    assert refusal.value.code == "CALENDAR_LIMIT"


# --- Imported calendars and the link


@pytest.mark.parametrize(
    ("url", "stored"),
    [
        ("https://calendars.example/a.ics?key=1", "https://calendars.example/a.ics?key=1"),
        (" webcal://calendars.example/a.ics ", "https://calendars.example/a.ics"),
    ],
)
def test_a_calendar_is_imported_by_its_address(page, url, stored):
    response = page.post(reverse("availability:add_feed"), {"name": "Private", "url": url})
    assert response.status_code == 302
    feed = CalendarFeed.objects.get()
    assert feed.url == stored
    content = page.get(PAGE).content.decode()
    assert "calendars.example" in content
    assert "a.ics" not in content, "The address may contain a secret."


@pytest.mark.parametrize(
    "url", ["http://a.example/", "ftp://a.example/", "https://u:p@a.example/", "a", "https://a:8/"]
)
def test_an_address_that_must_not_be_requested_is_refused(page, url):
    response = page.post(reverse("availability:add_feed"), {"name": "Private", "url": url})
    assert response.status_code == 400
    assert list(response.context["feed_form"].errors) == ["url"]
    assert not CalendarFeed.objects.exists()


def test_the_result_of_the_last_update_is_shown(page, owner):
    feed = add_feed(owner, name="Private", url="https://a.example/a.ics")
    assert "Waiting for the first update" in page.get(PAGE).content.decode()
    CalendarFeed.objects.filter(pk=feed.pk).update(error="missing", attempted_at=timezone.now())
    assert "no calendar at that address" in page.get(PAGE).content.decode()


def test_refreshing_too_often_is_refused_on_the_page(page, owner):
    feed = add_feed(owner, name="Private", url="https://a.example/a.ics")
    CalendarFeed.objects.update(attempted_at=timezone.now())
    response = page.post(reverse("availability:refresh_feed", args=[feed.id]))
    assert response.status_code == 429
    assert "less than a minute ago" in response.content.decode()


def test_a_new_link_is_shown_once(page):
    page.post(reverse("availability:create_link"))
    first, second = (page.get(PAGE) for _ in range(2))
    url = first.context["new_link"]
    assert page.get(url).status_code == 200
    assert second.context["new_link"] == ""
    assert first["Cache-Control"] == "private, no-store"
    page.post(reverse("availability:remove_link"))
    assert page.get(url).status_code == 404


# --- Privacy


def test_the_calendar_is_part_of_the_export_and_deleted_with_the_account(owner):
    times = {"starts_at": NOW, "ends_at": NOW + timedelta(hours=1)}
    TimeBlock.objects.create(user=owner, key="1", note="Rest", **times)
    feed = add_feed(owner, name="Private", url="https://a.example/a.ics")
    BusyTime.objects.create(user=owner, feed=feed, **times)
    token = create_link(owner)
    exported = json.dumps(_describe_calendar(owner))
    for part in ("Rest", "Private", "https://a.example/a.ics", "2027-03-10T12:00"):
        assert part in exported
    assert token not in exported
    delete_account(owner)
    for model in (TimeBlock, CalendarFeed, BusyTime, BookingsLink):
        assert not model.objects.exists()
