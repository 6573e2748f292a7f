"""Generated from the status table: every action in every booking status.

Allowed actions succeed; every other action is refused and changes nothing. Only the relational
store takes part, since `contracts` uses a thread only by its id.
"""

import inspect
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from contracts import status
from contracts.actions import documents, groups, manifests, offers, payments, revisions
from contracts.cards import proposals, transitions
from contracts.cards.card_type import DEADLINE, STAFF, SYSTEM, Transition
from contracts.cards.types import TYPES
from contracts.models import Card, Leg
from contracts.models.bookings import BOOKED, LEG_STATES, ON_HOLD
from contracts.queries import get_balance
from contracts.status import ALLOWED, REASONS
from core.ids import new_id
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from projects.cards.rendering import make_card_action
from projects.panel.rebuild import list_differences
from projects.panel.rendering import render_tab
from tests.contracts.card_helpers import (
    GIVEN,
    make_staff,
    propose,
    proposer_of,
    transition_input,
    users_with_role,
)
from tests.contracts.card_helpers import answer as answer_card
from tests.contracts.conftest import terms
from tests.threads.conftest import make_person, messages_of
from threads.cache import reload
from threads.rendering.messages import render_message

pytestmark = pytest.mark.django_db

LISTING = f"{'a' * 64} 12 https://files.example/a.jpg a.jpg"
Run = Callable[[], object]


def new_leg(buyer: User | None = None) -> Leg:
    buyer, seller = buyer or make_person("Bea"), make_person("Sam")
    card = proposals.propose_offer(
        seller,
        thread_id=new_id("thrd"),
        buyer=buyer,
        seller=seller,
        key=str(uuid4()),
        given={"title": "Portraits", "currency": "EUR", "terms": [terms().to_json()]},
    ).card
    transitions.apply_transition(buyer, card_id=card.id, name="accept", version=1, key="k")
    return Leg.objects.select_related("buyer", "seller").get(offer=card.offer)


def sign_by(user: User, leg: Leg) -> Run:
    return lambda: documents.sign_version(
        user,
        document_id=leg.contract.id,
        number=1,
        legal_name="A Legal Name",
        has_read=True,
        address=None,
        user_agent="",
    )


def pay(leg: Leg, kind: str, cents: int) -> Run:
    return lambda: payments.record_payment(
        leg.seller,
        leg_id=leg.id,
        key=str(uuid4()),
        kind=kind,
        cents=cents,
        paid_on=timezone.now().date() - timedelta(days=1),
        method="cash",
        outstanding=get_balance(leg).open_cents,
    )


# --- Actions without a card. Each is prepared in a booked leg and then tried in every status.


def repayment(leg: Leg) -> Run:
    pay(leg, "payment", leg.price_cents)()
    payments.add_amendment(leg.seller, leg=leg, kind="refund", items=[], cents=5_000)
    return pay(leg, "repayment", 5_000)


def reversal(leg: Leg) -> Run:
    receipt, _ = pay(leg, "payment", 100)()  # type: ignore[misc]
    return lambda: payments.reverse_payment(leg.seller, receipt_id=receipt.id, key="r")


def change(leg: Leg) -> Run:
    return lambda: offers.change_leg(leg, terms(place="Porto"), by=leg.seller)


def link(leg: Leg) -> Run:
    legs = [leg.id, new_leg(leg.buyer).id]
    return lambda: groups.link_legs(leg.buyer, title="A day", leg_ids=legs)


def delivery(leg: Leg) -> Run:
    return lambda: manifests.add_manifest(
        leg.seller, leg_id=leg.id, key="1", title="Finals", listing=LISTING
    )


RECORDS: dict[str, Callable[[Leg], Run]] = {
    status.SIGN: lambda leg: sign_by(leg.buyer, leg),
    status.RECORD_PAYMENT: lambda leg: pay(leg, "payment", 100),
    status.RECORD_REPAYMENT: repayment,
    status.REVERSE_PAYMENT: reversal,
    status.DELIVER: delivery,
    status.SHOW_PROOFS: lambda leg: (
        lambda: manifests.check_can_show_proofs(leg.seller, leg.thread_id)
    ),
    status.CHANGE: change,
    status.LINK: link,
}
# Functions that open their own transaction, with the actions they implement.
FUNCTIONS = {
    documents.sign_version: {status.SIGN},
    payments.record_payment: {status.RECORD_PAYMENT, status.RECORD_REPAYMENT},
    payments.reverse_payment: {status.REVERSE_PAYMENT},
    manifests.add_manifest: {status.DELIVER},
    offers.change_leg: {status.CHANGE},
    groups.link_legs: {status.LINK},
}


# --- Cards


def card_actions() -> Iterator[tuple[str, str, Transition | None]]:
    for kind in TYPES.values():
        yield status.proposal_action(kind.name), kind.name, None
        for transition in kind.transitions:
            # Transitions caused by the end of a booking are not actions of a user.
            if transition.by != SYSTEM:
                yield status.transition_action(kind.name, transition.name), kind.name, transition


CARDS = {action: (type_name, transition) for action, type_name, transition in card_actions()}


def propose_record(type_name: str, leg: Leg) -> Card:
    kind = TYPES[type_name]
    files = [{"id": f"file_{n}", "kind": "image"} for n in range(kind.files[0])]
    return proposals.propose(
        proposer_of(type_name, leg),
        type_name=type_name,
        thread_id=leg.thread_id,
        leg_id=leg.id,
        key=str(uuid4()),
        given=GIVEN[type_name](leg),
        files=files,
    ).card


def make_ready(type_name: str, leg: Leg) -> None:
    """Prepares a completion: the contract is in force and the time is over."""
    if type_name == "complete":
        for user in (leg.buyer, leg.seller):
            sign_by(user, leg)()
        past = timezone.now() - timedelta(days=9)
        Leg.objects.filter(pk=leg.pk).update(starts_at=past, ends_at=past + timedelta(hours=1))
        leg.refresh_from_db()


def transition_record(card: Card, transition: Transition, by: User | None) -> Card:
    given = transition_input(card, transition)
    if transition.by == STAFF:
        assert by is not None
        given_decision = {"reason": "Decided."}
        return transitions.apply_decision(
            by, card_id=card.id, name=transition.name, key="k", given=given_decision
        ).card
    files = [{"id": "file_9", "kind": "image"}] if transition.next_type == "proofs" else []
    return transitions.apply_transition(
        by,
        card_id=card.id,
        name=transition.name,
        version=card.version,
        key=f"{transition.name} {card.version}",
        given=given,
        files=files,
    ).card


def prepare_card(type_name: str, transition: Transition | None, leg: Leg) -> Run:
    make_ready(type_name, leg)
    if transition is None:
        return lambda: propose_record(type_name, leg)
    card, kind = propose_record(type_name, leg), TYPES[type_name]
    while card.state not in transition.sources:
        step = next(
            m for m in kind.transitions if card.state in m.sources and m.to in transition.sources
        )
        card = transition_record(card, step, users_with_role(step.by, card)[0])
    by = make_staff() if transition.by == STAFF else None
    if transition.by not in (STAFF, DEADLINE):
        by = users_with_role(transition.by, card)[0]
    return lambda: transition_record(card, transition, by)


def prepare(action: str, leg: Leg) -> Run:
    if action in RECORDS:
        return RECORDS[action](leg)
    return prepare_card(*CARDS[action], leg)


# --- The tests


def rows() -> dict[str, list[Any]]:
    models = [*apps.get_app_config("contracts").get_models(), OutboxEntry]
    return {model.__name__: list(model.objects.order_by("pk").values()) for model in models}


class _Undo(Exception):
    pass


@pytest.mark.storage
@pytest.mark.parametrize("action", ALLOWED)
def test_every_action_in_every_status(action):
    """Tries one action in every status, compares the result with the table, and rolls back."""
    leg = new_leg()
    run = prepare(action, leg)
    for leg_status in LEG_STATES:
        try:
            with transaction.atomic():
                Leg.objects.filter(pk=leg.pk).update(status=leg_status)
                _try(action, leg_status, run)
                raise _Undo
        except _Undo:
            pass


def _try(action: str, leg_status: str, run: Run) -> None:
    before = rows()
    if leg_status in ALLOWED[action]:
        run()
        assert action == status.SHOW_PROOFS or rows() != before, (action, leg_status)
        return
    with pytest.raises(Refusal) as refused:
        run()
    found = (refused.value.code, refused.value.message)
    assert found == ("ACTION_INVALID_STATE", REASONS[leg_status]), (action, leg_status)
    assert rows() == before


def test_every_action_has_a_row_and_every_row_is_tested():
    assert set(RECORDS) | set(CARDS) == set(ALLOWED)
    assert set(REASONS) == set(LEG_STATES)


def test_every_function_that_changes_records_is_in_the_table():
    """A new action on the records has to be added to FUNCTIONS and to the status table."""
    found = {
        function
        for module in (documents, revisions, groups, manifests, offers, payments)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__
        and not name.startswith("_")
        and _is_atomic(function)
    }
    assert found == set(FUNCTIONS)
    assert set().union(*FUNCTIONS.values()) == set(RECORDS) - {status.SHOW_PROOFS}


def _is_atomic(function: Any) -> bool:
    """Whether the function is decorated with `transaction.atomic`."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return any(isinstance(each, transaction.Atomic) for each in cells)


@pytest.mark.parametrize("type_name", TYPES)
def test_on_hold_no_card_offers_a_binding_transition(type_name):
    leg = new_leg()
    make_ready(type_name, leg)
    card = propose_record(type_name, leg)
    assert card.leg is not None
    card.leg.status = ON_HOLD
    assert set(make_card_action(card)["moves"]) <= {"decline", "withdraw"}


def test_a_dispute_removes_buttons_and_its_decision_restores_them(leg, thread, buyer):
    """Checks the cards in the conversation, the panel and the pending actions."""
    extras, overtime = propose("extras", leg), propose("overtime", leg)
    dispute = propose("dispute", leg)
    assert not list(list_differences(thread))
    for card in (extras, overtime):
        assert set(_shown(card)["moves"]) == {"decline", "withdraw"}
        assert ">Accept<" not in _html(card)
        assert "booking on hold" in _html(card)
    assert "Sign: " not in render_tab(reload(thread), "actions")
    assert "Record a payment" not in render_tab(reload(thread), "expenses")
    docs = render_tab(reload(thread), "docs")
    assert "and sign" not in docs
    assert "Suggest a change" not in docs
    staff = make_staff()
    _decide(staff, dispute)
    assert not list(list_differences(thread))
    for card in (extras, overtime):
        assert "accept" in _shown(card)["moves"]
        assert ">Accept<" in _html(card)
    assert "Sign: " in render_tab(reload(thread), "actions")
    assert "Record a payment" in render_tab(reload(thread), "expenses")
    answer_card(buyer, extras, "accept")


def _decide(staff: User, dispute: Card) -> None:
    from projects.actions.cards import decide_card

    decide_card(staff, thread_id=dispute.thread_id, card_id=dispute.id, reason="It goes on.")


def _message(card: Card) -> Any:
    card.refresh_from_db()
    return next(one for one in messages_of(card.thread_id) if one.id == card.message_id)


def _shown(card: Card) -> dict[str, Any]:
    return _message(card).action


def _html(card: Card) -> str:
    return render_message(_message(card), reload(card.thread_id))


@pytest.mark.storage
def test_the_contract_of_a_cancelled_booking_cannot_come_into_force(leg, buyer, seller):
    from tests.contracts.conftest import sign

    sign(buyer, leg)
    answer_card(buyer, propose("cancel", leg), "accept")
    with pytest.raises(Refusal, match="cancelled"):
        sign(seller, leg)
    assert leg.contract.versions.get().status == "issued"
    assert leg.contract.versions.get().signatures.count() == 1
    assert BOOKED not in (Leg.objects.get(pk=leg.pk).status,)
