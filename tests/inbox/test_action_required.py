"""Actions required of a user: cards, offers and contracts to sign.

The list, the count and the label of the row agree after every change and in every folder.
"""

from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command

from contracts.models import Card
from core.outbox.models import OutboxEntry
from core.outbox.processing import process_due
from inbox.queries import WAITING, count_rows, list_waiting
from inbox.rows import row_of
from projects.actions import bookings, cards
from projects.actions.bookings import accept_offer, decline_offer, withdraw_offer
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import answer, propose
from tests.contracts.conftest import book, offer_in, pay, sign, terms
from tests.inbox.test_list_folder import ids
from tests.indexes import settle
from tests.threads.checker import assert_consistent
from tests.threads.conftest import row, say, start, thread_item
from threads import cache
from threads.actions.folders import archive_thread, mark_spam, restore_thread
from threads.actions.messages import OutgoingMessage, send_batch
from threads.actions.participants import leave_thread
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import Item, query
from threads.models import PendingAction

pytestmark = pytest.mark.django_db(transaction=True)


def required_actions(user, thread: str) -> list[str]:
    """Lists the types of a user's pending actions in a thread, checking list, count and row."""
    prefix = keys.pending_action_sk(thread, "")
    items = query(keys.user_pk(user.id), Item.sk.startswith(prefix), limit=100).of(PendingAction)
    listed = ids(list_waiting(user))
    assert (thread in listed) == bool(items)
    assert count_rows(user)[WAITING] == len(listed)
    item = row(thread, user)
    if item is not None and item.folder == "inbox":
        shown = row_of(user, item)
        assert (shown.waits_for == "you") == bool(items)
        assert bool(shown.step_text) == bool(shown.step)
    return sorted(item.type for item in items)


def assert_stores_agree(*threads: str) -> None:
    for thread in threads:
        assert list(list_differences(thread)) == []
    assert_consistent(*threads)


def test_an_offer_is_required_of_the_user_who_has_to_answer(thread, buyer, seller, delivered):
    offer = offer_in(thread, seller)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == (["offer"], [])
    assert row_of(buyer, row(thread, buyer)).step_text == "Reply to the offer"
    shown = row_of(seller, row(thread, seller))
    assert shown.waits_for == "them"
    assert shown.step_text == f"Waiting for {buyer.display_name} to reply to the offer"
    assert delivered.to(seller, "inbox.changed")[-1]["step"] == "offer"
    assert delivered.to(buyer, "inbox.changed")[-1]["waiting_for"] == buyer.id
    # A message does not change the pending action.
    say(buyer, thread, "Let me think.")
    assert required_actions(buyer, thread) == ["offer"]
    decline_offer(buyer, offer_id=offer.id)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == ([], [])
    assert row_of(buyer, row(thread, buyer)).waits_for == ""
    assert delivered.to(buyer, "inbox.changed")[-1]["waiting_for"] == ""
    assert_stores_agree(thread)


def test_a_withdrawn_offer_is_removed_and_another_stays(thread, buyer, seller):
    first, _ = offer_in(thread, seller), offer_in(thread, seller)
    assert required_actions(buyer, thread) == ["offer", "offer"]
    assert count_rows(buyer)[WAITING] == 1
    withdraw_offer(seller, offer_id=first.id)
    assert required_actions(buyer, thread) == ["offer"]
    assert_stores_agree(thread)


def test_a_contract_is_required_of_each_party_until_signed_and_again_when_superseded(
    thread, buyer, seller
):
    leg = book(thread, buyer, seller)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == (
        ["contract"],
        ["contract"],
    )
    sign(buyer, leg)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == ([], ["contract"])
    sign(seller, leg)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == (["deposit"], [])
    pay(leg, 40_000)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == ([], [])
    change = offer_in(thread, buyer, terms(price_cents=90_000), changes=leg.id)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == ([], ["offer"])
    accept_offer(seller, offer_id=change.id)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == (
        ["contract"],
        ["contract"],
    )
    sign(seller, leg, 2)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == (["contract"], [])
    assert_stores_agree(thread)


def test_cards_are_listed_with_contracts_and_removed_on_cancellation(thread, buyer, seller):
    leg = book(thread, buyer, seller)
    propose("sign", leg)
    assert required_actions(buyer, thread) == ["contract", "sign"]
    sign(buyer, leg)
    assert (required_actions(buyer, thread), required_actions(seller, thread)) == (
        [],
        ["contract", "sign"],
    )
    cancellation = propose("cancel", leg, buyer)
    assert required_actions(seller, thread) == ["cancel", "contract", "sign"]
    answer(seller, cancellation, "accept")
    assert "contract" not in required_actions(seller, thread)
    assert_stores_agree(thread)


def test_an_expired_card_is_removed(thread, buyer, seller):
    from datetime import timedelta

    from django.utils import timezone

    from projects.cards.deadline_worker import process_due_cards

    leg = book(thread, buyer, seller)
    card = propose("reschedule", leg, seller)
    assert required_actions(buyer, thread) == ["contract", "reschedule"]
    Card.objects.filter(pk=card.pk).update(due_at=timezone.now() - timedelta(minutes=1))
    process_due_cards()
    assert required_actions(buyer, thread) == ["contract"]
    assert_stores_agree(thread)


@pytest.mark.parametrize("move_thread", [archive_thread, mark_spam])
def test_an_archived_or_spam_thread_is_neither_listed_nor_counted(
    thread, buyer, seller, move_thread
):
    offer_in(thread, seller)
    move_thread(buyer, thread_id=thread)
    assert required_actions(buyer, thread) == []
    assert_stores_agree(thread)
    restore_thread(buyer, thread_id=thread)
    assert required_actions(buyer, thread) == ["offer"]
    assert_stores_agree(thread)


def test_a_message_in_an_archived_thread_lists_its_action_again(thread, buyer, seller):
    offer = offer_in(thread, seller)
    archive_thread(buyer, thread_id=thread)
    say(seller, thread, "Have you seen it?")
    assert required_actions(buyer, thread) == ["offer"]
    archive_thread(buyer, thread_id=thread)
    withdraw_offer(seller, offer_id=offer.id)
    assert required_actions(buyer, thread) == []
    offer_in(thread, seller)
    archive_thread(buyer, thread_id=thread)
    other = start(buyer, seller)
    # Sent in a batch with a message of another thread: this one is sent separately.
    say(seller, other)
    sent = [OutgoingMessage(seller, each, str(uuid4()), "And this?") for each in (thread, other)]
    send_batch(sent)
    assert [bool(one.batch_entry.appended) for one in sent] == [False, True]
    sent[0].run()
    assert required_actions(buyer, thread) == ["offer"]
    assert_stores_agree(thread)
    assert_consistent(other)


def test_actions_in_spam_are_listed_only_after_restoring(thread, buyer, seller):
    mark_spam(buyer, thread_id=thread)
    offer_in(thread, seller)
    assert required_actions(buyer, thread) == []
    assert row(thread, buyer).folder == "spam"
    restore_thread(buyer, thread_id=thread)
    assert required_actions(buyer, thread) == ["offer"]
    assert_stores_agree(thread)


def test_a_user_who_leaves_has_no_required_actions(thread, buyer, seller):
    offer_in(thread, seller)
    leave_thread(buyer, thread_id=thread)
    assert required_actions(buyer, thread) == []
    assert thread_item(thread).waits == []
    assert row_of(seller, row(thread, seller)).waits_for == ""
    assert_consistent(thread)


@pytest.mark.storage
def test_actions_missing_after_a_crash_are_relayed_later(thread, buyer, seller, monkeypatch):
    """The record is in SQL, and the process ends before the table is written."""
    with monkeypatch.context() as crash:
        for module in (bookings, cards):
            crash.setattr(module, "process_now", lambda entries: None)
        offer = offer_in(thread, seller)
        assert required_actions(buyer, thread) == []
        decline_offer(buyer, offer_id=offer.id)
        second = offer_in(thread, seller)
    cache.invalidate(thread)
    while process_due():
        assert required_actions(buyer, thread) == ["offer"]
    assert not OutboxEntry.objects.filter(done_at=None).exists()
    assert [each["what"] for each in thread_item(thread).waits] == [
        Card.objects.get(offer=second).message_id
    ]
    assert_stores_agree(thread)


def test_a_card_without_its_message_id_stays_required(thread, buyer, seller):
    """The process ended before the message id was stored; then another message is written."""
    leg = book(thread, buyer, seller)
    sign(buyer, leg)
    sign(seller, leg)
    card = propose("extras", leg)
    message_id = Card.objects.get(pk=card.pk).message_id
    Card.objects.filter(pk=card.pk).update(message_id="")
    offer_in(thread, seller, changes=leg.id)
    assert required_actions(buyer, thread) == ["deposit", "extras", "offer"]
    Card.objects.filter(pk=card.pk).update(message_id=message_id)
    assert_stores_agree(thread)


@pytest.mark.storage
def test_actions_rebuilt_from_the_records_are_the_same(thread, buyer, seller):
    quiet = start(buyer, seller)
    offer_in(thread, seller)
    leg = book(quiet, buyer, seller)
    propose("extras", leg)
    before = {user.id: sorted(_items(user)) for user in (buyer, seller)}
    stray = keys.pending_action_sk(thread, "ofr_01JZZZZZZZZZZZZZZZZZZZZZZZ")
    for item in query(keys.user_pk(buyer.id), limit=100).of(PendingAction):
        item.delete()
    PendingAction(
        keys.user_pk(seller.id), stray, type="offer", created_at="2026-01-01T00:00:00.000Z"
    ).save()
    assert [list(list_differences(each)) != [] for each in (thread, quiet)] == [True, True]
    call_command("rebuild_snapshots", stdout=StringIO())
    assert {user.id: sorted(_items(user)) for user in (buyer, seller)} == before
    assert_stores_agree(thread, quiet)
    # Later messages work as before.
    say(buyer, thread)
    say(seller, quiet)
    assert (required_actions(buyer, thread), required_actions(buyer, quiet)) == (
        ["offer"],
        ["contract", "extras"],
    )
    assert_stores_agree(thread, quiet)


def _items(user) -> list[tuple[str, str, str]]:
    found = query(keys.user_pk(user.id), Item.sk.startswith(keys.PENDING_ACTIONS), limit=100)
    return [(each.sk, each.type, each.created_at) for each in found.of(PendingAction)]


def test_threads_of_earlier_releases_get_their_actions_by_the_rebuild(thread, buyer, seller):
    """Such a thread item has no list of pending actions."""
    offer_in(thread, seller)
    item = thread_item(thread)
    item.waits = None
    item.save()
    for each in query(keys.user_pk(buyer.id), limit=100).of(PendingAction):
        each.delete()
    cache.invalidate(thread)
    call_command("rebuild_snapshots", thread=thread, stdout=StringIO())
    assert required_actions(buyer, thread) == ["offer"]
    assert_stores_agree(thread)


def test_required_actions_per_thread_are_limited_and_refilled(thread, buyer, seller):
    offers = [offer_in(thread, seller) for _ in range(23)]
    assert required_actions(buyer, thread) == ["offer"] * 20
    for offer in offers[:5]:
        withdraw_offer(seller, offer_id=offer.id)
    assert required_actions(buyer, thread) == ["offer"] * 18
    assert_stores_agree(thread)


def test_the_page_queries_no_sql_records(thread, buyer, seller, django_assert_num_queries):
    offer_in(thread, seller)
    settle()
    with django_assert_num_queries(0), count_requests() as requests:
        assert ids(list_waiting(buyer)) == [thread]
        assert count_rows(buyer)[WAITING] == 1
    assert requests == ["Query", "BatchGetItem", "Query", "Query", "Query"]
