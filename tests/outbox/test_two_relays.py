"""Two relays, one of them killed at every step: each entry takes effect once, in order."""

import os
import time

import pytest
from django.db import transaction

from contracts.actions.revisions import record_change
from core.outbox import claims, processing
from core.outbox.claims import pending
from core.outbox.processing import process_due, process_now
from tests.contracts import crash_points
from tests.contracts.conftest import book
from tests.threads.conftest import make_person, messages_of, start
from tests.wait import wait_until
from threads import cache

pytestmark = [pytest.mark.storage, pytest.mark.django_db(transaction=True), pytest.mark.slow]

MAX_SECONDS = 60


@pytest.fixture
def short_lease(monkeypatch):
    monkeypatch.setattr(claims, "LEASE_SECONDS", 1.5)
    monkeypatch.setattr(
        processing, "MAX_BACKOFF_SECONDS", dict.fromkeys(processing.HandlerOutcome, 0.1)
    )


def conversation():
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    book(thread, buyer, seller)
    return thread, seller


def announce(thread, seller, count):
    with transaction.atomic():
        return [
            record_change(thread, by=seller, key=f"line-{number}", text=f"Line {number}")
            for number in range(count)
        ]


def relay_until_empty() -> None:
    def is_empty() -> bool:
        while process_due():
            pass
        return not pending().exists()

    wait_until(is_empty, MAX_SECONDS)


def second_relay(start_pipe: int) -> None:
    """Starts after the other relay has claimed an entry, or has died before that."""
    os.set_blocking(start_pipe, False)
    while not pending().exclude(claimed_by="").exists():
        try:
            os.read(start_pipe, 1)
            break
        except BlockingIOError:
            time.sleep(0.01)
    relay_until_empty()


def assert_once_and_in_order(thread, count):
    cache.invalidate(thread)
    lines = [each.body for each in messages_of(thread) if (each.body or "").startswith("Line")]
    assert lines == [f"Line {number}" for number in range(count)]
    crash_points.assert_stores_agree(thread)


def run_two_relays(step: int, first) -> bool:
    read_end, write_end = os.pipe()
    second = crash_points.fork(lambda: second_relay(read_end))
    survived = crash_points.exited_normally(crash_points.fork(first, kill_at=step))
    os.write(write_end, b"!")
    assert crash_points.exited_normally(second)
    for each in (read_end, write_end):
        os.close(each)
    return survived


def test_entries_take_effect_once_when_one_of_two_relays_is_killed(short_lease):
    relay_until_empty()
    first_threads = [conversation(), conversation()]
    relay_until_empty()
    for step in crash_points.list_steps():
        threads, first_threads = first_threads or [conversation()], []
        for thread, seller in threads:
            announce(thread, seller, 3)
        survived = run_two_relays(step, relay_until_empty)
        for thread, _ in threads:
            assert_once_and_in_order(thread, 3)
        if survived:
            assert step > 3, "no step was killed"
            return
    pytest.fail("no step survived")


def test_entries_take_effect_once_when_an_action_is_killed_beside_a_relay(short_lease):
    for step in crash_points.list_steps():
        thread, seller = conversation()
        survived = run_two_relays(step, lambda of=(thread, seller): process_now(announce(*of, 2)))
        relay_until_empty()
        cache.invalidate(thread)
        announced = sum((each.body or "").startswith("Line") for each in messages_of(thread))
        # An action that is killed before its commit has written nothing.
        assert_once_and_in_order(thread, 2 if announced else 0)
        if survived:
            assert step > 3, "no step was killed"
            assert announced == 2
            return
    pytest.fail("no step survived")
