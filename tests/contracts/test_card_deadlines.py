"""What is due is moved without anybody online; a hold, a lock or a case stops the clock."""

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
from projects.cards import deadline_worker as sweeping
from projects.cards.deadline_worker import process_due_cards, resume_stale_pauses
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import make, propose
from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of
from threads.actions.staff import lift_soft_block, lock_thread, soft_block_thread, unlock_thread
from threads.models.thread import Thread

pytestmark = pytest.mark.django_db


# What the clock does with each type for which it runs, as the table says.
TICKING = {kind.name: kind.deadline_transition for kind in TYPES.values() if kind.due}


@pytest.fixture
def card(leg, seller) -> Card:
    return propose("reschedule", leg, seller)


@pytest.fixture(params=TICKING)
def ticking(request: pytest.FixtureRequest, leg: Leg) -> Card:
    """A card of each type that has a deadline."""
    return propose(request.param, leg)


def later(card: Card, **more):
    return time_machine.travel(card.due_at + timedelta(**more), tick=False)


def shown(card):
    card.refresh_from_db()
    (message,) = (one for one in messages_of(card.thread_id) if one.id == card.message_id)
    return message.action


def test_nothing_is_moved_a_second_too_early(ticking):
    assert (ticking.due_at.second, ticking.due_at.microsecond) == (0, 0)
    with later(ticking, seconds=-1):
        assert process_due_cards() == 0


@pytest.mark.storage
def test_what_is_due_is_moved_by_itself_at_that_moment_and_once(ticking, thread):
    move, due = TICKING[ticking.type], ticking.due_at
    with later(ticking):
        assert process_due_cards() == 1
        assert process_due_cards() == 0
    assert shown(ticking)["state"] == ticking.state == move.to
    assert (ticking.due_at, ticking.waits_for, ticking.is_open) == (None, [], False)
    step = ticking.steps.last()
    assert (step.by, step.move, step.at) == (None, move.name, due)
    assert sum(step.says in (one.body or "") for one in messages_of(thread)) == 1
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


@pytest.mark.storage
def test_after_an_outage_of_any_length_it_is_moved(ticking, thread):
    """Longer than any window, and with more that waits than is swept in any one go."""
    with later(ticking, days=4000):
        assert process_due_cards() == 1
    assert shown(ticking)["state"] == TICKING[ticking.type].to
    assert list(list_differences(thread)) == []


def test_what_nobody_said_anything_against_is_completed_and_due_and_not_paid(leg, thread):
    card = propose("complete", leg)
    assert card.due_at - card.created_at >= timedelta(days=settings.REVIEW_DAYS)
    with later(card):
        assert process_due_cards() == 1
    leg.refresh_from_db()
    assert leg.status == "completed"
    assert not leg.ledger.exists()
    assert not leg.receipts.exists()
    balance = get_balance(leg)
    assert (balance.paid_cents, balance.due_cents) == (0, leg.price_cents)
    assert messages_of(thread)[-1].body.endswith("EUR 1,200.00 is now due.")


@pytest.mark.storage
def test_one_that_cannot_be_moved_holds_up_no_other(leg, make_leg, monkeypatch):
    broken, other = propose("reschedule", leg), propose("reschedule", make_leg())
    Card.objects.filter(pk=broken.pk).update(due_at=other.due_at - timedelta(days=1))
    real = sweeping.apply_due_transition

    def make(card_id):
        assert card_id != broken.id
        return real(card_id)

    monkeypatch.setattr(sweeping, "apply_due_transition", make)
    with later(other):
        assert process_due_cards() == 1


def test_an_answer_that_comes_too_late_is_refused_before_anybody_swept(ticking, leg):
    move = next(move for move in TYPES[ticking.type].transitions if move.by != DEADLINE)
    with later(ticking), pytest.raises(Refusal) as refused:
        make(ticking, move)
    assert refused.value.code == "CARD_EXPIRED"
    ticking.refresh_from_db()
    assert ticking.state == TICKING[ticking.type].to
    assert ticking.steps.last().says in refused.value.message
    starts_at = leg.starts_at
    leg.refresh_from_db()
    assert leg.starts_at == starts_at


def test_an_answer_a_second_before_counts(ticking):
    move = next(move for move in TYPES[ticking.type].transitions if move.by != DEADLINE)
    with later(ticking, seconds=-1):
        make(ticking, move)
    assert ticking.state == move.to


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
def test_a_hold_stops_the_clock_and_gives_the_time_back(ticking, thread, stop, go):
    card = ticking
    due = card.due_at
    with time_machine.travel(due - timedelta(hours=1), tick=False):
        stop(thread)
    assert shown(card)["isStopped"]
    with time_machine.travel(due + timedelta(days=9), tick=False):
        assert process_due_cards() == 0
        go(thread)
        assert process_due_cards() == 0
    card.refresh_from_db()
    assert card.stopped_at is None
    assert card.due_at == due + timedelta(days=9, hours=1)
    assert not shown(card)["isStopped"]
    with later(card):
        assert process_due_cards() == 1
    assert list(list_differences(thread)) == []


def test_an_open_case_stops_the_clock_until_it_is_resolved(ticking, buyer, thread):
    due = ticking.due_at
    with later(ticking, hours=-2):
        case = report_thread(buyer, thread_id=thread, reason="other", comment="Look at this.")
        process_due()
    with later(ticking, days=30):
        assert process_due_cards() == 0
        Case.objects.filter(pk=case.pk).update(status=Case.Status.RESOLVED)
        deadlines.resume_deadlines(thread, deadlines.CASE)
        process_due()
        assert process_due_cards() == 0
    ticking.refresh_from_db()
    assert (ticking.stopped_at, ticking.due_at) == (None, due + timedelta(days=30, hours=2))
    assert list(list_differences(thread)) == []
    with later(ticking):
        assert process_due_cards() == 1


def test_two_reasons_do_not_undo_each_other_and_count_once(card, thread):
    due = card.due_at
    with later(card, hours=-3):
        deadlines.pause_deadlines(thread, deadlines.CASE)
    with later(card, hours=-2):
        soft_block_thread(thread_id=thread, reason="Look", case_id="case_1")
    with later(card, hours=4):
        lift_soft_block(thread_id=thread)
        card.refresh_from_db()
        assert (card.stopped_at, card.due_at) == (due - timedelta(hours=3), due)
    with time_machine.travel(due + timedelta(hours=5), tick=False):
        deadlines.resume_deadlines(thread, deadlines.CASE)
    card.refresh_from_db()
    assert (card.stopped_at, card.due_at) == (None, due + timedelta(hours=8))


def test_a_hold_whose_word_was_lost_stops_the_clock_all_the_same(card, thread):
    """As after a crash between the two stores, in either direction."""
    from threads.dynamodb import keys
    from threads.dynamodb.change import Change
    from threads.dynamodb.transactions import update

    item = Thread.find(keys.thread_pk(thread), keys.THREAD)
    update(item, Change(set={"soft_block": {"reason": "Look", "case": "case_1"}}), None)
    with later(card):
        assert process_due_cards() == 0
    card.refresh_from_db()
    assert card.stopped_at is not None
    update(item, Change(remove=("soft_block",)), None)
    resume_stale_pauses()
    card.refresh_from_db()
    assert card.stopped_at is None


def test_a_card_that_is_proposed_while_a_case_is_open_waits_as_well(leg, seller, thread):
    deadlines.pause_deadlines(thread, deadlines.CASE)
    card = propose("reschedule", leg, seller)
    assert card.stopped_at is not None
    with later(card):
        assert process_due_cards() == 0
