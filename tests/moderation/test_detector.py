"""The detector on the open half of the labelled examples and on the demo, and its speed."""

import time
from datetime import UTC, datetime

import pytest

from demo import content
from detection import detector, judge, numbers
from tests.moderation.labelled import OPEN, read
from tests.moderation.measure import PREVIOUS_MESSAGES, measure


def test_precision_and_recall_on_the_open_half():
    metrics = measure(read(OPEN))
    assert metrics.precision >= 0.95, [one.id for one in metrics.false_alarms]
    assert metrics.recall >= 0.9, [one.id for one in metrics.missed]


def test_raises_no_false_alarm_in_the_demo():
    alarms = []
    for person in content.people():
        texts = (person.display_name, person.headline, person.about, person.city)
        alarms += [text for text in texts if judge(text).is_found]
    for story in content.conversations(datetime.now(UTC)):
        earlier_by_author: dict[str, list[str]] = {}
        alarms += [story.subject] if judge(story.subject).is_found else []
        for line in story.messages:
            earlier = earlier_by_author.setdefault(line.author, [])
            if judge(line.text, earlier[-PREVIOUS_MESSAGES:]).is_found:
                alarms.append(line.text)
            earlier.append(line.text)
    assert alarms == []


HOSTILE = ["5 ", "a.b@", "one two ", "@at dot ", "0-", "www.a.", "(((", "é", "x", "nulleins", "1,"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_the_time_is_proportional_to_the_length(piece):
    def seconds(length: int) -> float:
        text = (piece * length)[:length]
        started = time.process_time()
        detector.examine.__wrapped__(text)
        return time.process_time() - started

    seconds(500)
    short = min(seconds(1000) for _ in range(3))
    long = min(seconds(8000) for _ in range(3))
    # Eight times the length, with tolerance for a busy machine.
    assert long < 30 * short + 0.02


def seconds_for(texts: list[str]) -> float:
    """The time for a text that was not seen before, with known words."""
    rounds = []
    for _ in range(6):
        for cached in (detector.examine, numbers.find_runs, numbers.without_measures):
            cached.cache_clear()
        started = time.process_time()
        for text in texts:
            judge(text)
        rounds.append((time.process_time() - started) / len(texts))
    return min(rounds)


def ordinary_messages() -> list[str]:
    stories = content.conversations(datetime.now(UTC))
    texts = {line.text: None for story in stories for line in story.messages}
    return [text for text in texts if 40 <= len(text) <= 200]


# Twice to four times the measured times, for a busy machine.
def test_a_typical_message_is_cheap():
    assert seconds_for(ordinary_messages()) < 0.000_2


def test_a_long_message_is_cheap():
    text = "\n".join(ordinary_messages())
    texts = [text[at : at + 8000] for at in range(0, 48_000, 8000)]
    assert seconds_for(texts) < 0.006
