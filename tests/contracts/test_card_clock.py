"""What is due is moved without anybody online; a hold, a lock or a case stops the clock."""

from datetime import timedelta

import pytest
import time_machine
from django.utils import timezone

from accounts.refusals import Refusal
from contracts.cards import clock
from contracts.models import Card
from moderation.cases import report_thread
from moderation.models import Case
from tests.contracts.card_scenes import answer, propose
from tests.threads.conftest import messages_of
from threads.actions.staff import hold_thread, lift_hold, lock_thread, unlock_thread
from threads.cards.clock import move_due_cards, start_stopped_clocks
from threads.models.thread import Thread
from threads.panel.rebuilding import differences
from threads.relay import carry_waiting

pytestmark = [pytest.mark.storage, pytest.mark.django_db]


@pytest.fixture
def card(leg, seller) -> Card:
    return propose("reschedule", leg, seller)


def later(card: Card, **more):
    return time_machine.travel(card.due_at + timedelta(**more), tick=False)


def shown(card):
    card.refresh_from_db()
    (message,) = (one for one in messages_of(card.thread_id) if one.id == card.message_id)
    return message.action


def test_nothing_is_moved_a_second_too_early(card):
    assert card.due_at.second == 0
    with later(card, seconds=-1):
        assert move_due_cards() == 0


def test_what_is_due_expires_by_itself_and_once(card, thread):
    with later(card):
        assert move_due_cards() == 1
        assert move_due_cards() == 0
    card.refresh_from_db()
    assert (card.state, card.due_at, card.waits_for) == ("expired", None, [])
    assert card.steps.last().by is None
    assert "Nobody answered" in messages_of(thread)[-1].body
    assert list(differences(thread)) == []


def test_after_an_outage_of_any_length_it_is_moved(card, thread):
    with later(card, days=400):
        assert move_due_cards() == 1
    assert shown(card)["state"] == "expired"


def test_an_answer_that_comes_too_late_is_refused_before_anybody_swept(card, buyer, leg):
    with later(card), pytest.raises(Refusal) as refused:
        answer(buyer, card, "accept")
    assert refused.value.code == "CARD_EXPIRED"
    card.refresh_from_db()
    leg.refresh_from_db()
    assert card.state == "expired"
    assert leg.starts_at.isoformat() == card.payload["old_start"]


def test_an_answer_a_second_before_counts(card, buyer):
    with later(card, seconds=-1):
        answer(buyer, card, "accept")
    card.refresh_from_db()
    assert card.state == "accepted"


@pytest.mark.parametrize(
    ("stop", "go"),
    [
        (
            lambda thread: hold_thread(thread_id=thread, reason="Look", case_id="case_1"),
            lambda thread: lift_hold(thread_id=thread),
        ),
        (
            lambda thread: lock_thread(thread_id=thread, reason="Look"),
            lambda thread: unlock_thread(thread_id=thread),
        ),
    ],
    ids=["hold", "lock"],
)
def test_a_hold_stops_the_clock_and_gives_the_time_back(card, thread, stop, go):
    due = card.due_at
    with time_machine.travel(due - timedelta(hours=1), tick=False):
        stop(thread)
    assert shown(card)["isStopped"]
    with time_machine.travel(due + timedelta(days=9), tick=False):
        assert move_due_cards() == 0
        go(thread)
        assert move_due_cards() == 0
    card.refresh_from_db()
    assert card.stopped_at is None
    assert card.due_at == due + timedelta(days=9, hours=1)
    assert not shown(card)["isStopped"]
    with later(card):
        assert move_due_cards() == 1
    assert list(differences(thread)) == []


def test_an_open_case_stops_the_clock_until_it_is_resolved(card, buyer, thread):
    case = report_thread(buyer, thread_id=thread, reason="other", comment="Look at this.")
    carry_waiting()
    with later(card, days=1):
        assert move_due_cards() == 0
    Case.objects.filter(pk=case.pk).update(status=Case.Status.RESOLVED)
    clock.start_clock(thread, clock.CASE)
    carry_waiting()
    card.refresh_from_db()
    assert card.stopped_at is None
    assert card.due_at > timezone.now()
    assert list(differences(thread)) == []


def test_two_reasons_do_not_undo_each_other(card, thread):
    clock.stop_clock(thread, clock.CASE)
    hold_thread(thread_id=thread, reason="Look", case_id="case_1")
    lift_hold(thread_id=thread)
    card.refresh_from_db()
    assert card.stopped_at is not None


def test_a_hold_whose_word_was_lost_stops_the_clock_all_the_same(card, thread):
    """As after a crash between the two stores, in either direction."""
    from threads.models import keys
    from threads.models.changes import Change, update

    item = Thread.find(keys.thread_pk(thread), keys.THREAD)
    update(item, Change(set={"soft_block": {"reason": "Look", "case": "case_1"}}), None)
    with later(card):
        assert move_due_cards() == 0
    card.refresh_from_db()
    assert card.stopped_at is not None
    update(item, Change(remove=("soft_block",)), None)
    start_stopped_clocks()
    card.refresh_from_db()
    assert card.stopped_at is None


def test_a_card_that_is_proposed_while_a_case_is_open_waits_as_well(leg, seller, thread):
    clock.stop_clock(thread, clock.CASE)
    card = propose("reschedule", leg, seller)
    assert card.stopped_at is not None
    with later(card):
        assert move_due_cards() == 0
