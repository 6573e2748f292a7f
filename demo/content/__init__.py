"""Demo users and conversations, computed from the JSON files in this directory.

Times in the files are relative ("3h" after the previous message, "2d" before now), and so are days:
"{shoot:day}" in a text is the day defined under "dates", so that texts always match the calendar.
Nothing here accesses a store.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

FOLDER = Path(__file__).parent
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "mo": 2_629_800}
WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
SEASONS = ["winter", "spring", "summer", "autumn"]
HOLIDAYS = [(12, 24), (12, 25), (12, 26), (12, 31), (1, 1)]
SHOOT_DAY = 12  # day of a job on which photos are taken
# Only gaps of at least this length may be extended to reach a waking hour.
PAUSE = timedelta(hours=1)
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Person:
    key: str
    display_name: str
    handle: str
    email: str
    city: str
    time_zone: str
    headline: str
    about: str
    verified: bool


@dataclass(frozen=True)
class DemoSeller:
    """A seller without conversations, who fills the directory."""

    person: Person
    services: dict[str, Any]
    # How long they took to answer first messages.
    replied_minutes: list[int]


@dataclass(frozen=True)
class DemoMessage:
    author: str
    text: str
    at: datetime
    # Names of images in pictures.py.
    pictures: tuple[str, ...] = ()


@dataclass(frozen=True)
class DemoConversation:
    """Users are referred to by key. `unread_for` is the number of unread messages per user."""

    key: str
    language: str
    buyer: str
    seller: str
    subject: str
    city: str
    pinned_by: list[str]
    archived_by: list[str]
    unread_for: dict[str, int]
    messages: list[DemoMessage]


def people() -> list[Person]:
    return [Person(**row) for row in _read("people.json")]


def services() -> dict[str, dict[str, Any]]:
    """What users with conversations offer, by key."""
    return dict(_read("services.json"))


def sellers() -> list[DemoSeller]:
    return [
        DemoSeller(
            services=row.pop("services"),
            replied_minutes=row.pop("replied_minutes"),
            person=Person(**row),
        )
        for row in _read("sellers.json")
    ]


def portfolios() -> dict[str, list[tuple[str, str]]]:
    """Names of images in works.py, with captions, by user."""
    return {
        key: [(name, text) for name, text in rows] for key, rows in _read("portfolios.json").items()
    }


def conversations(now: datetime) -> list[DemoConversation]:
    """All conversations relative to `now` (aware). Deterministic for the same `now`."""
    now = now.astimezone(UTC)
    stories = [_read(path) for path in sorted(FOLDER.glob("conversations/*.json"))]
    short = [_conversation(story, _short_messages(story, now)) for story in stories]
    long = _read("long.json")
    return [*short, _conversation(long, _long_messages(long, now))]


def duration(text: str) -> timedelta:
    [(number, unit)] = re.findall(r"^(\d+)([a-z]+)$", text)
    return timedelta(seconds=int(number) * UNITS[unit])


def _read(name: str | Path) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def _conversation(story: dict[str, Any], messages: list[DemoMessage]) -> DemoConversation:
    names = DemoConversation.__dataclass_fields__.keys() - {"messages"}
    return DemoConversation(**{name: story[name] for name in names}, messages=messages)


# --- Times ------------------------------------------------------------------------------------


@cache
def _zones() -> dict[str, ZoneInfo]:
    return {person.key: ZoneInfo(person.time_zone) for person in people()}


def _times(lines: list[dict[str, Any]], end: datetime, rng: Random) -> list[datetime]:
    """Computed backwards, so that the last message is exactly at the end."""
    both = {_zones()[line["from"]] for line in lines}
    times = [end]
    for line in reversed(lines[1:]):
        gap = duration(line["after"])
        at = times[-1] - gap
        times.append(_shift_to_waking_hour(at, both, rng) if gap >= PAUSE else at)
    return times[::-1]


def _shift_to_waking_hour(at: datetime, zones: set[ZoneInfo], rng: Random) -> datetime:
    """The moment itself if it is a waking hour in all zones, else one less than a day before."""
    if _is_waking_hour(at, zones):
        return at
    moments = (at - timedelta(minutes=11 * step) for step in range(131))
    good = [moment for moment in moments if _is_waking_hour(moment, zones)]
    return rng.choice(good[:40]) if good else at


def _is_waking_hour(at: datetime, zones: set[ZoneInfo]) -> bool:
    return all(8 <= at.astimezone(zone).hour < 21 for zone in zones)


def _end(story: dict[str, Any], now: datetime, rng: Random) -> datetime:
    """Hours ago is exact; days ago is shifted to a waking hour."""
    ago = duration(story["ended"])
    zones = {_zones()[story[side]] for side in ("buyer", "seller")}
    return _shift_to_waking_hour(now - ago, zones, rng) if ago >= DAY else now - ago


# --- Days in texts ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Day:
    """A day that a text can name: "{shoot}", "{shoot:date}", "{shoot:day}", "{shoot:month}"."""

    on: date
    language: str

    def __format__(self, part: str) -> str:
        words = _calendar()[self.language]
        day, month = words["days"][self.on.weekday()], words["months"][self.on.month - 1]
        if part in ("day", "month"):
            return str(day if part == "day" else month)
        number = words.get("first", 1) if self.on.day == 1 else self.on.day
        return str(words[part or "full"].format(day=day, number=number, month=month))


@cache
def _calendar() -> Any:
    return _read("calendar.json")


def _days(story: dict[str, Any], times: list[datetime], now: datetime) -> dict[str, Day]:
    """A rule such as "now +9 sat sep": nine days later or more, the first Saturday in a September.

    The base is "now", the "end", a message ("m12") or a day defined before.
    """
    moments = {"now": now, "end": times[-1]} | {f"m{n}": at for n, at in enumerate(times, 1)}
    zone = _zones()[story["buyer"]]
    dates = {name: at.astimezone(zone).date() for name, at in moments.items()}
    for name, rule in story["dates"].items():
        base, offset, *names = rule.split()
        day = dates[base] + int(offset) * DAY
        while not set(names) <= {WEEKDAYS[day.weekday()], MONTHS[day.month - 1]}:
            day += DAY
        dates[name] = day
    return {name: Day(dates[name], story["language"]) for name in story["dates"]}


def _short_messages(story: dict[str, Any], now: datetime) -> list[DemoMessage]:
    rng = Random(story["key"])
    lines = story["messages"]
    times = _times(lines, _end(story, now, rng), rng)
    days = _days(story, times, now)
    return [
        DemoMessage(line["from"], line["text"].format_map(days), at, _pictures(line))
        for line, at in zip(lines, times, strict=True)
    ]


# --- Two years of one conversation ------------------------------------------------------------
#
# Written as short exchanges and combined job by job: the values of a job ({shoe}, {place}) are the
# same from its brief to its invoice, and an exchange is reused only after months.


class JobValues(dict[str, Any]):
    """Placeholders of a text: values of the job, or the next value of a pool."""

    def __init__(self, own: dict[str, Any], pools: dict[str, Iterator[str]]) -> None:
        super().__init__(own)
        self.pools = pools

    def __missing__(self, name: str) -> str:
        return next(self.pools[name])


class Job(NamedTuple):
    start: date
    shoot: date
    words: JobValues


class Exchange(NamedTuple):
    day: date
    phase: int
    minute: int
    lines: list[dict[str, Any]]
    words: JobValues


def _long_messages(story: dict[str, Any], now: datetime) -> list[DemoMessage]:
    rng = Random(story["key"])
    end = _end(story, now, rng)
    closing = _fixed_messages(story["ending"], end, rng)
    opening = _fixed_messages(story["opening"], end - duration(story["lasted"]) + 15 * DAY, rng)
    jobs = _jobs(story, opening[-1].at + 3 * DAY, closing[0].at - DAY, rng)
    exchanges = sorted(_exchanges(story, jobs, rng), key=lambda e: (e.day, e.phase, e.minute))
    middle = _timed_messages(exchanges, opening[-1].at, _zones()[story["seller"]], rng)
    return [*opening, *middle, *closing]


def _fixed_messages(lines: list[dict[str, Any]], end: datetime, rng: Random) -> list[DemoMessage]:
    times = _times(lines, end, rng)
    return [
        DemoMessage(line["from"], line["text"], at, _pictures(line))
        for line, at in zip(lines, times, strict=True)
    ]


def _pictures(line: dict[str, Any]) -> tuple[str, ...]:
    return tuple(line.get("pictures", ()))


def _jobs(story: dict[str, Any], first: datetime, last: datetime, rng: Random) -> list[Job]:
    step = (last - first) / len(story["jobs"])
    pools = {name: _deck(words, rng) for name, words in story["pools"].items()}
    jobs = []
    for number, own in enumerate(story["jobs"]):
        start = (first + number * step).date()
        shoot = _workday(start + SHOOT_DAY * DAY, DAY)
        due = _workday(shoot + 9 * DAY, DAY)
        words = JobValues({**own, "shoot": Day(shoot, "en"), "due": Day(due, "en")}, pools)
        jobs.append(Job(start, shoot, words))
    return jobs


def _deck(items: list[Any], rng: Random) -> Iterator[Any]:
    """Endless. Each half is shuffled separately, so that no item returns soon."""
    half = len(items) // 2
    while True:
        yield from rng.sample(items[:half], half)
        yield from rng.sample(items[half:], len(items) - half)


def _workday(day: date, step: timedelta) -> date:
    while day.weekday() >= 5 or (day.month, day.day) in HOLIDAYS:
        day += step
    return day


def _exchanges(story: dict[str, Any], jobs: list[Job], rng: Random) -> list[Exchange]:
    decks = {topic: _deck(items, rng) for topic, items in story["exchanges"].items()}
    # Exchanges that occur once keep the order in the file.
    once = {phase["topic"] for phase in story["phases"] if phase["once"]}
    decks |= {topic: iter(story["exchanges"][topic]) for topic in once}
    made = []
    for job in jobs:
        for number, phase in enumerate(story["phases"]):
            deck = decks[_weather(job) if phase["topic"] == "weather" else phase["topic"]]
            days = [rng.randint(phase["from_day"], phase["to_day"]) for _ in range(phase["count"])]
            hours = phase["from_hour"], phase["to_hour"]
            made += [_exchange(job, day, number, hours, next(deck), rng) for day in sorted(days)]
    return made + _notes(story, jobs, made, decks["notes"], rng)


def _notes(
    story: dict[str, Any],
    jobs: list[Job],
    made: list[Exchange],
    deck: Iterator[list[dict[str, str]]],
    rng: Random,
) -> list[Exchange]:
    """Single lines, evenly spread, that fill up to the total number of messages."""
    written = len(story["opening"]) + len(story["ending"]) + sum(len(e.lines) for e in made)
    missing = story["total"] - written
    some = [jobs[number * len(jobs) // missing] for number in range(missing)]
    return [
        _exchange(job, rng.randint(SHOOT_DAY + 1, 25), 0, (8, 16), next(deck), rng) for job in some
    ]


def _weather(job: Job) -> str:
    return f"weather in {SEASONS[job.shoot.month % 12 // 3]}"


def _exchange(
    job: Job,
    after: int,
    phase: int,
    hours: tuple[int, int],
    lines: list[dict[str, Any]],
    rng: Random,
) -> Exchange:
    """On days off, preparation moves to an earlier day and follow-up to a later one."""
    if after < SHOOT_DAY:
        day = _workday(job.start + after * DAY, -DAY)
    else:
        day = _workday(job.shoot + (after - SHOOT_DAY) * DAY, DAY)
    return Exchange(day, phase, rng.randint(hours[0] * 60, hours[1] * 60), lines, job.words)


def _timed_messages(
    exchanges: list[Exchange], clock: datetime, zone: ZoneInfo, rng: Random
) -> Iterator[DemoMessage]:
    for exchange in exchanges:
        planned = datetime.combine(exchange.day, time(), zone) + timedelta(minutes=exchange.minute)
        clock = max(planned.astimezone(UTC), clock + timedelta(minutes=15))
        before = None
        for line in exchange.lines:
            clock += _gap(line, before, rng)
            before = line["from"]
            yield DemoMessage(before, _vary(line["text"], rng).format_map(exchange.words), clock)


def _gap(line: dict[str, str], before: str | None, rng: Random) -> timedelta:
    """Seconds between messages of one author, minutes before a reply."""
    if "after" in line:
        return duration(line["after"])
    return timedelta(
        seconds=rng.randint(15, 70) if before == line["from"] else rng.randint(35, 600)
    )


def _vary(text: str, rng: Random) -> str:
    """Chooses one of the options in "<this|that>"."""
    return re.sub("<([^>]*)>", lambda found: rng.choice(found[1].split("|")), text)
