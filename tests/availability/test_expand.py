"""Busy times of untrusted calendars: all-day events, zones, recurrences, and hostile rules."""

import time

import pytest

from availability import feeds
from availability.expand import MAX_BUSY_TIMES, MAX_DATES, MAX_EVENTS, handle
from files.images.worker import WorkerFailed
from tests.availability.conftest import ZONE, ics

WINDOW = {"start": "2027-03-01T00:00:00+00:00", "end": "2028-04-01T00:00:00+00:00"}


def busy(text, zone=ZONE):
    """The busy times as "03-01 10:00 to 03-01 11:00", in UTC."""
    answer = handle({"text": text, "zone": zone} | WINDOW)
    assert "busy" in answer, answer
    return [
        " to ".join(f"{moment[5:10]} {moment[11:16]}" for moment in times)
        for times in answer["busy"]
    ]


def error(text):
    return handle({"text": text, "zone": ZONE} | WINDOW)["error"]


def test_an_all_day_event_takes_the_days_of_the_user():
    event = ics("DTSTART;VALUE=DATE:20270701\nDTEND;VALUE=DATE:20270703")
    assert busy(event) == ["06-30 23:00 to 07-02 23:00"]
    assert busy(event, "America/New_York") == ["07-01 04:00 to 07-03 04:00"]
    assert busy(ics("DTSTART;VALUE=DATE:20270701"), "UTC") == ["07-01 00:00 to 07-02 00:00"]


def test_times_are_read_in_their_zone_and_without_one_in_that_of_the_user():
    tokyo = ics("DTSTART;TZID=Asia/Tokyo:20270701T100000\nDURATION:PT1H")
    assert busy(tokyo) == ["07-01 01:00 to 07-01 02:00"]
    floating = ics("DTSTART:20270701T100000\nDTEND:20270701T110000")
    assert busy(floating) == ["07-01 09:00 to 07-01 10:00"]
    of_calendar = ics(
        "DTSTART:20270701T100000\nDTEND:20270701T110000", head="X-WR-TIMEZONE:Asia/Tokyo\n"
    )
    assert busy(of_calendar) == ["07-01 01:00 to 07-01 02:00"]


def test_a_weekly_event_keeps_its_local_time_when_the_clocks_change():
    weekly = ics(f"DTSTART;TZID={ZONE}:20270319T100000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=3")
    assert busy(weekly) == [
        "03-19 10:00 to 03-19 11:00",
        "03-26 10:00 to 03-26 11:00",
        "04-02 09:00 to 04-02 10:00",
    ]


def test_free_cancelled_and_our_own_events_take_no_time():
    event = "DTSTART:20270701T100000Z\nDTEND:20270701T110000Z\n"
    for free in ("TRANSP:TRANSPARENT", "STATUS:CANCELLED", "X-MICROSOFT-CDO-BUSYSTATUS:FREE"):
        assert busy(ics(event + free)) == []
    assert len(busy(ics(event + "STATUS:TENTATIVE"))) == 1
    own = ics(event).replace("0@elsewhere.example", "leg_01ARZ3NDEKTSV4RRFFQ69G5FAV@parley")
    assert busy(own) == []


def test_a_cancelled_date_of_a_series_takes_no_time():
    series = "DTSTART:20270701T100000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;COUNT=3"
    cancelled = "RECURRENCE-ID:20270702T100000Z\nDTSTART:20270702T100000Z\nDURATION:PT1H\n"
    text = ics(series, cancelled + "STATUS:CANCELLED").replace("UID:1@", "UID:0@")
    assert [each[:5] for each in busy(text)] == ["07-01", "07-03"]
    excluded = ics(series + "\nEXDATE:20270702T100000Z")
    assert [each[:5] for each in busy(excluded)] == ["07-01", "07-03"]


def test_overlapping_events_are_merged_and_cut_at_the_window():
    text = ics(
        "DTSTART:20270701T100000Z\nDTEND:20270701T120000Z",
        "DTSTART:20270701T110000Z\nDTEND:20270701T130000Z",
        "DTSTART:20270201T110000Z\nDTEND:20270301T130000Z",
        "DTSTART:20200201T110000Z\nDTEND:20200301T130000Z",
        "DTSTART:20300201T110000Z\nDTEND:20300301T130000Z",
    )
    assert busy(text) == ["03-01 00:00 to 03-01 13:00", "07-01 10:00 to 07-01 13:00"]


def test_titles_are_not_part_of_the_answer():
    event = "DTSTART:20270701T100000Z\nDTEND:20270701T110000Z\nSUMMARY:Oncologist"
    assert "Oncologist" not in str(handle({"text": ics(event), "zone": ZONE} | WINDOW))


@pytest.mark.parametrize(
    "broken",
    [
        "SUMMARY:Without a start",
        "DTSTART:garbage",
        "DTSTART:20270702T100000Z\nDTEND:20270601T100000Z",
        "DTSTART:20270702T100000Z\nDTEND;VALUE=DATE:20270703",
        "DTSTART:20270702T100000Z\nDURATION:PT1H\nRRULE:FREQ=NONSENSE",
    ],
)
def test_a_broken_event_does_not_hide_the_others(broken):
    event = "DTSTART:20270701T100000Z\nDTEND:20270701T110000Z"
    assert busy(ics(broken, event)) == ["07-01 10:00 to 07-01 11:00"]


def test_zones_have_the_names_of_other_programs():
    event = "DTSTART;TZID=W. Europe Standard Time:20270701T100000\nDURATION:PT1H"
    assert busy(ics(event)) == ["07-01 08:00 to 07-01 09:00"]


@pytest.mark.parametrize("text", ["", "<html>", "BEGIN:VCALENDAR", "\x00" * 1000, "A" * 100_000])
def test_text_that_is_not_a_calendar_is_refused(text):
    assert error(text) == "not_a_calendar"


def test_rules_that_repeat_every_second_or_minute_are_refused_at_once():
    started_at = time.monotonic()
    for frequency in ("SECONDLY", "MINUTELY", "secondly"):
        rule = f"DTSTART:20200101T000000Z\nDURATION:PT1S\nRRULE:FREQ={frequency}"
        assert error(ics(rule)) == "too_complex"
    assert time.monotonic() - started_at < 2


def test_too_many_events_and_dates_are_refused():
    event = "DTSTART:20270701T100000Z"
    assert error(ics(*[event] * (MAX_EVENTS + 1))) == "too_complex"
    dates = ",".join(["20270701T100000Z"] * (MAX_DATES + 1))
    assert error(ics(f"{event}\nDURATION:PT1H\nRDATE:{dates}")) == "too_complex"


def test_the_number_of_busy_times_is_limited():
    hours = ",".join(str(hour) for hour in range(0, 24, 2))
    rule = f"DTSTART:20270301T000000Z\nDURATION:PT1H\nRRULE:FREQ=DAILY;BYHOUR={hours}"
    assert len(busy(ics(rule))) == MAX_BUSY_TIMES


@pytest.mark.slow
def test_endless_work_ends_in_the_process_of_its_own(monkeypatch):
    numbers = {60: ",".join(map(str, range(60))), 24: ",".join(map(str, range(24)))}
    rule = f"RRULE:FREQ=DAILY;BYHOUR={numbers[24]};BYMINUTE={numbers[60]};BYSECOND={numbers[60]}"
    text = ics(f"DTSTART:20000101T000000Z\nDURATION:PT1S\n{rule}")
    started_at = time.monotonic()
    with pytest.raises(WorkerFailed):
        feeds._expander.run({"text": text, "zone": ZONE} | WINDOW, seconds=2)
    assert time.monotonic() - started_at < 5
    plain = ics("DTSTART:20270701T100000Z\nDURATION:PT1H")
    # The next calendar gets a new process.
    answer = feeds._expander.run({"text": plain, "zone": ZONE} | WINDOW, seconds=20)
    assert len(answer["busy"]) == 1
