"""What a proposal and its answer store in both stores."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import User
from contracts.cards.steps import get_step_text
from contracts.models import Amendment, Card, CardStep, Leg
from contracts.queries import get_balance
from core.refusals import Refusal
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import (
    answer,
    later_cards,
    new_time,
    propose,
    some_extras,
)
from tests.contracts.conftest import IN_MAY, book, terms
from tests.threads.checker import assert_consistent
from tests.threads.conftest import messages_of, start, thread_item
from threads import cache
from threads.actions.staff import lock_thread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.models import CardShadow, PendingAction, TabSnapshot

pytestmark = [pytest.mark.storage, pytest.mark.django_db(transaction=True)]


def pending_actions(user):
    """Lists a user's pending actions except the unsigned contract."""
    page = query(keys.user_pk(user.id), Item.sk.startswith(keys.PENDING_ACTIONS), limit=100)
    return [item.thread_id for item in page.of(PendingAction) if item.type != "contract"]


def shadow_of(card):
    card.refresh_from_db()
    return CardShadow.find(keys.thread_pk(card.thread_id), keys.card_sk(card.message_id))


def test_a_proposal_is_a_message_pending_for_the_other_party(leg, buyer, seller, thread):
    card = propose("reschedule", leg, seller)
    message = messages_of(thread)[-1]
    assert (message.type, message.author_id) == ("action", seller.id)
    assert (message.action["state"], message.action["version"]) == ("pending", 1)
    assert message.body.startswith("New time")
    assert shadow_of(card).message_id == message.id
    assert (pending_actions(buyer), pending_actions(seller)) == ([thread], [])
    assert thread_item(thread).waiting_for == buyer.id
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_accepting_a_new_time_reschedules_the_booking(leg, buyer, seller, thread, delivered):
    card = propose("reschedule", leg, seller)
    answer(buyer, card, "accept")
    leg.refresh_from_db()
    assert (leg.starts_at - IN_MAY).days == 1
    assert leg.contract.versions.count() == 2
    assert shadow_of(card).state == "accepted"
    card_message = [one for one in messages_of(thread) if one.type == "action"][-1]
    assert card_message.action["state"] == "accepted"
    assert card_message.rev > 0
    assert pending_actions(buyer) == []
    # Both have to sign the new version.
    assert {each["type"] for each in thread_item(thread).waits} == {"contract"}
    bodies = [one.body for one in messages_of(thread) if one.type == "system"]
    assert any("accepted the new time" in (body or "") for body in bodies)
    event_types = [event["type"] for event in delivered.to(seller)]
    assert {"card.changed", "panel.changed", "inbox.changed"} <= set(event_types)
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_a_card_stays_pending_when_messages_are_sent(leg, buyer, seller, thread):
    from threads.actions.messages import send_message

    propose("reschedule", leg, seller)
    send_message(buyer, thread_id=thread, client_id="0" * 32, body="Let me think.")
    assert thread_item(thread).waiting_for == buyer.id
    assert_consistent(thread)


def test_a_counter_offer_links_to_the_first_card(leg, buyer, seller, thread):
    first = propose("reschedule", leg, seller)
    answer(buyer, first, "counter", given=new_time(leg, days=3))
    second = Card.objects.get(counters=first)
    first.refresh_from_db()
    assert (first.state, second.state, second.proposed_by) == ("countered", "pending", buyer)
    assert pending_actions(seller) == [thread]
    assert pending_actions(buyer) == []
    answer(seller, second, "accept")
    leg.refresh_from_db()
    assert (leg.starts_at - IN_MAY).days == 3
    shown = [one.action for one in messages_of(thread) if one.type == "action"]
    assert shown[-1]["answers"]["id"] == first.id
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_a_time_at_which_the_seller_is_booked_is_a_conflict(leg, buyer, seller, thread):
    other = start(buyer, seller)
    book(
        other,
        buyer,
        seller,
        terms(starts_at=IN_MAY.replace(day=15), ends_at=IN_MAY.replace(day=16)),
    )
    with pytest.raises(Refusal) as refused:
        propose("reschedule", leg, buyer)
    assert refused.value.code == "ACTION_CONFLICT"
    assert not later_cards().exists()


@pytest.mark.parametrize(
    ("status", "hours", "is_free"),
    [
        ("booked", 0, False),
        ("on_hold", 0, False),
        ("cancelled", 0, True),
        ("completed", 0, True),
        # One booking ends when the other begins.
        ("booked", 6, True),
        ("booked", 5, False),
    ],
)
def test_which_bookings_occupy_the_sellers_time(leg, buyer, seller, status, hours, is_free):
    start_ = IN_MAY + timedelta(days=1, hours=hours)
    busy = terms(starts_at=start_, ends_at=start_ + timedelta(hours=6))
    other = book(start(buyer, seller), buyer, seller, busy)
    Leg.objects.filter(pk=other.pk).update(status=status)
    if is_free:
        answer(buyer, propose("reschedule", leg, seller), "accept")
        leg.refresh_from_db()
        assert (leg.starts_at - IN_MAY).days == 1
        return
    with pytest.raises(Refusal) as refused:
        propose("reschedule", leg, seller)
    assert refused.value.code == "ACTION_CONFLICT"


def test_a_counter_offer_at_an_occupied_time_is_a_conflict(leg, buyer, seller, thread):
    card = propose("reschedule", leg, seller)
    busy = terms(starts_at=IN_MAY + timedelta(days=3), ends_at=IN_MAY + timedelta(days=4))
    book(start(buyer, seller), buyer, seller, busy)
    with pytest.raises(Refusal) as refused:
        answer(buyer, card, "counter", given=new_time(leg, days=3))
    assert refused.value.code == "ACTION_CONFLICT"
    card.refresh_from_db()
    assert (card.state, card.version) == ("pending", 1)
    assert later_cards().count() == 1


@pytest.mark.parametrize("year", ["0001", "9999"])
def test_a_time_outside_the_calendar_is_refused(leg, seller, year):
    given = {"starts_at": f"{year}-12-31T09:00", "ends_at": f"{year}-12-31T23:59"}
    with pytest.raises(Refusal) as refused:
        propose("reschedule", leg, seller, given=given)
    assert refused.value.code == "CARD_INVALID"


def test_conflicts_are_checked_again_on_acceptance(leg, buyer, seller, thread):
    card = propose("reschedule", leg, seller)
    other = start(buyer, seller)
    book(
        other,
        buyer,
        seller,
        terms(starts_at=IN_MAY.replace(day=15), ends_at=IN_MAY.replace(day=16)),
    )
    with pytest.raises(Refusal) as refused:
        answer(buyer, card, "accept")
    assert refused.value.code == "ACTION_CONFLICT"
    card.refresh_from_db()
    assert (card.state, card.version, card.steps.count()) == ("pending", 1, 1)
    assert Leg.objects.get(pk=leg.pk).starts_at == IN_MAY


def test_extras_become_an_amendment_with_the_total_computed_by_the_server(
    leg, buyer, seller, thread
):
    card = propose("extras", leg)
    assert card.payload["cents"] == 3 * 2550 + 4000
    answer(buyer, card, "accept")
    amendment = Amendment.objects.get(card_id=card.id)
    assert (amendment.kind, amendment.amount_cents) == ("extras", 11_650)
    assert get_balance(leg).total_cents == leg.price_cents + 11_650
    assert list(list_differences(thread)) == []


def test_a_repeated_proposal_or_answer_is_applied_once(leg, buyer, seller, thread):
    card = propose("extras", leg, key="once")
    assert propose("extras", leg, key="once") == card
    answer(buyer, card, "accept")
    answer(buyer, card, "accept")
    assert Amendment.objects.filter(card_id=card.id).count() == 1
    assert CardStep.objects.filter(card=card).count() == 2
    given = some_extras(leg) | {"note": "Another one."}
    with pytest.raises(Refusal) as refused:
        propose("extras", leg, key="once", given=given)
    assert refused.value.code == "CLIENT_ID_REUSED"


def test_a_repeat_succeeds_in_a_thread_that_no_longer_accepts_messages(leg, buyer, thread):
    card = propose("extras", leg, key="once")
    answer(buyer, card, "accept")
    lock_thread(thread_id=thread, reason="Look")
    assert propose("extras", leg, key="once") == card
    assert answer(buyer, card, "accept").state == "accepted"
    with pytest.raises(Refusal) as refused:
        answer(buyer, card, "accept", key="another")
    assert refused.value.code == "THREAD_LOCKED"


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"items": []}, "items"),
        ({"items": [{"title": "", "quantity": 1, "unit": "1"}]}, "items.0.title"),
        ({"items": [{"title": "A", "quantity": 0, "unit": "1"}]}, "items.0.quantity"),
        ({"items": [{"title": "A", "quantity": 1, "unit": "-1"}]}, "items.0.unit"),
        ({"items": [{"title": "A", "quantity": 1, "unit": "1.005"}]}, "items.0.unit"),
        ({"items": [{"title": "A", "quantity": 1, "unit": "NaN"}]}, "items.0.unit"),
        ({"items": [{"title": "A", "quantity": 1, "unit": "1e99"}]}, "items.0.unit"),
    ],
)
def test_errors_in_a_payload_are_reported_by_field(leg, thread, given, part):
    with pytest.raises(Refusal) as refused:
        propose("extras", leg, given=given)
    assert refused.value.code == "CARD_INVALID"
    assert part in refused.value.details["errors"]
    assert not later_cards().exists()


def test_the_second_answer_is_refused_with_what_happened(leg, buyer, seller, thread):
    card = propose("extras", leg)
    answer(buyer, card, "accept")
    with pytest.raises(Refusal) as refused:
        answer(seller, card, "withdraw")
    assert refused.value.code == "ACTION_INVALID_STATE"
    assert "accepted the extras" in refused.value.message


def test_a_step_stored_by_an_earlier_release_does_not_name_a_deleted_account(leg):
    card = propose("extras", leg)
    deleted = User(display_name="Deleted account", deleted_at=timezone.now())
    step = CardStep(card=card, by=deleted, move="withdraw", says="Sol took the extras back.")
    assert get_step_text(step) == "Deleted account took the extras back."


def test_a_tab_with_the_wording_of_an_earlier_release_is_no_difference(leg):
    card = propose("cancel", leg)
    tab = TabSnapshot.find(keys.thread_pk(card.thread_id), keys.tab_sk("actions"))
    for listed in tab.snapshot["cards"]:
        listed["what"] = listed["what"].replace("still due", "stays due")
    tab.save()
    cache.invalidate(card.thread_id)
    assert list(list_differences(card.thread_id)) == []
