"""Pin, unpin, archive, restore: folder and pin determine a row's keys in the indexes."""

import pytest

from core.refusals import Refusal
from inbox.queries import list_folder
from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of, read_newest, row, say, start, thread_item
from threads.actions.folders import archive_thread, pin_thread, restore_thread, unpin_thread
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.models import Participant

pytestmark = pytest.mark.indexes

PLACES = (pin_thread, unpin_thread, archive_thread, restore_thread)


def ids_in(user, folder: str) -> list[str]:
    return [each.thread_id for each in list_folder(user, folder).rows]


def test_a_pinned_thread_is_listed_first(buyer, seller):
    old, middle, new = (start(buyer, seller) for _ in range(3))
    pin_thread(buyer, thread_id=old)

    assert ids_in(buyer, "inbox") == [old, new, middle]
    assert ids_in(seller, "inbox") == [new, middle, old]
    pin_thread(buyer, thread_id=middle)
    assert ids_in(buyer, "inbox") == [middle, old, new]
    say(seller, old)
    assert ids_in(buyer, "inbox") == [old, middle, new]
    unpin_thread(buyer, thread_id=old)
    assert ids_in(buyer, "inbox") == [middle, old, new]
    assert_consistent(old, middle, new)


def test_an_archived_thread_is_listed_in_the_archive_only(thread, buyer, seller):
    archive_thread(seller, thread_id=thread)

    assert ids_in(seller, "inbox") == []
    assert ids_in(seller, "archived") == [thread]
    assert ids_in(buyer, "inbox") == [thread]
    assert row(thread, seller).unread == 1
    assert row(thread, seller).unread_pk is None
    assert_consistent(thread)


def test_a_restored_thread_with_unread_messages_is_listed_as_unread(thread, buyer, seller):
    archive_thread(seller, thread_id=thread)
    restore_thread(seller, thread_id=thread)
    assert row(thread, seller).unread_pk == keys.unread_pk(seller.id)

    read_newest(seller, thread)
    archive_thread(seller, thread_id=thread)
    restore_thread(seller, thread_id=thread)
    assert row(thread, seller).unread_pk is None
    assert ids_in(seller, "inbox") == [thread]
    assert_consistent(thread)


def test_a_restored_thread_keeps_its_unread_mark(thread, seller):
    read_newest(seller, thread)
    archive_thread(seller, thread_id=thread)
    row(thread, seller).update([Participant.marked_unread.set(True)])
    restore_thread(seller, thread_id=thread)
    assert row(thread, seller).unread_pk == keys.unread_pk(seller.id)
    assert_consistent(thread)


def test_a_pin_survives_archiving_and_restoring(thread, buyer, seller):
    pin_thread(seller, thread_id=thread)
    archive_thread(seller, thread_id=thread)
    assert row(thread, seller).inbox_sk.startswith(keys.PINNED)
    say(buyer, thread)
    assert (row(thread, seller).folder, row(thread, seller).pinned) == ("inbox", True)
    assert_consistent(thread)


def test_a_folder_change_affects_only_the_users_row(thread, buyer, seller):
    before = row(thread, buyer), thread_item(thread)
    pin_thread(seller, thread_id=thread)
    archive_thread(seller, thread_id=thread)

    after = row(thread, buyer), thread_item(thread)
    for one, other in zip(before, after, strict=True):
        assert one.attribute_values == other.attribute_values
    assert len(messages_of(thread)) == 1


def test_a_folder_change_is_published_only_to_its_user(thread, buyer, seller, delivered):
    delivered.clear()
    pin_thread(seller, thread_id=thread)
    archive_thread(seller, thread_id=thread)

    pinned, archived = delivered.to(seller, "inbox.changed")
    assert (pinned["folder"], pinned["pinned"], pinned["unread"]) == ("inbox", True, 1)
    assert (archived["folder"], archived["pinned"]) == ("archived", True)
    assert not delivered.to(buyer)


@pytest.mark.parametrize("place", PLACES)
def test_a_stranger_is_refused_like_for_a_missing_thread(thread, stranger, place, delivered):
    for thread_id in (thread, "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"):
        with pytest.raises(Refusal) as refused:
            place(stranger, thread_id=thread_id)
        assert refused.value.code == "THREAD_NOT_FOUND"
    assert row(thread, stranger) is None
    assert not delivered.to(stranger)


@pytest.mark.parametrize("place", PLACES)
def test_folder_changes_are_idempotent(thread, seller, place):
    place(seller, thread_id=thread)
    once = row(thread, seller).attribute_values
    place(seller, thread_id=thread)
    assert row(thread, seller).attribute_values == once
    assert_consistent(thread)


def test_folder_changes_update_the_cache(thread, buyer, seller):
    """The cache is current, so the next send needs no second attempt."""
    pin_thread(seller, thread_id=thread)
    archive_thread(buyer, thread_id=thread)
    with count_requests() as requests:
        say(buyer, thread)
    assert requests == ["TransactWriteItems"]
    assert_consistent(thread)
