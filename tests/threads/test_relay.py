"""Copies of profiles in the table, and the relay during failures."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from accounts.actions import change_profile
from accounts.models import User
from core.outbox import processing
from core.outbox.handlers import HANDLERS
from core.outbox.models import OutboxEntry
from inbox.queries import list_folder
from tests.outbox.timing import make_due
from tests.threads.checker import assert_consistent, read_partition
from tests.threads.conftest import add_friend, make_person, row, say, start
from tests.threads.faults import ALWAYS, UPDATE, client_error, unreachable
from threads.actions.blocks import block_person
from threads.actions.folders import archive_thread
from threads.actions.participants import remove_participant
from threads.dynamodb import keys
from threads.dynamodb.retry import time_budget
from threads.models import Pair, Profile
from threads.queries import open_thread


@pytest.fixture
def empty_outbox(db) -> None:
    OutboxEntry.objects.all().delete()


def rename(user: User, name: str, **fields: str) -> OutboxEntry:
    values = {
        "display_name": name,
        "handle": user.handle,
        "city": user.city,
        "time_zone": user.time_zone,
        "headline": "",
        "about": "",
        **fields,
    }
    change_profile(user, **values)
    return OutboxEntry.objects.filter(kind="profile", payload__user=user.id).latest("id")


def profile(user: User) -> Profile:
    return Profile.find(keys.user_pk(user.id), keys.PROFILE)


def test_a_new_user_has_a_profile_in_the_table(empty_outbox):
    user = make_person("Bea")
    assert processing.process_due() == 1
    copied = profile(user)
    assert (copied.display_name, copied.handle) == ("Bea", user.handle)
    assert (copied.time_zone, copied.verified, copied.city) == ("UTC", False, None)


@pytest.mark.storage
def test_a_new_name_is_copied_to_the_profile_and_all_rows(
    thread, buyer, seller, stranger, empty_outbox
):
    add_friend(buyer, thread_id=thread, user=stranger)
    archived = start(seller, buyer)
    archive_thread(buyer, thread_id=archived)
    rename(buyer, "Beatrix", city="Porto", time_zone="Europe/Lisbon")

    assert processing.process_due() == 1

    assert (profile(buyer).display_name, profile(buyer).city) == ("Beatrix", "Porto")
    for each in (thread, archived):
        assert row(each, buyer).person["name"] == "Beatrix"
        assert row(each, buyer).person["timeZone"] == "Europe/Lisbon"
        assert row(each, seller).other_side["name"] == "Beatrix"
        # Names of the other participants are unchanged.
        assert row(each, seller).person["name"] == "Sam"
        assert row(each, buyer).other_side["name"] == "Sam"
        assert_consistent(each)
    assert row(thread, stranger).other_side["name"] == "Beatrix"
    assert [each.other_side["name"] for each in list_folder(seller, "inbox").rows] == [
        "Beatrix",
        "Beatrix",
    ]
    assert open_thread(seller, thread).cached.get_person(buyer.id)["name"] == "Beatrix"


def test_the_next_message_has_the_new_name(thread, buyer, delivered, empty_outbox):
    say(buyer, thread)
    rename(buyer, "Beatrix")
    processing.process_due()
    delivered.clear()
    say(buyer, thread)
    assert "Beatrix" in delivered.to(buyer, "message.sent")[0]["html"]


def test_the_profile_handler_is_idempotent(thread, buyer, empty_outbox):
    entry = rename(buyer, "Beatrix")
    HANDLERS["profile"](entry)
    once = [item.attribute_values for item in read_partition(thread)]
    profiled = profile(buyer).attribute_values

    HANDLERS["profile"](entry)

    assert [item.attribute_values for item in read_partition(thread)] == once
    assert profile(buyer).attribute_values == profiled


def test_a_late_entry_does_not_undo_a_newer_one(thread, buyer, seller, empty_outbox):
    old, new = rename(buyer, "Beatrix"), rename(buyer, "Trixie")
    HANDLERS["profile"](new)
    # Simulates a handler that read the user before the newer change.
    User.objects.filter(pk=buyer.pk).update(display_name="Beatrix")
    HANDLERS["profile"](old)

    assert profile(buyer).display_name == "Trixie"
    assert row(thread, buyer).person["name"] == "Trixie"
    assert row(thread, seller).other_side["name"] == "Trixie"


def test_a_copied_profile_keeps_last_seen(buyer, empty_outbox):
    processing.process_entry(rename(buyer, "Beatrix"))
    profile(buyer).update([Profile.last_seen_at.set("2026-05-04T09:30:00.125Z")])
    processing.process_entry(rename(buyer, "Trixie", city=""))
    assert profile(buyer).last_seen_at == "2026-05-04T09:30:00.125Z"


@pytest.mark.parametrize("updates", range(6))
def test_a_partial_copy_is_completed(buyer, seller, faults, empty_outbox, updates):
    threads = [start(buyer, seller) for _ in range(2)]
    rename(buyer, "Beatrix")
    faults.allow(UPDATE, updates)
    faults.before(UPDATE, unreachable, times=ALWAYS)
    processing.process_due()

    faults.clear()
    make_due()
    processing.process_due()
    assert not OutboxEntry.objects.filter(done_at__isnull=True).exists()
    for thread in threads:
        assert row(thread, buyer).person["name"] == "Beatrix"
        assert row(thread, seller).other_side["name"] == "Beatrix"


def test_a_copy_waits_for_a_transaction_on_the_same_item(
    thread, buyer, seller, faults, empty_outbox
):
    rename(buyer, "Beatrix")
    faults.before(UPDATE, client_error("TransactionConflictException"), times=3)
    assert processing.process_due() == 1
    assert row(thread, seller).other_side["name"] == "Beatrix"


def test_a_participant_removed_during_the_copy_is_not_written_back(
    thread, buyer, stranger, faults, empty_outbox
):
    add_friend(buyer, thread_id=thread, user=stranger)
    rename(stranger, "Stig the Second")

    def remove() -> None:
        remove_participant(buyer, thread_id=thread, user_id=stranger.id)

    # The first update is the profile itself; the participant is removed before the next one.
    faults.run_before(UPDATE, lambda: faults.run_before(UPDATE, remove))
    assert processing.process_due() == 1
    assert row(thread, stranger) is None
    assert_consistent(thread)


# --- Failures


@pytest.mark.storage
def test_a_failing_entry_does_not_delay_the_rest(thread, buyer, seller, faults, empty_outbox):
    OutboxEntry.objects.create(kind="no such kind", payload={})
    faults.before("*", unreachable, times=ALWAYS)
    block_person(seller, blocked=buyer)
    faults.clear()
    make_due()

    assert processing.process_due() == 1

    assert Pair.find(keys.pair_pk(buyer.id, seller.id), keys.STATE).blocked_by == {seller.id}
    (pending,) = OutboxEntry.objects.filter(done_at__isnull=True)
    assert pending.kind == "no such kind"


def test_the_profile_entry_of_a_missing_user_is_done(empty_outbox):
    OutboxEntry.objects.create(kind="profile", payload={"user": "usr_of_somebody_deleted"})
    assert processing.process_due() == 1
    assert not OutboxEntry.objects.filter(done_at__isnull=True).exists()


def test_the_relay_does_not_try_all_entries_while_the_store_is_unavailable(
    buyer, faults, empty_outbox
):
    for number in range(5):
        rename(buyer, f"Bea {number}")
    faults.before("*", unreachable, times=ALWAYS)
    with time_budget(0.0):
        assert processing.process_due() == 0
    assert faults.count == 1
    faults.clear()
    make_due()
    assert processing.process_due() == 5


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_a_profile_copy_holds_no_database_lock(faults):
    buyer, seller = make_person("Bea"), make_person("Sam")
    start(buyer, seller)
    entry = rename(buyer, "Beatrix")
    written = threading.Event()

    def write() -> None:
        User.objects.filter(pk=seller.pk).update(city="Porto")
        written.set()
        connection.close()

    with ThreadPoolExecutor(1) as pool:

        def write_concurrently() -> None:
            pool.submit(write)
            assert written.wait(3), "the copy holds the database"

        faults.run_before(UPDATE, write_concurrently)
        assert processing.process_entry(entry)
    assert written.is_set()


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_concurrent_entries_end_with_the_newest_name():
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    entries = [rename(buyer, f"Bea {number}") for number in range(6)]
    barrier = threading.Barrier(3)

    def process(part: list[OutboxEntry]) -> None:
        barrier.wait()
        for entry in part:
            processing.process_entry(entry)
        connection.close()

    with ThreadPoolExecutor(3) as pool:
        for job in [pool.submit(process, entries[place::3]) for place in range(3)]:
            job.result()
    assert row(thread, buyer).person["name"] == "Bea 5"
    assert row(thread, seller).other_side["name"] == "Bea 5"
    assert profile(buyer).display_name == "Bea 5"
