"""Decisions by staff reach the participants in every state of the conversation."""

import pytest

from contracts.cards import proposals
from contracts.models import Card, Leg
from core.outbox.processing import process_due, process_now
from moderation.actions.interventions import take_action
from moderation.models import Case
from tests.contracts.card_helpers import GIVEN, propose
from tests.contracts.conftest import *  # noqa: F403
from tests.moderation.conftest import moderator, report, taken  # noqa: F401
from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of, say, thread_item
from threads.actions import staff as in_thread
from threads.dynamodb import keys
from threads.models import Message

pytestmark = [pytest.mark.storage, pytest.mark.django_db]

DECISION = "Half of the fee is returned."


def decide(staff, card: Card) -> None:
    case = Case.objects.exclude(status="resolved").get(thread_id=card.thread_id)
    if case.assignee_id != staff.id:
        case = taken(staff, case)
    take_action(staff, case_id=case.id, name="card.decide", target=card.id, reason=DECISION)


def lock(thread: str) -> None:
    in_thread.lock_thread(thread_id=thread, reason="Threats.")


def hold(thread: str) -> None:
    in_thread.soft_block_thread(thread_id=thread, reason="Review", case_id="case_x")


@pytest.mark.parametrize("stop", [lock, hold])
def test_a_decision_is_stored_and_published_in_a_stopped_conversation(
    stop,
    leg,
    thread,
    moderator,  # noqa: F811
    delivered,
):
    card = propose("dispute", leg)
    stop(thread)
    before = thread_item(thread)
    decide(moderator, card)
    assert DECISION in messages_of(thread)[-1].body
    for person in (leg.buyer, leg.seller):
        assert DECISION in delivered.to(person, "message.sent")[-1]["body"]
        assert DECISION in delivered.to(person, "card.changed")[-1]["html"]
    after = thread_item(thread)
    assert (after.status, after.soft_block) == (before.status, before.soft_block)
    assert Leg.objects.get(pk=leg.pk).status == "booked"
    assert_consistent(thread)


def test_a_decision_also_updates_a_card_delayed_by_the_lock(leg, buyer, thread, moderator):  # noqa: F811
    lock(thread)
    done = proposals.propose(
        buyer,
        type_name="dispute",
        thread_id=thread,
        leg_id=leg.id,
        key="late",
        given=GIVEN["dispute"](leg),
    )
    process_now(done.entries)
    assert not Card.objects.get(pk=done.card.pk).message_id
    decide(moderator, done.card)
    card = Card.objects.get(pk=done.card.pk)
    message = Message.find(keys.thread_pk(thread), keys.message_sk(card.message_id))
    assert message.action["state"] == "resolved"
    assert DECISION in messages_of(thread)[-1].body
    process_due()
    assert_consistent(thread)


def test_a_decision_does_not_unlock_a_conversation_locked_concurrently(
    leg,
    thread,
    moderator,  # noqa: F811
    monkeypatch,
):
    """The decision is prepared with the state of the conversation before the lock."""
    card = propose("dispute", leg)
    from projects.cards import outbox

    original = outbox.list_pending_actions
    locked = []

    def lock_then_list(cached, **given):
        if not locked:
            locked.append(True)
            # Another process locks the thread, so the cache of this process is stale.
            thread_item(thread).update(
                actions=[
                    in_thread.Thread.status.set("locked"),
                    in_thread.Thread.rev.set(cached.thread.rev + 1),
                ]
            )
        return original(cached, **given)

    monkeypatch.setattr(outbox, "list_pending_actions", lock_then_list)
    decide(moderator, card)
    assert locked
    assert thread_item(thread).status == "locked"
    assert DECISION in messages_of(thread)[-1].body


def test_locking_unlocking_and_lifting_a_hold_post_system_messages(
    thread,
    buyer,
    seller,
    moderator,  # noqa: F811
    delivered,
):
    say(seller, thread, "You fool")
    case = taken(moderator, report(buyer, thread))

    def intervene(name: str) -> str:
        for _ in range(2):
            take_action(moderator, case_id=case.id, name=name, reason="Please keep calm.")
        for person in (buyer, seller):
            assert delivered.to(person, "message.sent")[-1]["body"] == messages_of(thread)[-1].body
        return messages_of(thread)[-1].body

    assert intervene("thread.lock") == "Our safety team locked this conversation. Please keep calm."
    assert intervene("thread.unlock") == "Our safety team unlocked this conversation."
    take_action(moderator, case_id=case.id, name="thread.hold", reason="Let us see")
    assert intervene("thread.lift_hold") == "Our safety team lifted the hold on this conversation."
    assert [one.type for one in messages_of(thread)[2:]] == ["system"] * 3
    assert thread_item(thread).lock_reason is None
