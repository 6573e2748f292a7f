"""Generated from the transition tables: every type, state, user and transition.

Allowed transitions succeed; every other one is refused with the right code and changes nothing in
either store.
"""

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
    DECISION,
    decide_as_staff,
    make_card_in_state,
    make_staff,
    make_transition,
    transition_files,
    transition_input,
    users_with_role,
)
from tests.contracts.conftest import book
from tests.contracts.store_snapshots import exact_snapshot
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, make_person, start, thread_item
from threads.dynamodb import keys
from threads.models import CardShadow

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

STATES = [(kind.name, state) for kind in TYPES.values() for state in kind.states]
# Input fields that hold the reason of a transition.
REASON_FIELDS = ("reason", "note", "details")
TRANSITION_NAMES = {transition.name for kind in TYPES.values() for transition in kind.transitions}


def new_leg(*others: User) -> Leg:
    """Makes a booking of two users; other users can be added to its conversation."""
    buyer, seller = make_person("Bea"), make_person("Sam")
    leg = book(start(buyer, seller), buyer, seller)
    for other in others:
        add_friend(buyer, thread_id=leg.thread_id, user=other)
    return leg


def code_of(action: Any, *given: Any, **more: Any) -> str:
    with pytest.raises(Refusal) as refused:
        action(*given, **more)
    return refused.value.code


def attempt(card: Card, transition: Transition, by: User | None, **changes: Any) -> Card:
    fields = {
        "version": card.version,
        "key": "an attempt",
        "given": transition_input(card, transition),
    }
    fields |= changes
    if by is None:
        return transitions.apply_transition(
            None, card_id=card.id, name=transition.name, **fields
        ).card
    if by in users_with_role(transition.by, card):
        fields["file_ids"] = transition_files(card, transition, by)
    return transition_card(by, card_id=card.id, transition=transition.name, **fields)


def expected_code(card: Card, transition: Transition, by: User | None) -> str:
    """Returns the expected refusal code, or "" if the transition is allowed."""
    if by is not None and by.id not in card.parties:
        return "THREAD_NOT_FOUND"
    if by is not None and thread_item(card.thread_id).soft_block:
        return "SAFETY_SOFT_BLOCK"
    if by not in (users_with_role(transition.by, card) if transition.by != DEADLINE else [None]):
        return "ACTION_FORBIDDEN"
    if card.state in transition.sources:
        return ""
    last = TYPES[card.type].find_transition(card.steps.last().move)
    return "CARD_EXPIRED" if last and last.by == DEADLINE else "ACTION_INVALID_STATE"


@pytest.mark.parametrize(("type_name", "state"), STATES)
def test_every_transition_by_every_user(type_name, state):
    kind = TYPES[type_name]
    other, stranger, staff = make_person("Olu"), make_person("Stig"), make_staff()
    leg = new_leg(other)
    card = make_card_in_state(state, leg, type_name)
    assert card is not None, "no transitions lead to this state"
    card.refresh_from_db()
    before = exact_snapshot(leg)
    allowed = [
        (transition, staff)
        for transition in kind.transitions
        if transition == kind.staff_transition(state)
    ]
    for transition in kind.transitions:
        _check_staff_are_refused(card, transition, staff, is_theirs=(transition, staff) in allowed)
        # Staff have no special permission in the action for users.
        for who in (leg.buyer, leg.seller, other, stranger, staff, None):
            code = expected_code(card, transition, who)
            if not code:
                allowed.append((transition, who))
                continue
            found = code_of(attempt, card, transition, who)
            assert (transition.name, who, found) == (transition.name, who, code)
    for transition, who in allowed:
        _check_version_and_input_are_validated(card, transition, who)
    assert exact_snapshot(leg) == before
    for transition, who in allowed:
        _check_transition_succeeds(type_name, state, transition, is_buyer=who == leg.buyer)


def _check_staff_are_refused(
    card: Card, transition: Transition, staff: User, *, is_theirs: bool
) -> None:
    if is_theirs:
        return
    code = code_of(
        transitions.apply_decision,
        staff,
        card_id=card.id,
        name=transition.name,
        key="one",
        given={},
    )
    assert code == ("ACTION_INVALID_STATE" if transition.by == STAFF else "ACTION_FORBIDDEN")


def _check_version_and_input_are_validated(
    card: Card, transition: Transition, who: User | None
) -> None:
    """An allowed user is still refused with another version or without the required input."""
    if transition.by == STAFF:
        code = code_of(
            transitions.apply_decision,
            who,
            card_id=card.id,
            name=transition.name,
            key="one",
            given={},
        )
        assert code == "CARD_INVALID"
        return
    for version in (card.version - 1, card.version + 1):
        assert code_of(attempt, card, transition, who, version=version) == "ACTION_INVALID_STATE"
    if transition.input_model and _is_invalid(transition, {}):
        assert code_of(attempt, card, transition, who, given={}) == "CARD_INVALID"


def _is_invalid(transition: Transition, given: dict[str, Any]) -> bool:
    try:
        transition.input_model.model_validate(given)
    except ValidationError:
        return True
    return False


@pytest.mark.parametrize("type_name", TYPES)
def test_a_transition_that_a_type_does_not_have_is_not_found(type_name):
    leg, kind = new_leg(), TYPES[type_name]
    card = make_card_in_state(kind.first, leg, type_name)
    before = exact_snapshot(leg)
    for name in TRANSITION_NAMES - {transition.name for transition in kind.transitions} | {
        "",
        "propose",
    }:
        for who in (leg.buyer, leg.seller):
            fields = {"name": name, "version": 1, "key": "an attempt"}
            assert (
                code_of(transitions.apply_transition, who, card_id=card.id, **fields)
                == "THREAD_NOT_FOUND"
            )
    assert exact_snapshot(leg) == before


def _check_transition_succeeds(
    type_name: str, state: str, transition: Transition, *, is_buyer: bool
) -> None:
    leg = new_leg()
    card = make_card_in_state(state, leg, type_name)
    assert card is not None
    card.refresh_from_db()
    version, who = card.version, leg.buyer if is_buyer else leg.seller
    if transition.by == DEADLINE:
        make_transition(card, transition)
    elif transition.by == STAFF:
        who = decide_as_staff(card)
    else:
        attempt(card, transition, who)
    card.refresh_from_db()
    assert card.version == version + 1
    assert card.state in (transition.to, *TYPES[type_name].waits)
    _check_recorded(card, transition, state, None if transition.by == DEADLINE else who)
    assert list(list_differences(leg.thread_id)) == []
    assert_consistent(leg.thread_id)
    if transition.by not in (DEADLINE, STAFF):
        _check_idempotent(card, transition, who, version=version)


def _check_recorded(card: Card, transition: Transition, came_from: str, who: User | None) -> None:
    """User, time, states and reason are in the SQL records and in the copy in the table."""
    step = card.steps.last()
    assert (step.by, step.move) == (who, transition.name)
    assert (step.from_state, step.to_state) == (came_from, card.state)
    assert timedelta() <= timezone.now() - step.at < timedelta(minutes=5)
    given = {"reason": DECISION} if transition.by == STAFF else transition_input(card, transition)
    assert step.why == next((given[name] for name in REASON_FIELDS if given.get(name)), "")
    shadow = CardShadow.find(keys.thread_pk(card.thread_id), keys.card_sk(card.message_id))
    stored = {key: shadow.history[-1][key] for key in ("by", "move", "from", "to", "why", "at")}
    states = {"from": came_from, "to": card.state, "why": step.why, "at": keys.iso(step.at)}
    assert stored == {"by": who.id if who else None, "move": transition.name} | states


def _check_idempotent(card: Card, transition: Transition, who: User, *, version: int) -> None:
    """A repeat with the same key gives the same answer, and the key is refused for anything
    else."""
    before = exact_snapshot(card.leg)
    again = attempt(card, transition, who, version=version)
    assert (again.id, again.state, again.version) == (card.id, card.state, card.version)
    for other in TYPES[card.type].transitions:
        if other != transition:
            assert code_of(attempt, card, other, who, version=version) == "CLIENT_ID_REUSED"
    assert exact_snapshot(card.leg) == before


@pytest.mark.parametrize("kind", TYPES.values(), ids=lambda kind: kind.name)
def test_the_transition_tables_are_complete(kind):
    for transition in kind.transitions:
        assert transition.by in ROLES
        assert set(transition.sources) <= set(kind.waits), "a closed card is closed"
        assert transition.label or transition.by in (DEADLINE, STAFF, SYSTEM), (
            "a user has to be able to make it"
        )
    assert len({transition.name for transition in kind.transitions}) == len(kind.transitions)
    assert kind.deadline_transition or not kind.due
    for state, role in kind.waits.items():
        # A booking is not completed while a cancellation is open.
        ends = role == STAFF or kind.system_transition(state) or kind.name == "cancel"
        assert ends, "the card would stay open for ever"
