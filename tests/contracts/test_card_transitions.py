"""Generated from the tables: every type, every state, every person and every move. What is allowed
works; everything else is refused with the right code and changes nothing in either store."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pydantic import ValidationError

from accounts.models import User
from contracts.cards import transitions
from contracts.cards.card_type import DEADLINE, ROLES, STAFF, SYSTEM, Transition
from contracts.cards.types import TYPES
from contracts.models import Card, Leg
from core.refusals import Refusal
from projects.actions.cards import transition_card
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import (
    DECIDED,
    bring_to,
    files_with,
    given_with,
    let_staff_decide,
    make,
    make_staff,
    rightful,
)
from tests.contracts.conftest import book
from tests.contracts.store_snapshots import everything
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, make_person, start, thread_item
from threads.dynamodb import keys
from threads.models import CardShadow

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

STATES = [(kind.name, state) for kind in TYPES.values() for state in kind.states]
# Under what name one says why.
WHY = ("reason", "note", "details")
NAMES = {move.name for kind in TYPES.values() for move in kind.transitions}


def new_leg(*others: User) -> Leg:
    """Of two, in a conversation in which there may be others."""
    buyer, seller = make_person("Bea"), make_person("Sam")
    leg = book(start(buyer, seller), buyer, seller)
    for other in others:
        add_friend(buyer, thread_id=leg.thread_id, user=other)
    return leg


def code_of(act: Any, *given: Any, **more: Any) -> str:
    with pytest.raises(Refusal) as refused:
        act(*given, **more)
    return refused.value.code


def attempt(card: Card, move: Transition, by: User | None, **changes: Any) -> Card:
    fields = {"version": card.version, "key": "an attempt", "given": given_with(card, move)}
    fields |= changes
    if by is None:
        return transitions.apply_transition(None, card_id=card.id, name=move.name, **fields).card
    if by in rightful(move.by, card):
        fields["file_ids"] = files_with(card, move, by)
    return transition_card(by, card_id=card.id, transition=move.name, **fields)


def expected_code(card: Card, move: Transition, by: User | None) -> str:
    """Empty if it is allowed."""
    if by is not None and by.id not in card.parties:
        return "THREAD_NOT_FOUND"
    if by is not None and thread_item(card.thread_id).soft_block:
        return "SAFETY_SOFT_BLOCK"
    if by not in (rightful(move.by, card) if move.by != DEADLINE else [None]):
        return "ACTION_FORBIDDEN"
    if card.state in move.sources:
        return ""
    made = TYPES[card.type].find_transition(card.steps.last().move)
    return "CARD_EXPIRED" if made and made.by == DEADLINE else "ACTION_INVALID_STATE"


@pytest.mark.parametrize(("type_name", "state"), STATES)
def test_every_move_of_everybody(type_name, state):
    kind = TYPES[type_name]
    other, stranger, staff = make_person("Olu"), make_person("Stig"), make_staff()
    leg = new_leg(other)
    card = bring_to(state, leg, type_name)
    assert card is not None, "no moves lead to this state"
    card.refresh_from_db()
    before = everything(leg)
    allowed = [(move, staff) for move in kind.transitions if move == kind.staff_transition(state)]
    for move in kind.transitions:
        _staff_are_refused(card, move, staff, is_theirs=(move, staff) in allowed)
        # By the door of everybody else staff are nobody special.
        for who in (leg.buyer, leg.seller, other, stranger, staff, None):
            code = expected_code(card, move, who)
            if not code:
                allowed.append((move, who))
                continue
            found = code_of(attempt, card, move, who)
            assert (move.name, who, found) == (move.name, who, code)
    for move, who in allowed:
        _only_as_it_should_be(card, move, who)
    assert everything(leg) == before
    for move, who in allowed:
        _works(type_name, state, move, is_buyer=who == leg.buyer)


def _staff_are_refused(card: Card, move: Transition, staff: User, *, is_theirs: bool) -> None:
    if is_theirs:
        return
    code = code_of(
        transitions.apply_decision, staff, card_id=card.id, name=move.name, key="one", given={}
    )
    assert code == ("ACTION_INVALID_STATE" if move.by == STAFF else "ACTION_FORBIDDEN")


def _only_as_it_should_be(card: Card, move: Transition, who: User | None) -> None:
    """By whom it is allowed, and still not at another version, nor without what belongs to it."""
    if move.by == STAFF:
        code = code_of(
            transitions.apply_decision, who, card_id=card.id, name=move.name, key="one", given={}
        )
        assert code == "CARD_INVALID"
        return
    for version in (card.version - 1, card.version + 1):
        assert code_of(attempt, card, move, who, version=version) == "ACTION_INVALID_STATE"
    if move.input_model and _is_wrong(move, {}):
        assert code_of(attempt, card, move, who, given={}) == "CARD_INVALID"


def _is_wrong(move: Transition, given: dict[str, Any]) -> bool:
    try:
        move.input_model.model_validate(given)
    except ValidationError:
        return True
    return False


@pytest.mark.parametrize("type_name", TYPES)
def test_what_is_no_move_of_a_type_is_nothing_at_all(type_name):
    leg, kind = new_leg(), TYPES[type_name]
    card = bring_to(kind.first, leg, type_name)
    before = everything(leg)
    for name in NAMES - {move.name for move in kind.transitions} | {"", "propose"}:
        for who in (leg.buyer, leg.seller):
            fields = {"name": name, "version": 1, "key": "an attempt"}
            assert (
                code_of(transitions.apply_transition, who, card_id=card.id, **fields)
                == "THREAD_NOT_FOUND"
            )
    assert everything(leg) == before


def _works(type_name: str, state: str, move: Transition, *, is_buyer: bool) -> None:
    leg = new_leg()
    card = bring_to(state, leg, type_name)
    assert card is not None
    card.refresh_from_db()
    was, who = card.version, leg.buyer if is_buyer else leg.seller
    if move.by == DEADLINE:
        make(card, move)
    elif move.by == STAFF:
        who = let_staff_decide(card)
    else:
        attempt(card, move, who)
    card.refresh_from_db()
    assert card.version == was + 1
    assert card.state in (move.to, *TYPES[type_name].waits)
    _is_on_record(card, move, state, None if move.by == DEADLINE else who)
    assert list(list_differences(leg.thread_id)) == []
    assert_consistent(leg.thread_id)
    if move.by not in (DEADLINE, STAFF):
        _is_made_once(card, move, who, version=was)


def _is_on_record(card: Card, move: Transition, came_from: str, who: User | None) -> None:
    """Who, when, from where to where, and why; in the records and in the table's copy of them."""
    step = card.steps.last()
    assert (step.by, step.move) == (who, move.name)
    assert (step.from_state, step.to_state) == (came_from, card.state)
    assert timedelta() <= timezone.now() - step.at < timedelta(minutes=5)
    said = {"reason": DECIDED} if move.by == STAFF else given_with(card, move)
    assert step.why == next((said[name] for name in WHY if said.get(name)), "")
    shadow = CardShadow.find(keys.thread_pk(card.thread_id), keys.card_sk(card.message_id))
    kept = {key: shadow.history[-1][key] for key in ("by", "move", "from", "to", "why", "at")}
    states = {"from": came_from, "to": card.state, "why": step.why, "at": keys.iso(step.at)}
    assert kept == {"by": who.id if who else None, "move": move.name} | states


def _is_made_once(card: Card, move: Transition, who: User, *, version: int) -> None:
    """A repeat with the same key has the same answer; with the same key nothing else is done."""
    before = everything(card.leg)
    again = attempt(card, move, who, version=version)
    assert (again.id, again.state, again.version) == (card.id, card.state, card.version)
    for other in TYPES[card.type].transitions:
        if other != move:
            assert code_of(attempt, card, other, who, version=version) == "CLIENT_ID_REUSED"
    assert everything(card.leg) == before


@pytest.mark.parametrize("kind", TYPES.values(), ids=lambda kind: kind.name)
def test_the_tables_are_sound(kind):
    for move in kind.transitions:
        assert move.by in ROLES
        assert set(move.sources) <= set(kind.waits), "a closed card is closed"
        assert move.label or move.by in (DEADLINE, STAFF, SYSTEM), (
            "somebody has to be able to press it"
        )
    assert len({move.name for move in kind.transitions}) == len(kind.transitions)
    assert kind.deadline_transition or not kind.due
    for state, role in kind.waits.items():
        # A booking is not completed while a cancellation is open.
        ends = role == STAFF or kind.system_transition(state) or kind.name == "cancel"
        assert ends, "it would wait for ever"
