"""Generated from the card types: every type, every booking status and every user.

Allowed users can propose; every other proposal is refused with the right code and changes nothing.
"""

import pytest

from accounts.models import User
from contracts.cards.card_type import BUYER, EITHER
from contracts.cards.types import TYPES
from contracts.models import Leg
from contracts.models.bookings import LEG_STATES
from contracts.status import is_allowed, proposal_action
from tests.contracts.card_helpers import GIVEN, files_for, make_completable, propose, proposer_of
from tests.contracts.crash_points import assert_stores_agree
from tests.contracts.store_snapshots import exact_snapshot
from tests.contracts.test_card_transitions import code_of, new_leg
from tests.files.conftest import kept  # noqa: F401
from tests.threads.conftest import make_person

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

CASES = [(name, status) for name in TYPES for status in LEG_STATES]


def ready_leg(type_name: str, *others: User) -> Leg:
    """Makes a booking; for a completion, its contract is signed and its time is over."""
    leg = new_leg(*others)
    if type_name == "complete":
        make_completable(leg)
    return leg


def with_status(leg: Leg, status: str) -> Leg:
    Leg.objects.filter(pk=leg.pk).update(status=status)
    return leg


def users_allowed_to_propose(type_name: str, leg: Leg) -> list:
    """Lists the users whom the card type allows to propose, independently of the product code."""
    by = TYPES[type_name].by
    return [leg.buyer, leg.seller] if by == EITHER else [leg.buyer if by == BUYER else leg.seller]


@pytest.mark.parametrize(("type_name", "status"), CASES)
def test_every_proposal_by_every_user(type_name, status):
    other, stranger = make_person("Olu"), make_person("Stig")
    leg = with_status(ready_leg(type_name, other), status)
    given = {"given": GIVEN[type_name](leg), "file_ids": []}
    before = exact_snapshot(leg)
    for who in (other, stranger):
        assert code_of(propose, type_name, leg, who, **given) == "THREAD_NOT_FOUND"
    allowed = users_allowed_to_propose(type_name, leg)
    for who in {leg.buyer, leg.seller} - set(allowed):
        assert code_of(propose, type_name, leg, who, **given) == "ACTION_FORBIDDEN"
    is_possible = is_allowed(status, proposal_action(type_name))
    if not is_possible:
        for who in allowed:
            assert code_of(propose, type_name, leg, who, **given) == "ACTION_INVALID_STATE"
    assert exact_snapshot(leg) == before
    for is_buyer in [who == leg.buyer for who in allowed if is_possible]:
        _check_proposal_succeeds(
            type_name, with_status(ready_leg(type_name), status), is_buyer=is_buyer
        )


def _check_proposal_succeeds(type_name: str, leg: Leg, *, is_buyer: bool) -> None:
    by = leg.buyer if is_buyer else leg.seller
    card = propose(type_name, leg, by)
    assert (card.state, card.version, card.proposed_by) == (TYPES[type_name].first, 1, by)
    (step,) = card.steps.all()
    assert (step.move, step.by, step.from_state, step.to_state) == ("propose", by, "", card.state)
    assert_stores_agree(leg.thread_id)


@pytest.mark.parametrize("type_name", TYPES)
def test_an_invalid_proposal_is_refused(type_name):
    kind, leg = TYPES[type_name], ready_leg(type_name)
    by = proposer_of(type_name, leg)
    if type_name != "sign":
        # A signature card takes no input.
        files = files_for(type_name, leg, by)
        before = exact_snapshot(leg)
        for given in ({}, dict.fromkeys(kind.proposal.model_fields, "\x00")):
            code = code_of(propose, type_name, leg, by, given=given, file_ids=files)
            assert code == "CARD_INVALID"
        assert exact_snapshot(leg) == before
    if kind.files[0]:
        assert code_of(propose, type_name, leg, by, file_ids=[]) == "CARD_INVALID"
    if kind.is_exclusive:
        propose(type_name, leg, by)
        before = exact_snapshot(leg)
        code = code_of(propose, type_name, leg, by, file_ids=[])
        assert code == ("SAFETY_SOFT_BLOCK" if kind.is_hold else "ACTION_INVALID_STATE")
        assert exact_snapshot(leg) == before


@pytest.mark.parametrize("type_name", TYPES)
def test_a_booking_of_other_users_cannot_be_proposed_for(type_name):
    leg, other_leg = ready_leg(type_name), ready_leg(type_name)
    by = proposer_of(type_name, leg)
    given = {"given": GIVEN[type_name](leg), "file_ids": []}
    before = exact_snapshot(leg), exact_snapshot(other_leg)
    other_leg.thread_id = leg.thread_id
    assert code_of(propose, type_name, other_leg, by, **given) == "THREAD_NOT_FOUND"
    other_leg.refresh_from_db()
    assert (exact_snapshot(leg), exact_snapshot(other_leg)) == before
