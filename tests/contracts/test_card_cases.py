"""Cards that call staff: a case opens, the booking or the conversation waits, and staff decide."""

import pytest
from django.test import Client

from contracts.models import Card, Leg
from contracts.models.cards import ClockStop
from core.refusals import Refusal
from moderation.actions.cases import resolve_case
from moderation.actions.interventions import take_action
from moderation.models import AuditEntry, Case
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import GIVEN, answer, propose
from tests.contracts.conftest import sign
from tests.moderation.conftest import BACKEND, moderator, support, taken  # noqa: F401
from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of, say, thread_item
from threads.dynamodb import keys
from threads.models import CardShadow

pytestmark = pytest.mark.django_db

SAID = "We have looked at it, and it goes on."


def case_of(card: Card) -> Case:
    return Case.objects.get(thread_id=card.thread_id)


def decide(staff, case: Case, card: Card, reason: str = SAID) -> None:
    take_action(staff, case_id=case.id, name="card.decide", target=card.id, reason=reason)
    card.refresh_from_db()


def status(leg: Leg) -> str:
    return Leg.objects.get(pk=leg.pk).status


def code_of(action) -> str:
    with pytest.raises(Refusal) as refused:
        action()
    return refused.value.code


def page(user, address: str) -> str:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get(address).content.decode()


# --- A dispute


@pytest.mark.storage
def test_a_dispute_holds_the_booking_and_opens_a_case_with_what_was_said(leg, buyer, thread):
    for person in (buyer, leg.seller):
        sign(person, leg)
    card = propose("dispute", leg)
    assert (card.state, card.waits_for) == ("open", [])
    assert status(leg) == "on_hold"
    case = case_of(card)
    assert (case.about, case.person) == ("dispute", leg.seller)
    report = case.reports.get()
    assert (report.reporter, report.message_id) == (buyer, card_message(card))
    assert "Half of it is missing." in report.comment
    assert thread_item(thread).waiting_for == ""
    assert_agrees(thread)


def card_message(card: Card) -> str:
    card.refresh_from_db()
    return card.message_id


def assert_agrees(thread: str) -> None:
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_meanwhile_nothing_of_the_booking_moves_and_both_go_on_talking(leg, buyer, seller, thread):
    extras, moved = propose("extras", leg), propose("reschedule", leg, seller)
    propose("dispute", leg)
    assert code_of(lambda: answer(buyer, extras, "accept")) == "ACTION_INVALID_STATE"
    assert code_of(lambda: answer(buyer, moved, "counter")) == "ACTION_INVALID_STATE"
    assert code_of(lambda: propose("overtime", leg)) == "ACTION_INVALID_STATE"
    assert code_of(lambda: propose("dispute", leg)) == "ACTION_INVALID_STATE"
    moved.refresh_from_db()
    assert moved.stopped_at is not None
    say(seller, thread, "Let us talk about it")
    answer(buyer, extras, "decline")
    assert_agrees(thread)


@pytest.mark.parametrize("before", ["booked", "completed"])
def test_staff_decide_and_the_booking_is_what_it_was(leg, before, thread, moderator, delivered):  # noqa: F811
    Leg.objects.filter(pk=leg.pk).update(status=before)
    card = propose("dispute", leg)
    case = taken(moderator, case_of(card))
    decide(moderator, case, card)
    assert (card.state, card.payload["decision"]) == ("resolved", SAID)
    assert status(leg) == before
    entry = AuditEntry.objects.get(act="card.decide")
    assert (entry.actor, entry.target, entry.reason) == (moderator.id, card.id, SAID)
    assert card.steps.last().by == moderator
    assert SAID in messages_of(thread)[-1].body
    for person in (leg.buyer, leg.seller):
        assert SAID in delivered.to(person, "card.changed")[-1]["html"]
    assert_agrees(thread)


def test_a_completion_that_is_disputed_opens_one(leg, buyer, thread, moderator):  # noqa: F811
    done = propose("complete", leg)
    answer(buyer, done, "dispute", given=GIVEN["dispute"](leg))
    card = Card.objects.get(counters=done)
    assert (card.type, card.proposed_by, status(leg)) == ("dispute", buyer, "on_hold")
    assert "About" in page(buyer, f"/threads/{thread}/")
    decide(moderator, taken(moderator, case_of(card)), card)
    assert status(leg) == "booked"
    propose("complete", leg)
    assert_agrees(thread)


# --- Safety


def test_safety_holds_the_conversation_and_tells_the_other_side_nothing(leg, buyer, seller, thread):
    said = GIVEN["safety"](leg) | {"matter": "sexual", "notes": "He waits at my door"}
    card = propose("safety", leg, buyer, given=said)
    case = case_of(card)
    assert thread_item(thread).soft_block["case"] == case.id
    assert (case.about, case.person, case.priority) == ("safety", seller, Case.Priority.HIGH)
    assert case.reports.get().comment == "He waits at my door"
    assert code_of(lambda: say(seller, thread, "What?")) == "SAFETY_SOFT_BLOCK"
    shadow = CardShadow.find(keys.thread_pk(thread), keys.card_sk(card_message(card)))
    kept = str([shadow.attribute_values, *(one.attribute_values for one in messages_of(thread))])
    shown = [page(seller, path) for path in (f"/threads/{thread}/", f"/cards/{card.id}/")]
    for told in (kept, *shown):
        assert "at my door" not in told
        assert "sexual" not in told.lower()
    assert all("Our safety team has been asked for help" in each for each in shown)
    assert list(list_differences(thread)) == []


def test_what_is_urgent_comes_first(leg, buyer):
    card = propose("safety", leg, buyer, given=GIVEN["safety"](leg) | {"severity": "urgent"})
    assert case_of(card).priority == Case.Priority.HIGH


def test_the_repeat_of_a_call_finds_it_done(leg, buyer):
    card = propose("safety", leg, buyer, key="once")
    assert propose("safety", leg, buyer, key="once") == card
    assert case_of(card).reports.count() == 1
    assert code_of(lambda: propose("safety", leg, buyer)) == "SAFETY_SOFT_BLOCK"


def test_deciding_lets_the_conversation_go_on(leg, buyer, seller, thread, moderator):  # noqa: F811
    card = propose("safety", leg, seller)
    decide(moderator, taken(moderator, case_of(card)), card)
    assert thread_item(thread).soft_block is None
    assert "You can message each other again" in messages_of(thread)[-1].body
    say(buyer, thread, "Good")
    assert_agrees(thread)


# --- The case


def test_a_case_is_resolved_after_its_cards_and_then_the_clocks_go_on(leg, seller, moderator):  # noqa: F811
    moved = propose("reschedule", leg, seller)
    card = propose("dispute", leg)
    case = taken(moderator, case_of(card))
    with pytest.raises(Refusal, match="needs a decision"):
        resolve_case(moderator, case_id=case.id, reason="Done")
    decide(moderator, case, card)
    assert ClockStop.objects.filter(thread_id=leg.thread_id).exists()
    resolve_case(moderator, case_id=case.id, reason="Done")
    moved.refresh_from_db()
    assert moved.stopped_at is None
    assert_agrees(leg.thread_id)


def test_who_may_not_decide(leg, buyer, seller, moderator, support):  # noqa: F811
    card = propose("dispute", leg)
    case = taken(support, case_of(card))
    assert code_of(lambda: decide(support, case, card)) == "ACTION_FORBIDDEN"
    assert code_of(lambda: decide(moderator, case, card)) == "ACTION_FORBIDDEN"
    case = taken(moderator, case)
    decide(moderator, case, card)
    assert code_of(lambda: decide(moderator, case, card)) == "ACTION_INVALID_STATE"
    assert AuditEntry.objects.filter(act="card.decide.refused").count() == 1


def test_only_cards_of_the_case_s_own_conversation(make_leg, moderator):  # noqa: F811
    one, other = (propose("dispute", make_leg()) for _ in range(2))
    case = taken(moderator, case_of(one))
    assert code_of(lambda: decide(moderator, case, other)) == "THREAD_NOT_FOUND"
    other.refresh_from_db()
    assert other.state == "open"


@pytest.mark.storage
def test_a_second_call_joins_the_case_there_is(leg, seller):
    propose("dispute", leg)
    card = propose("safety", leg, seller)
    assert case_of(card).reports.count() == 2
