"""Deadlines are applied without any user online; a hold, a lock or a case pauses them."""

from datetime import timedelta

import pytest
import time_machine
from django.conf import settings

from contracts.cards import deadlines
from contracts.cards.card_type import DEADLINE
from contracts.cards.types import TYPES
from contracts.models import Card, Leg
from contracts.queries import get_balance
from core.outbox.processing import process_due
from core.refusals import Refusal
from moderation.actions.reports import report_thread
from moderation.models import Case
from projects.cards import deadline_worker
from projects.cards.deadline_worker import process_due_cards, resume_stale_pauses
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import make_transition, propose
from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of
from threads.actions.staff import lift_soft_block, lock_thread, soft_block_thread, unlock_thread
from threads.models.thread import Thread

pytestmark = pytest.mark.django_db


# The deadline transition of each card type that has a deadline.
DEADLINE_TRANSITIONS = {kind.name: kind.deadline_transition for kind in TYPES.values() if kind.due}


@pytest.fixture
def card(leg, seller) -> Card:
    return propose("reschedule", leg, seller)


@pytest.fixture(params=DEADLINE_TRANSITIONS)
def timed_card(request: pytest.FixtureRequest, leg: Leg) -> Card:
    """A card of each type that has a deadline."""
    return propose(request.param, leg)


def travel_to_deadline(card: Card, **more):
    return time_machine.travel(card.due_at + timedelta(**more), tick=False)


def stored_action(card):
    card.refresh_from_db()
    (message,) = (one for one in messages_of(card.thread_id) if one.id == card.message_id)
    return message.action


def test_no_deadline_is_applied_a_second_early(timed_card):
    assert (timed_card.due_at.second, timed_card.due_at.microsecond) == (0, 0)
    with travel_to_deadline(timed_card, seconds=-1):
        assert process_due_cards() == 0


@pytest.mark.storage
def test_a_deadline_is_applied_once_with_the_time_it_was_due(timed_card, thread):
    transition, due = DEADLINE_TRANSITIONS[timed_card.type], timed_card.due_at
    with travel_to_deadline(timed_card):
        assert process_due_cards() == 1
        assert process_due_cards() == 0
    assert stored_action(timed_card)["state"] == timed_card.state == transition.to
    assert (timed_card.due_at, timed_card.waits_for, timed_card.is_open) == (None, [], False)
    step = timed_card.steps.last()
    assert (step.by, step.move, step.at) == (None, transition.name, due)
    assert sum(step.says in (one.body or "") for one in messages_of(thread)) == 1
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


@pytest.mark.storage
def test_a_deadline_is_applied_after_an_outage_of_any_length(timed_card, thread):
    """The outage is longer than any time window of the worker."""
    with travel_to_deadline(timed_card, days=4000):
        assert process_due_cards() == 1
    assert stored_action(timed_card)["state"] == DEADLINE_TRANSITIONS[timed_card.type].to
    assert list(list_differences(thread)) == []


def test_work_accepted_by_deadline_is_completed_and_due_but_not_paid(leg, thread):
    card = propose("complete", leg)
    assert card.due_at - card.created_at >= timedelta(days=settings.REVIEW_DAYS)
    with travel_to_deadline(card):
        assert process_due_cards() == 1
        leg.refresh_from_db()
        balance = get_balance(leg)
    assert leg.status == "completed"
    assert not leg.ledger.exists()
    assert not leg.receipts.exists()
    assert (balance.paid_cents, balance.due_cents) == (0, leg.price_cents)
    assert messages_of(thread)[-1].body.endswith("EUR 1,200.00 is now due.")


@pytest.mark.storage
def test_a_card_that_fails_does_not_delay_other_cards(leg, make_leg, monkeypatch):
    broken, other = propose("reschedule", leg), propose("reschedule", make_leg())
    Card.objects.filter(pk=broken.pk).update(due_at=other.due_at - timedelta(days=1))
    original = deadline_worker.apply_due_transition

    def fail_for_broken(card_id):
        assert card_id != broken.id
        return original(card_id)

    monkeypatch.setattr(deadline_worker, "apply_due_transition", fail_for_broken)
    with travel_to_deadline(other):
        assert process_due_cards() == 1


def test_a_late_answer_is_refused_even_before_the_worker_ran(timed_card, leg):
    transition = next(
        transition for transition in TYPES[timed_card.type].transitions if transition.by != DEADLINE
    )
    with travel_to_deadline(timed_card), pytest.raises(Refusal) as refused:
        make_transition(timed_card, transition)
    assert refused.value.code == "CARD_EXPIRED"
    timed_card.refresh_from_db()
    assert timed_card.state == DEADLINE_TRANSITIONS[timed_card.type].to
    assert timed_card.steps.last().says in refused.value.message
    starts_at = leg.starts_at
    leg.refresh_from_db()
    assert leg.starts_at == starts_at


def test_an_answer_a_second_before_the_deadline_is_accepted(timed_card):
    transition = next(
        transition for transition in TYPES[timed_card.type].transitions if transition.by != DEADLINE
    )
    with travel_to_deadline(timed_card, seconds=-1):
        make_transition(timed_card, transition)
    assert timed_card.state == transition.to


@pytest.mark.parametrize(
    ("stop", "go"),
    [
        (
            lambda thread: soft_block_thread(thread_id=thread, reason="Look", case_id="case_1"),
            lambda thread: lift_soft_block(thread_id=thread),
        ),
        (
            lambda thread: lock_thread(thread_id=thread, reason="Look"),
            lambda thread: unlock_thread(thread_id=thread),
        ),
    ],
    ids=["hold", "lock"],
)
def test_a_hold_pauses_the_deadline_and_extends_it_by_its_duration(timed_card, thread, stop, go):
    card = timed_card
    due = card.due_at
    with time_machine.travel(due - timedelta(hours=1), tick=False):
        stop(thread)
    assert stored_action(card)["isStopped"]
    with time_machine.travel(due + timedelta(days=9), tick=False):
        assert process_due_cards() == 0
        go(thread)
        assert process_due_cards() == 0
    card.refresh_from_db()
    assert card.stopped_at is None
    assert card.due_at == due + timedelta(days=9, hours=1)
    assert not stored_action(card)["isStopped"]
    with travel_to_deadline(card):
        assert process_due_cards() == 1
    assert list(list_differences(thread)) == []


def test_an_open_case_pauses_the_deadline_until_it_is_resolved(timed_card, buyer, thread):
    due = timed_card.due_at
    with travel_to_deadline(timed_card, hours=-2):
        case = report_thread(buyer, thread_id=thread, reason="other", comment="Look at this.")
        process_due()
    with travel_to_deadline(timed_card, days=30):
        assert process_due_cards() == 0
        Case.objects.filter(pk=case.pk).update(status=Case.Status.RESOLVED)
        deadlines.resume_deadlines(thread, deadlines.CASE)
        process_due()
        assert process_due_cards() == 0
    timed_card.refresh_from_db()
    assert (timed_card.stopped_at, timed_card.due_at) == (None, due + timedelta(days=30, hours=2))
    assert list(list_differences(thread)) == []
    with travel_to_deadline(timed_card):
        assert process_due_cards() == 1


def test_overlapping_pauses_are_counted_once(card, thread):
    due = card.due_at
    with travel_to_deadline(card, hours=-3):
        deadlines.pause_deadlines(thread, deadlines.CASE)
    with travel_to_deadline(card, hours=-2):
        soft_block_thread(thread_id=thread, reason="Look", case_id="case_1")
    with travel_to_deadline(card, hours=4):
        lift_soft_block(thread_id=thread)
        card.refresh_from_db()
        assert (card.stopped_at, card.due_at) == (due - timedelta(hours=3), due)
    with time_machine.travel(due + timedelta(hours=5), tick=False):
        deadlines.resume_deadlines(thread, deadlines.CASE)
    card.refresh_from_db()
    assert (card.stopped_at, card.due_at) == (None, due + timedelta(hours=8))


def test_a_hold_without_its_sql_record_still_pauses_the_deadline(card, thread):
    """Simulates a crash between the two stores, when the hold is set and when it is lifted."""
    from threads.dynamodb import keys
    from threads.dynamodb.change import Change
    from threads.dynamodb.transactions import update

    item = Thread.find(keys.thread_pk(thread), keys.THREAD)
    update(item, Change(set={"soft_block": {"reason": "Look", "case": "case_1"}}), None)
    with travel_to_deadline(card):
        assert process_due_cards() == 0
    card.refresh_from_db()
    assert card.stopped_at is not None
    update(item, Change(remove=("soft_block",)), None)
    resume_stale_pauses()
    card.refresh_from_db()
    assert card.stopped_at is None


def test_a_card_proposed_while_a_case_is_open_starts_paused(leg, seller, thread):
    deadlines.pause_deadlines(thread, deadlines.CASE)
    card = propose("reschedule", leg, seller)
    assert card.stopped_at is not None
    with travel_to_deadline(card):
        assert process_due_cards() == 0
