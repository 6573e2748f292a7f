"""Generated from the tables: every type, every state of a booking and every person. Who may
propose it can; whoever may not is refused with the right code, and nothing is changed."""

import pytest

from accounts.models import User
from contracts.cards.card_type import BUYER, EITHER
from contracts.cards.types import TYPES
from contracts.models import Leg
from contracts.models.bookings import LEG_STATES
from contracts.status import is_allowed, proposal_action
from tests.contracts.card_helpers import GIVEN, files_for, make_completable, propose, proposer_of
from tests.contracts.crash_points import assert_agree
from tests.contracts.store_snapshots import everything
from tests.contracts.test_card_transitions import code_of, new_leg
from tests.files.conftest import kept  # noqa: F401
from tests.threads.conftest import make_person

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CASES = [(name, status) for name in TYPES for status in LEG_STATES]


def ready_leg(type_name: str, *others: User) -> Leg:
    """Work is marked as completed when the contract is signed and the time is over."""
    leg = new_leg(*others)
    if type_name == "complete":
        make_completable(leg)
    return leg


def in_state(leg: Leg, status: str) -> Leg:
    Leg.objects.filter(pk=leg.pk).update(status=status)
    return leg


def may(type_name: str, leg: Leg) -> list:
    """Whom the table means, spelled out once more."""
    by = TYPES[type_name].by
    return [leg.buyer, leg.seller] if by == EITHER else [leg.buyer if by == BUYER else leg.seller]


@pytest.mark.parametrize(("type_name", "status"), CASES)
def test_every_proposal_of_everybody(type_name, status):
    other, stranger = make_person("Olu"), make_person("Stig")
    leg = in_state(ready_leg(type_name, other), status)
    given = {"given": GIVEN[type_name](leg), "file_ids": []}
    before = everything(leg)
    for who in (other, stranger):
        assert code_of(propose, type_name, leg, who, **given) == "THREAD_NOT_FOUND"
    rightful = may(type_name, leg)
    for who in {leg.buyer, leg.seller} - set(rightful):
        assert code_of(propose, type_name, leg, who, **given) == "ACTION_FORBIDDEN"
    is_possible = is_allowed(status, proposal_action(type_name))
    if not is_possible:
        for who in rightful:
            assert code_of(propose, type_name, leg, who, **given) == "ACTION_INVALID_STATE"
    assert everything(leg) == before
    for is_buyer in [who == leg.buyer for who in rightful if is_possible]:
        _works(type_name, in_state(ready_leg(type_name), status), is_buyer=is_buyer)


def _works(type_name: str, leg: Leg, *, is_buyer: bool) -> None:
    by = leg.buyer if is_buyer else leg.seller
    card = propose(type_name, leg, by)
    assert (card.state, card.version, card.proposed_by) == (TYPES[type_name].first, 1, by)
    (step,) = card.steps.all()
    assert (step.move, step.by, step.from_state, step.to_state) == ("propose", by, "", card.state)
    assert_agree(leg.thread_id)


@pytest.mark.parametrize("type_name", TYPES)
def test_what_is_not_right_about_a_proposal(type_name):
    kind, leg = TYPES[type_name], ready_leg(type_name)
    by = proposer_of(type_name, leg)
    if type_name != "sign":
        # All there is to say of it follows from the booking.
        files = files_for(type_name, leg, by)
        before = everything(leg)
        for given in ({}, dict.fromkeys(kind.proposal.model_fields, "\x00")):
            code = code_of(propose, type_name, leg, by, given=given, file_ids=files)
            assert code == "CARD_INVALID"
        assert everything(leg) == before
    if kind.files[0]:
        assert code_of(propose, type_name, leg, by, file_ids=[]) == "CARD_INVALID"
    if kind.is_exclusive:
        propose(type_name, leg, by)
        before = everything(leg)
        code = code_of(propose, type_name, leg, by, file_ids=[])
        assert code == ("SAFETY_SOFT_BLOCK" if kind.is_hold else "ACTION_INVALID_STATE")
        assert everything(leg) == before


@pytest.mark.parametrize("type_name", TYPES)
def test_not_with_the_booking_of_somebody_else(type_name):
    leg, elsewhere = ready_leg(type_name), ready_leg(type_name)
    by = proposer_of(type_name, leg)
    given = {"given": GIVEN[type_name](leg), "file_ids": []}
    before = everything(leg), everything(elsewhere)
    elsewhere.thread_id = leg.thread_id
    assert code_of(propose, type_name, elsewhere, by, **given) == "THREAD_NOT_FOUND"
    elsewhere.refresh_from_db()
    assert (everything(leg), everything(elsewhere)) == before
