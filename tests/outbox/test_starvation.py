"""Postponed entries never delay the entries of other threads and users."""

import pytest
from django.db import transaction

from contracts.actions.revisions import record_change
from core.outbox.models import OutboxEntry
from core.outbox.processing import process_due, process_now
from tests.contracts.conftest import book
from tests.outbox.timing import make_due
from tests.threads.conftest import make_person, messages_of, start
from threads import cache
from threads.actions.staff import lift_soft_block, soft_block_thread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.transactions import update
from threads.models import Profile, Thread

pytestmark = [pytest.mark.storage, pytest.mark.django_db]


@pytest.fixture
def booked(db):
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    book(thread, buyer, seller)
    while process_due():
        pass
    return thread, seller


def deliver(seller, thread, count):
    """Works like an action: record and entry in one transaction, then `process_now`."""
    for number in range(count):
        with transaction.atomic():
            entry = record_change(
                thread, by=seller, key=f"delivery-{number}", text=f"Delivery {number}"
            )
        process_now([entry])


def test_101_deliveries_in_a_thread_on_hold_do_not_delay_a_profile(booked):
    thread, seller = booked
    soft_block_thread(thread_id=thread, reason="Contact details", case_id="case_1")
    deliver(seller, thread, 101)

    user = make_person("Zoe")
    process_due()

    profile = Profile.find(keys.user_pk(user.id), keys.PROFILE)
    assert profile is not None
    assert profile.display_name == "Zoe"


def test_a_process_with_a_stale_cache_notices_a_lifted_hold(booked):
    thread, seller = booked
    soft_block_thread(thread_id=thread, reason="Contact details", case_id="case_1")
    deliver(seller, thread, 1)
    cache.reload(thread)
    # Another process lifts the hold, so the cache of this one is stale.
    lift = Change(remove=("soft_block",), add={"rev": 1})
    update(Thread(keys.thread_pk(thread), keys.THREAD), lift, None)
    make_due()

    process_due()

    assert "Delivery 0" in messages_of(thread)[-1].body


def test_after_the_hold_all_deliveries_are_announced_in_order(booked):
    thread, seller = booked
    soft_block_thread(thread_id=thread, reason="Contact details", case_id="case_1")
    deliver(seller, thread, 5)
    lift_soft_block(thread_id=thread)
    while process_due():
        pass

    bodies = [each.body for each in messages_of(thread) if "Delivery" in (each.body or "")]
    assert bodies == [f"Delivery {number}" for number in range(5)]
    assert not OutboxEntry.objects.filter(done_at=None).exists()
