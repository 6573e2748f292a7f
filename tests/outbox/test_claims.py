"""Claims and order: one process at a time handles an entry, after the earlier ones of its key."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from core.outbox import claims
from core.outbox.claims import LEASE_SECONDS, LeaseLost, claim, complete, extend, list_due
from core.outbox.models import OutboxEntry, ordering_key_of

pytestmark = [pytest.mark.storage, pytest.mark.django_db]


def add(key: str = "thread:1", **fields) -> OutboxEntry:
    return OutboxEntry.objects.create(kind="test", payload={}, ordering_key=key, **fields)


def expire(entry: OutboxEntry) -> None:
    past = timezone.now() - timedelta(seconds=1)
    OutboxEntry.objects.filter(pk=entry.pk).update(claimed_until=past)


def test_an_entry_is_claimed_once():
    entry = add()
    assert claim(entry.pk).attempts == 1
    assert claim(entry.pk) is None
    assert claim(entry.pk, at_once=True) is None
    assert list_due(10) == []


def test_a_later_entry_of_the_same_key_waits_for_the_earlier_one():
    first, second, other = add(), add(), add("thread:2")
    assert list_due(10) == [first.pk, other.pk]
    assert claim(second.pk, at_once=True) is None
    held = claim(first.pk)
    assert claim(second.pk, at_once=True) is None
    assert complete(held)
    assert claim(second.pk) is not None


def test_an_earlier_dead_letter_does_not_block_later_entries():
    first, second = add(), add()
    claims.mark_dead(claim(first.pk), failures=1, error="KeyError")
    assert list_due(10) == [second.pk]


def test_a_retried_dead_letter_waits_for_the_entry_being_processed():
    first, second = add(dead_at=timezone.now()), add()
    held = claim(second.pk)
    OutboxEntry.objects.filter(pk=first.pk).update(dead_at=None)
    assert claim(first.pk) is None
    complete(held)
    assert claim(first.pk) is not None


def test_an_expired_lease_is_taken_over_and_its_old_holder_cannot_write():
    entry = add()
    dead = claim(entry.pk)
    expire(entry)
    taken_over = claim(entry.pk)
    assert taken_over.failures == 1
    assert not complete(dead)
    dead.claimed_until = timezone.now()
    with pytest.raises(LeaseLost):
        extend(dead)
    claims.release(dead, due_at=timezone.now() + timedelta(days=1), failures=9)
    entry.refresh_from_db()
    assert (entry.claimed_by, entry.failures) == (taken_over.claimed_by, 1)
    assert complete(taken_over)


def test_a_long_handler_keeps_its_lease():
    entry = claim(add().pk)
    until = timezone.now() + timedelta(seconds=1)
    OutboxEntry.objects.update(claimed_until=until)
    entry.claimed_until = until
    extend(entry)
    entry.refresh_from_db()
    assert entry.claimed_until > timezone.now() + timedelta(seconds=LEASE_SECONDS / 2)


def test_later_entries_of_a_postponed_key_are_not_due_before_it():
    first, second, other = add(), add(), add("thread:2")
    later = timezone.now() + timedelta(minutes=1)
    claims.release(claim(first.pk), due_at=later, failures=0)
    second.refresh_from_db()
    other.refresh_from_db()
    assert second.due_at == later
    assert other.due_at < later


def explain(query) -> str:
    explained = query.explain()
    return " ".join(explained.split())


def test_the_poll_reads_only_pending_entries():
    """The cost of the poll does not grow with the number of processed entries."""
    done = timezone.now()
    OutboxEntry.objects.bulk_create(
        OutboxEntry(kind="test", payload={}, ordering_key=f"thread:{n % 50}", done_at=done)
        for n in range(5000)
    )
    for n in range(5):
        add(f"thread:{n}")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE accounts_outboxentry")
    due = claims.first_pending().filter(due_at__lte=timezone.now()).order_by("due_at", "id")[:100]
    plan = explain(due)
    assert "outbox_due" in plan
    assert "outbox_order" in plan or "outbox_due" in plan.split("outbox_due", 1)[1]
    assert "Seq Scan" not in plan
    assert "SCAN U0" not in plan


@pytest.mark.parametrize(
    ("kind", "payload", "key"),
    [
        ("booking", {"thread": "thr_1", "by": "usr_1"}, "thread:thr_1"),
        ("profile", {"user": "usr_1"}, "user:usr_1"),
        ("mute", {"user": "usr_1"}, "user:usr_1"),
        ("deletion", {"user": "usr_1", "name": "Bea"}, "user:usr_1"),
        ("block", {"blocker": "usr_2", "blocked": "usr_1"}, "pair:usr_1:usr_2"),
        ("case", {"thread": "thr_1", "person": "usr_1"}, "case:thr_1"),
        ("case", {"thread": "", "person": "usr_1"}, "case:usr_1"),
        ("hold_release", {"case": "case_1"}, "case:case_1"),
        ("booking", {"thread": "thr_1", "by_staff": True}, "staff:thr_1"),
    ],
)
def test_ordering_key_of_each_kind(kind, payload, key):
    assert ordering_key_of(kind, payload) == key
    assert OutboxEntry.objects.create(kind=kind, payload=payload).ordering_key == key
