"""Generated from the tables: every type, every state, every person and every move. What is allowed
works; everything else is refused with the right code and changes nothing in either store."""

from typing import Any

import pytest
from django.forms.models import model_to_dict

from accounts.models import OutboxEntry
from accounts.refusals import Refusal
from contracts.cards import moving
from contracts.cards.table import CLOCK, ROLES, SERVICE, STAFF
from contracts.cards.types import TYPES
from contracts.models import Amendment, Card, CardStep, LedgerEntry, Leg, Receipt
from tests.contracts.card_scenes import (
    bring_to,
    files_with,
    given_with,
    let_staff_decide,
    let_the_clock_move,
    rightful,
)
from tests.contracts.conftest import book
from tests.threads.checker import assert_consistent, read_partition
from tests.threads.conftest import make_person, start, thread_item
from threads.actions.cards import move_card
from threads.panel.rebuilding import differences

pytestmark = [pytest.mark.storage, pytest.mark.django_db]

STATES = [(kind.name, state) for kind in TYPES.values() for state in kind.states]


def new_leg() -> Leg:
    buyer, seller = make_person("Bea"), make_person("Sam")
    return book(start(buyer, seller), buyer, seller)


def everything(leg: Leg) -> dict[str, Any]:
    """All that both stores say of a booking."""
    tables = (Card, CardStep, Amendment, LedgerEntry, Receipt, OutboxEntry)
    rows = {
        model.__name__: [
            {f.attname: getattr(row, f.attname) for f in model._meta.concrete_fields}
            for row in model.objects.order_by("pk")
        ]
        for model in tables
    }
    items = {item.sk: item.attribute_values for item in read_partition(leg.thread_id)}
    return rows | {"leg": model_to_dict(Leg.objects.get(pk=leg.pk)), "items": items}


def attempt(card: Card, move: Any, by: Any) -> Card:
    fields = {"version": card.version, "key": "an attempt", "given": given_with(card, move)}
    if by is None:
        return moving.move(None, card_id=card.id, name=move.name, **fields).card
    if by in rightful(move.by, card):
        fields["file_ids"] = files_with(card, move, by)
    return move_card(by, card_id=card.id, move=move.name, **fields)


def expected_code(card: Card, move: Any, by: Any) -> str:
    """Empty if it is allowed."""
    if by is not None and by.id not in card.parties:
        return "THREAD_NOT_FOUND"
    if by is not None and thread_item(card.thread_id).soft_block:
        return "SAFETY_SOFT_BLOCK"
    if by not in (rightful(move.by, card) if move.by != CLOCK else [None]):
        return "ACTION_FORBIDDEN"
    if card.state in move.sources:
        return ""
    return "CARD_EXPIRED" if card.steps.last().by is None else "ACTION_INVALID_STATE"


@pytest.mark.parametrize(("type_name", "state"), STATES)
def test_every_move_of_everybody(type_name, state):
    kind = TYPES[type_name]
    leg = new_leg()
    card = bring_to(state, leg, type_name)
    assert card is not None, "no moves lead to this state"
    card.refresh_from_db()
    stranger, staff = make_person("Stig"), make_person("Mo")
    staff.is_staff = True
    staff.save()
    before = everything(leg)
    allowed = [(move, staff) for move in kind.moves if move == kind.staff_move(state)]
    for move in kind.moves:
        _staff_are_refused(card, move, staff, is_theirs=(move, staff) in allowed)
        # By the door of everybody else staff are nobody special.
        for who in (leg.buyer, leg.seller, stranger, staff, None):
            code = expected_code(card, move, who)
            if not code:
                allowed.append((move, who))
                continue
            with pytest.raises(Refusal) as refused:
                attempt(card, move, who)
            assert (move.name, who, refused.value.code) == (move.name, who, code)
    assert everything(leg) == before
    for move, who in allowed:
        _works(type_name, state, move, is_buyer=who == leg.buyer)


def _staff_are_refused(card: Card, move: Any, staff: Any, *, is_theirs: bool) -> None:
    if is_theirs:
        return
    with pytest.raises(Refusal) as refused:
        moving.decide(staff, card_id=card.id, name=move.name, key="an attempt", given={})
    wanted = "ACTION_INVALID_STATE" if move.by == STAFF else "ACTION_FORBIDDEN"
    assert refused.value.code == wanted


def _works(type_name: str, state: str, move: Any, *, is_buyer: bool) -> None:
    leg = new_leg()
    card = bring_to(state, leg, type_name)
    assert card is not None
    card.refresh_from_db()
    version = card.version
    if move.by == CLOCK:
        let_the_clock_move(card)
    elif move.by == STAFF:
        let_staff_decide(card)
    else:
        attempt(card, move, leg.buyer if is_buyer else leg.seller)
    card.refresh_from_db()
    assert card.version == version + 1
    assert card.state in (move.to, *TYPES[type_name].waits)
    step = card.steps.last()
    assert (step.move, step.from_state, step.to_state) == (move.name, state, card.state)
    assert list(differences(leg.thread_id)) == []
    assert_consistent(leg.thread_id)


@pytest.mark.parametrize("kind", TYPES.values(), ids=lambda kind: kind.name)
def test_the_tables_are_sound(kind):
    for move in kind.moves:
        assert move.by in ROLES
        assert set(move.sources) <= set(kind.waits), "a closed card is closed"
        assert move.label or move.by in (CLOCK, STAFF, SERVICE), (
            "somebody has to be able to press it"
        )
    assert len({move.name for move in kind.moves}) == len(kind.moves)
    assert kind.clock_move or not kind.due
    for state, role in kind.waits.items():
        assert role == STAFF or kind.service_move(state), "it would wait for ever"
