"""Outcomes of an entry: done, postponed, retried later, or a dead letter."""

import threading
import time
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone

from core import metrics
from core.outbox import maintenance, processing, relay
from core.outbox.claims import claim, complete
from core.outbox.handlers import HANDLERS, Postponed
from core.outbox.models import OutboxEntry
from core.outbox.processing import MAX_FAILURES, backoff, process_due, process_now
from core.refusals import Refusal
from tests.contracts import kills
from tests.outbox.timing import make_due
from threads.dynamodb.store import StoreUnavailable

pytestmark = [pytest.mark.storage, pytest.mark.django_db]


@pytest.fixture
def handled(monkeypatch) -> list[str]:
    """Records the handled entries; the handler raises the error that the entry names."""
    names: list[str] = []

    def handle(entry: OutboxEntry) -> None:
        names.append(entry.payload["name"])
        error = ERRORS.get(entry.payload.get("raises", ""))
        if error is not None:
            raise error

    monkeypatch.setitem(HANDLERS, "test", handle)
    return names


ERRORS = {
    "postponed": Postponed(),
    "store": StoreUnavailable("away"),
    "sql": OperationalError("away"),
    "refusal": Refusal("THREAD_NOT_FOUND"),
    "bug": ZeroDivisionError("with what somebody wrote"),
}


def add(name: str, key: str = "thread:1", **payload) -> OutboxEntry:
    return OutboxEntry.objects.create(
        kind="test", payload={"name": name, **payload}, ordering_key=key
    )


def test_entries_run_in_order_per_key_and_keys_alternate(handled):
    for name in ("a1", "a2", "a3"):
        add(name, "thread:a")
    add("b1", "thread:b")
    assert process_due() == 4
    assert handled == ["a1", "b1", "a2", "a3"]


@pytest.mark.parametrize("reason", ["postponed", "store", "sql", "refusal", "bug"])
def test_a_failing_entry_delays_only_its_own_key(handled, reason):
    first = add("a1", "thread:a", raises=reason)
    add("a2", "thread:a")
    add("b1", "thread:b")
    assert process_due() == 1
    assert handled == ["a1", "b1"]
    first.refresh_from_db()
    assert first.due_at > timezone.now()
    assert (first.attempts, first.claimed_until) == (1, None)
    assert process_due() == 0
    OutboxEntry.objects.filter(pk=first.pk).update(payload={"name": "a1"})
    make_due()
    assert process_due() == 2
    assert handled == ["a1", "b1", "a1", "a2"]


@pytest.mark.parametrize("reason", ["postponed", "store", "sql"])
def test_an_outage_never_makes_a_dead_letter(handled, reason):
    entry = add("a1", raises=reason)
    for _ in range(3 * MAX_FAILURES):
        process_due()
        make_due()
    entry.refresh_from_db()
    assert (entry.attempts, entry.failures, entry.dead_at) == (3 * MAX_FAILURES, 0, None)


@pytest.mark.parametrize("reason", ["refusal", "bug"])
def test_an_entry_that_always_fails_is_dead_lettered_and_later_ones_are_processed(handled, reason):
    entry = add("a1", raises=reason)
    add("a2")
    counter = metrics.OUTBOX_ENTRIES.labels("test", "dead")
    before = counter._value.get()
    for _ in range(MAX_FAILURES):
        process_due()
        make_due()
    entry.refresh_from_db()
    assert entry.dead_at
    assert entry.last_error in ("THREAD_NOT_FOUND", "ZeroDivisionError")
    process_due()
    assert handled == ["a1"] * MAX_FAILURES + ["a2"]
    relay.update_backlog_metrics()
    assert counter._value.get() == before + 1
    assert metrics.OUTBOX_DEAD_LETTERS._value.get() == 1
    assert metrics.OUTBOX_PENDING._value.get() == 0


def test_backoff_doubles_up_to_a_limit_with_jitter():
    for attempts, longest in ((1, 1), (2, 2), (5, 16), (11, 600), (10_000, 600)):
        delays = [backoff(attempts, 600) for _ in range(200)]
        assert longest / 2 <= min(delays) < longest * 0.6
        assert longest * 0.9 < max(delays) <= longest


def test_a_batch_does_not_try_all_keys_while_a_store_is_unavailable(handled):
    for number in range(20):
        add(f"{number}", f"thread:{number}", raises="store")
    process_due()
    assert len(handled) == processing.MAX_UNAVAILABLE


def test_dead_letters_are_listed_and_retried_by_a_command(handled, capsys):
    dead = add("a1")
    OutboxEntry.objects.filter(pk=dead.pk).update(
        dead_at=timezone.now(), failures=10, last_error="KeyError"
    )
    call_command("retry_outbox")
    printed = capsys.readouterr().out
    assert f"{dead.pk} test thread:1" in printed
    assert "KeyError" in printed
    assert process_due() == 0
    with pytest.raises(CommandError, match="Not a dead letter: 999999"):
        call_command("retry_outbox", "999999")
    call_command("retry_outbox", str(dead.pk))
    assert "1 dead letters will be retried" in capsys.readouterr().out
    assert process_due() == 1
    call_command("retry_outbox", "--all")
    assert "0 dead letters" in capsys.readouterr().out


def test_entries_are_deleted_some_time_after_they_are_done(handled):
    old, new, postponed = add("a", "x:1"), add("b", "x:2"), add("c", "x:3", raises="postponed")
    process_due()
    past = timezone.now() - timedelta(days=8)
    OutboxEntry.objects.filter(pk__in=[old.pk, postponed.pk]).update(created_at=past)
    OutboxEntry.objects.filter(pk=old.pk).update(done_at=past)
    assert maintenance.delete_done(timedelta(days=7)) == 1
    assert set(OutboxEntry.objects.values_list("pk", flat=True)) == {new.pk, postponed.pk}


# --- Processed by an action, immediately


def test_an_action_processes_entries_before_its_own_and_none_after(handled):
    add("a1")
    own = add("a2")
    add("a3")
    add("b1", "thread:b")
    process_now([own])
    assert handled == ["a1", "a2"]


def test_an_action_stops_at_a_postponed_entry(handled):
    add("a1", raises="postponed")
    process_now([add("a2")])
    assert handled == ["a1"]


def test_an_action_leaves_a_failing_entry_to_the_relay(handled):
    add("a1", raises="bug")
    process_now([add("a2")])
    started = time.monotonic()
    process_now([add("a3")])
    assert handled == ["a1"]
    assert time.monotonic() - started < 1


@pytest.mark.django_db(transaction=True)
def test_an_action_waits_for_a_relay_that_processes_its_entry(handled):
    own = add("a1")
    held = claim(own.pk)

    def finish() -> None:
        complete(held)
        connection.close()

    relay_timer = threading.Timer(0.2, finish)
    relay_timer.start()
    process_now([own])
    own.refresh_from_db()
    assert own.done_at
    assert handled == []
    relay_timer.join()


def test_a_handler_that_writes_an_entry_of_its_own_key_does_not_wait_for_itself(
    handled, monkeypatch
):
    def handle(entry: OutboxEntry) -> None:
        process_now([add("a2")])

    monkeypatch.setitem(HANDLERS, "nested", handle)
    OutboxEntry.objects.create(kind="nested", payload={}, ordering_key="thread:1")
    started = time.monotonic()
    assert process_due() == 2
    assert handled == ["a2"]
    assert time.monotonic() - started < 1


@pytest.mark.django_db(transaction=True)
def test_an_entry_that_kills_its_process_becomes_a_dead_letter(handled, monkeypatch):
    monkeypatch.setitem(HANDLERS, "deadly", lambda entry: kills.kill_this_process())
    deadly = OutboxEntry.objects.create(kind="deadly", payload={}, ordering_key="thread:1")
    add("a2")
    for _ in range(MAX_FAILURES):
        assert not kills.ended_alive(kills.fork(process_due))
        make_due()
    process_due()
    deadly.refresh_from_db()
    assert deadly.dead_at
    assert handled == ["a2"]
