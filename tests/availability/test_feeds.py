"""Imported calendars, fetched from a real web server."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from availability import feeds
from availability.actions import MAX_FEEDS, add_feed, refresh_feed, remove_feed
from availability.feeds import claim_feed, fetch_next
from availability.models import BusyTime, CalendarFeed
from core.refusals import Refusal
from tests.availability.conftest import ics
from tests.files.fake_web import HOST, INSIDE, send

Error = CalendarFeed.FetchError


def in_days(number, hours=0):
    moment = timezone.now().replace(microsecond=0) + timedelta(days=number, hours=hours)
    return f"{moment:%Y%m%dT%H%M%SZ}"


def event(number=10):
    return f"DTSTART:{in_days(number)}\nDTEND:{in_days(number, 1)}\nSUMMARY:Oncologist"


def give(web, *events, path="/a.ics", kind="text/calendar; charset=utf-8", **headers):
    return web.give(path, ics(*events).encode(), kind, **headers)


def fetch(feed):
    CalendarFeed.objects.filter(pk=feed.pk).update(due_at=timezone.now())
    assert fetch_next()
    return CalendarFeed.objects.get(pk=feed.pk)


@pytest.mark.storage
def test_the_busy_times_of_a_calendar_are_stored_without_titles(owner, web):
    feed = add_feed(owner, name="Private", url=give(web, event(10), event(20)))
    assert fetch_next()
    assert not fetch_next()
    assert [time.user_id for time in BusyTime.objects.filter(feed=feed)] == [owner.id] * 2
    names = {field.name for field in BusyTime._meta.fields}
    assert names == {"id", "user", "feed", "starts_at", "ends_at"}
    feed.refresh_from_db()
    assert (feed.error, feed.failures) == ("", 0)
    assert timedelta(minutes=50) < feed.due_at - timezone.now() < timedelta(minutes=70)


def test_a_changed_calendar_replaces_the_busy_times(owner, web):
    feed = add_feed(owner, name="Private", url=give(web, event(10), event(20)))
    fetch(feed)
    give(web, event(30))
    fetch(feed)
    (time,) = BusyTime.objects.filter(feed=feed)
    assert abs(time.starts_at - timezone.now() - timedelta(days=30)) < timedelta(minutes=1)


def test_an_unchanged_calendar_is_not_downloaded_again(owner, web):
    body = ics(event()).encode()

    def answer(to):
        if to.headers["If-None-Match"] == '"v1"':
            return send(to, 304, b"", {})
        return send(to, 200, body, {"Content-Type": "text/calendar", "ETag": '"v1"'})

    web.answers["/a.ics"] = answer
    feed = add_feed(owner, name="Private", url=web.link("/a.ics"))
    first, second = fetch(feed), fetch(feed)
    assert [each.get("If-None-Match") for each in web.headers] == [None, '"v1"']
    assert second.succeeded_at > first.succeeded_at
    assert second.read_at == first.read_at
    assert BusyTime.objects.filter(feed=feed).count() == 1


@pytest.mark.parametrize("change", ["age", "zone"])
def test_an_unchanged_calendar_is_read_again_if_its_days_or_months_moved(owner, web, change):
    feed = add_feed(owner, name="Private", url=give(web, event(), ETag='"v1"'))
    fetch(feed)
    if change == "age":
        CalendarFeed.objects.update(read_at=timezone.now() - timedelta(days=8))
    else:
        User.objects.filter(pk=owner.pk).update(time_zone="Asia/Tokyo")
    fetch(feed)
    assert "If-None-Match" not in web.headers[-1]


def test_a_header_that_cannot_be_sent_back_is_dropped(owner, web):
    def answer(to):
        body = ics(event()).encode()
        to.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/calendar\r\nETag: a\r\n b: c\r\n")
        to.wfile.write(b"Last-Modified: \xff\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    web.answers["/a.ics"] = answer
    feed = fetch(add_feed(owner, name="Private", url=web.link("/a.ics")))
    assert (feed.error, feed.etag, feed.last_modified) == ("", "", "")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda to: send(to, 404, b"", {}), Error.MISSING),
        (lambda to: send(to, 403, b"", {}), Error.DENIED),
        (lambda to: send(to, 500, b"", {}), Error.UNREACHABLE),
        (lambda to: send(to, 304, b"", {}), Error.UNREACHABLE),
        (lambda to: send(to, 200, b"<p>", {"Content-Type": "text/html"}), Error.NOT_A_CALENDAR),
        (lambda to: send(to, 200, b"{}", {"Content-Type": "image/png"}), Error.NOT_A_CALENDAR),
        (
            lambda to: send(to, 200, b"", {"Content-Type": "text/calendar"}),
            Error.NOT_A_CALENDAR,
        ),
        (
            lambda to: send(to, 200, b"A" * (3 << 20), {"Content-Type": "text/calendar"}),
            Error.TOO_LARGE,
        ),
        (
            lambda to: send(
                to,
                200,
                ics("DTSTART:20200101T000000Z\nRRULE:FREQ=SECONDLY").encode(),
                {"Content-Type": "text/calendar"},
            ),
            Error.TOO_COMPLEX,
        ),
    ],
)
def test_a_failure_is_recorded_and_known_busy_times_stay(owner, web, answer, expected):
    feed = add_feed(owner, name="Private", url=give(web, event()))
    fetch(feed)
    web.answers["/a.ics"] = answer
    CalendarFeed.objects.update(etag="", last_modified="")
    failed = fetch(feed)
    assert (failed.error, failed.failures) == (expected, 1)
    assert failed.get_error_display()
    assert failed.succeeded_at < failed.attempted_at
    assert BusyTime.objects.filter(feed=feed).count() == 1


def test_a_failing_calendar_is_fetched_less_and_less_often(owner, web):
    feed = add_feed(owner, name="Private", url=web.link("/missing.ics"))
    waits = []
    for _ in range(8):
        failed = fetch(feed)
        waits.append((failed.due_at - timezone.now()) / timedelta(hours=1))
    assert all(
        abs(wait / hours - 1) < 0.12 for wait, hours in zip(waits, (1, 2, 4, 8), strict=False)
    )
    assert all(21 < wait < 27 for wait in waits[5:])
    give(web, event(), path="/missing.ics")
    assert fetch(feed).failures == 0


def test_an_internal_address_is_never_requested(owner, web):
    web.names[HOST] = [[INSIDE]]
    feed = fetch(add_feed(owner, name="Private", url=give(web, event())))
    assert feed.error == Error.UNREACHABLE
    assert (web.asked, web.inside) == ([], [])


@pytest.mark.storage
def test_two_processes_do_not_fetch_the_same_calendar(owner, web):
    add_feed(owner, name="Private", url=give(web, event()))
    first, second = claim_feed(), claim_feed()
    assert first is not None
    assert second is None
    CalendarFeed.objects.update(due_at=timezone.now() - feeds.LEASE)
    assert claim_feed() is not None, "After a crash another process takes over."


def test_a_calendar_that_is_removed_meanwhile_stays_removed(owner, web):
    add_feed(owner, name="Private", url=give(web, event()))
    claimed = claim_feed()
    remove_feed(owner, feed_id=claimed.id)
    feeds.fetch_feed(claimed)
    assert not CalendarFeed.objects.exists()
    assert not BusyTime.objects.exists()


def test_calendars_of_suspended_users_are_not_fetched(owner, web):
    add_feed(owner, name="Private", url=give(web, event()))
    User.objects.filter(pk=owner.pk).update(is_active=False)
    assert not fetch_next()


def test_refreshing_is_limited_in_all_processes(owner, web):
    feed = add_feed(owner, name="Private", url=give(web, event()))
    fetch(feed)
    with pytest.raises(Refusal) as refusal:
        refresh_feed(owner, feed_id=feed.id)
    assert refusal.value.code == "RATE_LIMITED"
    assert not fetch_next()
    CalendarFeed.objects.update(attempted_at=timezone.now() - timedelta(minutes=2))
    refresh_feed(owner, feed_id=feed.id)
    assert fetch_next()


def test_the_calendar_of_another_user_does_not_exist(owner, stranger, web):
    feed = add_feed(owner, name="Private", url=give(web, event()))
    with pytest.raises(Refusal) as refusal:
        refresh_feed(stranger, feed_id=feed.id)
    assert refusal.value.code == "CALENDAR_NOT_FOUND"
    remove_feed(stranger, feed_id=feed.id)
    assert CalendarFeed.objects.filter(pk=feed.pk).exists()


def test_a_user_has_a_limited_number_of_calendars(owner):
    for number in range(MAX_FEEDS):
        add_feed(owner, name="One", url=f"https://calendars.example/{number}.ics")
    again = add_feed(owner, name="Again", url="https://calendars.example/0.ics")
    assert again.name == "One"
    with pytest.raises(Refusal) as refusal:
        add_feed(owner, name="One", url="https://calendars.example/more.ics")
    assert refusal.value.code == "CALENDAR_LIMIT"
