"""Cards that call staff: a case is opened, the booking or conversation is held, and staff
decide."""

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

DECISION = "We have looked at it, and it goes on."


def case_of(card: Card) -> Case:
    return Case.objects.get(thread_id=card.thread_id)


def decide(staff, case: Case, card: Card, reason: str = DECISION) -> None:
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


# --- Disputes


@pytest.mark.storage
def test_a_dispute_holds_the_booking_and_opens_a_case_with_its_details(leg, buyer, thread):
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
    assert_stores_agree(thread)


def card_message(card: Card) -> str:
    card.refresh_from_db()
    return card.message_id


def assert_stores_agree(thread: str) -> None:
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_a_disputed_booking_refuses_changes_while_both_can_still_message(
    leg, buyer, seller, thread
):
    extras, reschedule = propose("extras", leg), propose("reschedule", leg, seller)
    propose("dispute", leg)
    assert code_of(lambda: answer(buyer, extras, "accept")) == "ACTION_INVALID_STATE"
    assert code_of(lambda: answer(buyer, reschedule, "counter")) == "ACTION_INVALID_STATE"
    assert code_of(lambda: propose("overtime", leg)) == "ACTION_INVALID_STATE"
    assert code_of(lambda: propose("dispute", leg)) == "ACTION_INVALID_STATE"
    reschedule.refresh_from_db()
    assert reschedule.stopped_at is not None
    say(seller, thread, "Let us talk about it")
    answer(buyer, extras, "decline")
    assert_stores_agree(thread)


@pytest.mark.parametrize("before", ["booked", "completed"])
def test_a_decision_by_staff_restores_the_status_of_the_booking(
    leg,
    before,
    thread,
    moderator,  # noqa: F811
    delivered,
):
    Leg.objects.filter(pk=leg.pk).update(status=before)
    card = propose("dispute", leg)
    case = taken(moderator, case_of(card))
    decide(moderator, case, card)
    assert (card.state, card.payload["decision"]) == ("resolved", DECISION)
    assert status(leg) == before
    entry = AuditEntry.objects.get(act="card.decide")
    assert (entry.actor, entry.target, entry.reason) == (moderator.id, card.id, DECISION)
    assert card.steps.last().by == moderator
    assert DECISION in messages_of(thread)[-1].body
    for person in (leg.buyer, leg.seller):
        assert DECISION in delivered.to(person, "card.changed")[-1]["html"]
    assert_stores_agree(thread)


def test_disputing_a_completion_opens_a_dispute(leg, buyer, thread, moderator):  # noqa: F811
    done = propose("complete", leg)
    answer(buyer, done, "dispute", given=GIVEN["dispute"](leg))
    card = Card.objects.get(counters=done)
    assert (card.type, card.proposed_by, status(leg)) == ("dispute", buyer, "on_hold")
    assert "About" in page(buyer, f"/threads/{thread}/")
    decide(moderator, taken(moderator, case_of(card)), card)
    assert status(leg) == "booked"
    propose("complete", leg)
    assert_stores_agree(thread)


# --- Safety


def test_a_safety_card_holds_the_conversation_and_hides_its_details(leg, buyer, seller, thread):
    given = GIVEN["safety"](leg) | {"matter": "sexual", "notes": "He waits at my door"}
    card = propose("safety", leg, buyer, given=given)
    case = case_of(card)
    assert thread_item(thread).soft_block["case"] == case.id
    assert (case.about, case.person, case.priority) == ("safety", seller, Case.Priority.HIGH)
    assert case.reports.get().comment == "He waits at my door"
    assert code_of(lambda: say(seller, thread, "What?")) == "SAFETY_SOFT_BLOCK"
    shadow = CardShadow.find(keys.thread_pk(thread), keys.card_sk(card_message(card)))
    stored = str([shadow.attribute_values, *(one.attribute_values for one in messages_of(thread))])
    shown = [page(seller, path) for path in (f"/threads/{thread}/", f"/cards/{card.id}/")]
    for text in (stored, *shown):
        assert "at my door" not in text
        assert "sexual" not in text.lower()
    assert all("Our safety team has been asked for help" in each for each in shown)
    assert list(list_differences(thread)) == []


def test_an_urgent_safety_card_has_high_priority(leg, buyer):
    card = propose("safety", leg, buyer, given=GIVEN["safety"](leg) | {"severity": "urgent"})
    assert case_of(card).priority == Case.Priority.HIGH


def test_a_repeated_safety_proposal_is_stored_once(leg, buyer):
    card = propose("safety", leg, buyer, key="once")
    assert propose("safety", leg, buyer, key="once") == card
    assert case_of(card).reports.count() == 1
    assert code_of(lambda: propose("safety", leg, buyer)) == "SAFETY_SOFT_BLOCK"


def test_a_decision_lifts_the_hold_on_the_conversation(leg, buyer, seller, thread, moderator):  # noqa: F811
    card = propose("safety", leg, seller)
    decide(moderator, taken(moderator, case_of(card)), card)
    assert thread_item(thread).soft_block is None
    assert "You can message each other again" in messages_of(thread)[-1].body
    say(buyer, thread, "Good")
    assert_stores_agree(thread)


# --- Cases


def test_a_case_is_resolved_after_its_cards_and_then_deadlines_resume(leg, seller, moderator):  # noqa: F811
    reschedule = propose("reschedule", leg, seller)
    card = propose("dispute", leg)
    case = taken(moderator, case_of(card))
    with pytest.raises(Refusal, match="needs a decision"):
        resolve_case(moderator, case_id=case.id, reason="Done")
    decide(moderator, case, card)
    assert ClockStop.objects.filter(thread_id=leg.thread_id).exists()
    resolve_case(moderator, case_id=case.id, reason="Done")
    reschedule.refresh_from_db()
    assert reschedule.stopped_at is None
    assert_stores_agree(leg.thread_id)


def test_only_the_assigned_moderator_decides_a_card(leg, buyer, seller, moderator, support):  # noqa: F811
    card = propose("dispute", leg)
    case = taken(support, case_of(card))
    assert code_of(lambda: decide(support, case, card)) == "ACTION_FORBIDDEN"
    assert code_of(lambda: decide(moderator, case, card)) == "ACTION_FORBIDDEN"
    case = taken(moderator, case)
    decide(moderator, case, card)
    assert code_of(lambda: decide(moderator, case, card)) == "ACTION_INVALID_STATE"
    assert AuditEntry.objects.filter(act="card.decide.refused").count() == 1


def test_a_case_decides_only_cards_of_its_own_conversation(make_leg, moderator):  # noqa: F811
    one, other = (propose("dispute", make_leg()) for _ in range(2))
    case = taken(moderator, case_of(one))
    assert code_of(lambda: decide(moderator, case, other)) == "THREAD_NOT_FOUND"
    other.refresh_from_db()
    assert other.state == "open"


@pytest.mark.storage
def test_a_second_call_for_staff_joins_the_open_case(leg, seller):
    propose("dispute", leg)
    card = propose("safety", leg, seller)
    assert case_of(card).reports.count() == 2
