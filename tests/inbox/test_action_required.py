"""What waits for somebody (cards, offers, contracts to be signed) is in the table, and list, number
and the chip of its row say the same, whatever happens to it and wherever the row is."""

from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import call_command

from contracts.models import Card
from core.outbox.models import OutboxEntry
from core.outbox.processing import process_due
from inbox.queries import ACTION_REQUIRED, count_rows, list_action_required
from inbox.rows import row_of
from projects.actions import bookings
from projects.actions.bookings import accept_offer, decline_offer, withdraw_offer
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import answer, propose
from tests.contracts.conftest import book, offer_in, sign, terms
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

pytestmark = [pytest.mark.storage, pytest.mark.django_db(transaction=True)]


def waits(user, thread: str) -> list[str]:
    """What of a thread waits for somebody: in their list, their number and their chip, or nowhere
    (a reply that is owed is a chip, and no more)."""
    prefix = keys.pending_action_sk(thread, "")
    items = query(keys.user_pk(user.id), Item.sk.startswith(prefix), limit=100).of(PendingAction)
    listed = ids(list_action_required(user))
    assert (thread in listed) == bool(items)
    assert count_rows(user)[ACTION_REQUIRED] == len(listed)
    if items:
        assert row_of(user, row(thread, user)).waits_for == "you"
    return sorted(item.type for item in items)


def assert_in_step(*threads: str) -> None:
    for thread in threads:
        assert list(list_differences(thread)) == []
    assert_consistent(*threads)


def test_an_offer_waits_for_whoever_is_to_answer_it(thread, buyer, seller, delivered):
    offer = offer_in(thread, seller)
    assert (waits(buyer, thread), waits(seller, thread)) == (["offer"], [])
    assert row_of(seller, row(thread, seller)).waits_for == "them"
    assert delivered.to(buyer, "inbox.changed")[-1]["waiting_for"] == buyer.id
    # Whoever writes meanwhile: it goes on waiting.
    say(buyer, thread, "Let me think.")
    assert waits(buyer, thread) == ["offer"]
    decline_offer(buyer, offer_id=offer.id)
    assert (waits(buyer, thread), waits(seller, thread)) == ([], [])
    assert row_of(buyer, row(thread, buyer)).waits_for == ""
    assert delivered.to(buyer, "inbox.changed")[-1]["waiting_for"] == ""
    assert_in_step(thread)


def test_one_that_is_taken_back_waits_no_longer_and_another_still_does(thread, buyer, seller):
    first, _ = offer_in(thread, seller), offer_in(thread, seller)
    assert waits(buyer, thread) == ["offer", "offer"]
    assert count_rows(buyer)[ACTION_REQUIRED] == 1
    withdraw_offer(seller, offer_id=first.id)
    assert waits(buyer, thread) == ["offer"]
    assert_in_step(thread)


def test_a_contract_waits_for_each_until_they_sign_and_again_when_it_is_superseded(
    thread, buyer, seller
):
    leg = book(thread, buyer, seller)
    assert (waits(buyer, thread), waits(seller, thread)) == (["contract"], ["contract"])
    sign(buyer, leg)
    assert (waits(buyer, thread), waits(seller, thread)) == ([], ["contract"])
    sign(seller, leg)
    assert (waits(buyer, thread), waits(seller, thread)) == ([], [])
    change = offer_in(thread, buyer, terms(price_cents=90_000), changes=leg.id)
    assert (waits(buyer, thread), waits(seller, thread)) == ([], ["offer"])
    accept_offer(seller, offer_id=change.id)
    assert (waits(buyer, thread), waits(seller, thread)) == (["contract"], ["contract"])
    sign(seller, leg, 2)
    assert (waits(buyer, thread), waits(seller, thread)) == (["contract"], [])
    assert_in_step(thread)


def test_a_card_waits_beside_them_and_what_is_called_off_waits_for_nobody(thread, buyer, seller):
    leg = book(thread, buyer, seller)
    propose("sign", leg)
    assert waits(buyer, thread) == ["contract", "sign"]
    sign(buyer, leg)
    assert (waits(buyer, thread), waits(seller, thread)) == ([], ["contract", "sign"])
    off = propose("cancel", leg, buyer)
    assert waits(seller, thread) == ["cancel", "contract", "sign"]
    answer(seller, off, "accept")
    assert "contract" not in waits(seller, thread)
    assert_in_step(thread)


def test_a_card_that_expires_waits_no_longer(thread, buyer, seller):
    from datetime import timedelta

    from django.utils import timezone

    from projects.cards.deadline_worker import process_due_cards

    leg = book(thread, buyer, seller)
    card = propose("reschedule", leg, seller)
    assert waits(buyer, thread) == ["contract", "reschedule"]
    Card.objects.filter(pk=card.pk).update(due_at=timezone.now() - timedelta(minutes=1))
    process_due_cards()
    assert waits(buyer, thread) == ["contract"]
    assert_in_step(thread)


@pytest.mark.parametrize("put_away", [archive_thread, mark_spam])
def test_put_away_it_is_neither_listed_nor_counted(thread, buyer, seller, put_away):
    offer_in(thread, seller)
    put_away(buyer, thread_id=thread)
    assert waits(buyer, thread) == []
    assert_in_step(thread)
    restore_thread(buyer, thread_id=thread)
    assert waits(buyer, thread) == ["offer"]
    assert_in_step(thread)


def test_it_comes_back_with_what_happens_in_an_archived_one(thread, buyer, seller):
    offer = offer_in(thread, seller)
    archive_thread(buyer, thread_id=thread)
    say(seller, thread, "Have you seen it?")
    assert waits(buyer, thread) == ["offer"]
    archive_thread(buyer, thread_id=thread)
    withdraw_offer(seller, offer_id=offer.id)
    assert waits(buyer, thread) == []
    offer_in(thread, seller)
    archive_thread(buyer, thread_id=thread)
    other = start(buyer, seller)
    # Sent together with one of another thread: it goes by itself, the other in the group.
    say(seller, other)
    sent = [OutgoingMessage(seller, each, str(uuid4()), "And this?") for each in (thread, other)]
    send_batch(sent)
    assert [bool(one.batch_entry.appended) for one in sent] == [False, True]
    sent[0].run()
    assert waits(buyer, thread) == ["offer"]
    assert_in_step(thread)
    assert_consistent(other)


def test_in_spam_nothing_new_is_listed_until_it_is_taken_out(thread, buyer, seller):
    mark_spam(buyer, thread_id=thread)
    offer_in(thread, seller)
    assert waits(buyer, thread) == []
    assert row(thread, buyer).folder == "spam"
    restore_thread(buyer, thread_id=thread)
    assert waits(buyer, thread) == ["offer"]
    assert_in_step(thread)


def test_whoever_leaves_is_waited_for_no_longer(thread, buyer, seller):
    offer_in(thread, seller)
    leave_thread(buyer, thread_id=thread)
    assert waits(buyer, thread) == []
    assert thread_item(thread).waits == []
    assert row_of(seller, row(thread, seller)).waits_for == ""
    assert_consistent(thread)


def test_what_the_table_did_not_take_is_carried_later(thread, buyer, seller, monkeypatch):
    """The record is there, the process ends before the table has it."""
    with monkeypatch.context() as crash:
        crash.setattr(bookings, "process_now", lambda entries: None)
        offer = offer_in(thread, seller)
        assert waits(buyer, thread) == []
        decline_offer(buyer, offer_id=offer.id)
        second = offer_in(thread, seller)
    cache.invalidate(thread)
    while process_due():
        assert waits(buyer, thread) == ["offer"]
    assert not OutboxEntry.objects.filter(done_at=None).exists()
    assert [each["what"] for each in thread_item(thread).waits] == [second.id]
    assert_in_step(thread)


def test_a_card_whose_message_its_record_does_not_know_yet_goes_on_waiting(thread, buyer, seller):
    """The process ended between the two; then another line is written."""
    leg = book(thread, buyer, seller)
    sign(buyer, leg)
    sign(seller, leg)
    card = propose("extras", leg)
    message_id = Card.objects.get(pk=card.pk).message_id
    Card.objects.filter(pk=card.pk).update(message_id="")
    offer_in(thread, seller, changes=leg.id)
    assert waits(buyer, thread) == ["extras", "offer"]
    Card.objects.filter(pk=card.pk).update(message_id=message_id)
    assert_in_step(thread)


def test_made_anew_from_the_records_it_is_the_same(thread, buyer, seller):
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
    assert_in_step(thread, quiet)
    # And people go on as if nothing had been.
    say(buyer, thread)
    say(seller, quiet)
    assert (waits(buyer, thread), waits(buyer, quiet)) == (["offer"], ["contract", "extras"])
    assert_in_step(thread, quiet)


def _items(user) -> list[tuple[str, str, str]]:
    found = query(keys.user_pk(user.id), Item.sk.startswith(keys.PENDING_ACTIONS), limit=100)
    return [(each.sk, each.type, each.created_at) for each in found.of(PendingAction)]


def test_threads_from_before_get_theirs_by_the_same_command(thread, buyer, seller):
    """Of which the thread says nothing."""
    offer_in(thread, seller)
    item = thread_item(thread)
    item.waits = None
    item.save()
    for each in query(keys.user_pk(buyer.id), limit=100).of(PendingAction):
        each.delete()
    cache.invalidate(thread)
    call_command("rebuild_snapshots", thread=thread, stdout=StringIO())
    assert waits(buyer, thread) == ["offer"]
    assert_in_step(thread)


def test_so_many_wait_for_one_person_in_one_thread_and_the_next_when_these_are_answered(
    thread, buyer, seller
):
    offers = [offer_in(thread, seller) for _ in range(23)]
    assert waits(buyer, thread) == ["offer"] * 20
    for offer in offers[:5]:
        withdraw_offer(seller, offer_id=offer.id)
    assert waits(buyer, thread) == ["offer"] * 18
    assert_in_step(thread)


def test_a_page_asks_the_records_nothing(thread, buyer, seller, django_assert_num_queries):
    offer_in(thread, seller)
    settle()
    with django_assert_num_queries(0), count_requests() as requests:
        assert ids(list_action_required(buyer)) == [thread]
        assert count_rows(buyer)[ACTION_REQUIRED] == 1
    assert requests == ["Query", "BatchGetItem", "Query", "Query", "Query"]
