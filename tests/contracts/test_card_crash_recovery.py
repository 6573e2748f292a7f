"""Generated from the transition tables: a kill at the steps of every proposal and transition.

After the kill the relay runs and the user retries. The result in both stores has to equal the
result without the kill, and every effect has to occur once.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import transaction

from accounts.models import User
from contracts.cards.card_type import ANSWERER, AWAITED, DEADLINE, STAFF, SYSTEM, Transition
from contracts.cards.deadlines import refresh_card
from contracts.cards.types import TYPES
from contracts.models import Card, Leg
from core.outbox.processing import process_now
from projects.actions.cards import decide_card, transition_card
from projects.cards.deadline_worker import process_due_cards
from tests.contracts.card_helpers import (
    GIVEN,
    files_for,
    make_card_due,
    make_card_in_state,
    make_completable,
    make_staff,
    make_transition,
    propose,
    proposer_of,
    transition_files,
    transition_input,
    users_with_role,
)
from tests.contracts.conftest import book, terms
from tests.contracts.crash_points import kill_at_every_step, relay
from tests.contracts.store_snapshots import snapshot
from tests.files.conftest import kept  # noqa: F401
from tests.threads.conftest import make_person, start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# Operations with the same kinds of writes as an operation that is always tested: an amendment
# (extras), a follow-up card (reschedule), one signature of two, a case (dispute), the end of a
# booking (accepted work), files (proofs).
SIMILAR = {
    *("overtime-accept", "expense-accept", "extras-counter", "sign-sign", "complete-dispute"),
    *("complete-auto_accept", "expense-propose", "proofs-answer", "proofs-request_changes"),
}
# Also run on PostgreSQL: an effect in SQL, files, and a decision by staff.
ON_POSTGRESQL = {"extras-accept", "proofs-propose", "dispute-resolve"}


@dataclass(frozen=True)
class Operation:
    """A proposal, or a transition from one state."""

    type_name: str
    transition: Transition | None = None
    source: str = ""
    # How many users have made a transition that several have to make.
    made: int = 0

    @property
    def is_similar(self) -> bool:
        """Operations without an effect, files or a follow-up card all write a card, a step and a
        message."""
        if str(self) in SIMILAR:
            return True
        if self.transition is None:
            kind = TYPES[self.type_name]
            return not (kind.effect or kind.files[0] or self.type_name == "reschedule")
        if self.transition.by == SYSTEM:
            return self.type_name != "extras"
        return not (self.transition.effect or self.transition.next_type)

    def __str__(self) -> str:
        name = self.transition.name if self.transition else "propose"
        return "-".join([self.type_name, name, *([f"after-{self.made}"] if self.made else [])])


@dataclass
class Scenario:
    """The prepared input of an operation, so that a retry sends the same input."""

    leg: Leg
    by: User | None
    card: Card | None = None
    transition: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)


def all_operations() -> list[Operation]:
    operations = [Operation(name) for name in TYPES]
    for kind in TYPES.values():
        for transition in kind.transitions:
            operations += [
                Operation(kind.name, transition, source) for source in transition.sources
            ]
            if transition.by == AWAITED and transition.effect:
                operations.append(Operation(kind.name, transition, transition.sources[0], made=1))
    return operations


def with_marks(operation: Operation) -> Any:
    marks = [pytest.mark.long] if operation.is_similar else []
    if str(operation) in ON_POSTGRESQL:
        marks.append(pytest.mark.storage)
    return pytest.param(operation, id=str(operation), marks=marks)


def prepare(operation: Operation) -> Scenario:
    buyer, seller = make_person("Bea"), make_person("Sam")
    leg = book(start(buyer, seller), buyer, seller, terms())
    scenario = (
        _prepare_proposal(operation, leg)
        if operation.transition is None
        else _prepare_transition(operation, operation.transition, leg)
    )
    scenario.before = snapshot(leg)
    return scenario


def _prepare_proposal(operation: Operation, leg: Leg) -> Scenario:
    by = proposer_of(operation.type_name, leg)
    if operation.type_name == "complete":
        make_completable(leg)
    files = files_for(operation.type_name, leg, by)
    return Scenario(leg, by, given={"file_ids": files, "given": GIVEN[operation.type_name](leg)})


def _prepare_transition(operation: Operation, transition: Transition, leg: Leg) -> Scenario:
    card = make_card_in_state(operation.source, leg, operation.type_name)
    assert card is not None
    for _ in range(operation.made):
        make_transition(card, transition)
    if transition.by == DEADLINE:
        make_card_due(card)
        with transaction.atomic():
            entry = refresh_card(card)
        process_now([entry])
        return Scenario(leg, None, card)
    if transition.by == SYSTEM:
        return _prepare_booking_end(card, leg)
    card.refresh_from_db()
    by = make_staff() if transition.by == STAFF else users_with_role(transition.by, card)[0]
    files = transition_files(card, transition, by)
    given = {
        "version": card.version,
        "given": transition_input(card, transition),
        "file_ids": files,
    }
    return Scenario(leg, by, card, transition.name, given)


def _prepare_booking_end(card: Card, leg: Leg) -> Scenario:
    """Prepares the acceptance of a cancellation, which ends the booking and with it the card."""
    last = propose("cancel", leg)
    return Scenario(
        leg, users_with_role(ANSWERER, last)[0], last, "accept", {"version": last.version}
    )


def run_operation(operation: Operation, scenario: Scenario) -> tuple[str, int]:
    """Runs the operation and returns the resulting state and version of the card."""
    card = scenario.card
    if card is None:
        card = propose(operation.type_name, scenario.leg, scenario.by, key="once", **scenario.given)
    elif scenario.by is None:
        process_due_cards()
    elif scenario.by.is_staff:
        _decide(scenario.by, card)
    else:
        card = transition_card(
            scenario.by,
            card_id=card.id,
            transition=scenario.transition,
            key="once",
            **scenario.given,
        )
    found = Card.objects.get(pk=card.pk)
    return found.state, found.version


def _decide(staff: User, card: Card) -> None:
    """Decides only while there is something to decide, as the page offers the button only then."""
    if TYPES[card.type].staff_transition(Card.objects.get(pk=card.pk).state):
        decide_card(staff, thread_id=card.thread_id, card_id=card.id, reason="It goes on.")


@pytest.mark.parametrize("operation", [with_marks(operation) for operation in all_operations()])
def test_a_retry_after_a_kill_at_any_step_gives_the_uninterrupted_result(operation, kept):  # noqa: F811
    uninterrupted = prepare(operation)
    answer = run_operation(operation, uninterrupted)
    expected = snapshot(uninterrupted.leg)
    assert expected != uninterrupted.before
    scenarios = kill_at_every_step(
        lambda: prepare(operation),
        lambda scenario: run_operation(operation, scenario),
        lambda scenario: [scenario.leg.thread_id],
    )
    for scenario in scenarios:
        left = snapshot(scenario.leg)
        if left != expected:
            assert without_hold(left, operation) == without_hold(scenario.before, operation)
        assert run_operation(operation, scenario) == answer
        relay(scenario.leg.thread_id)
        assert snapshot(scenario.leg) == expected


def without_hold(found: dict[str, Any], operation: Operation) -> dict[str, Any]:
    """Ignores the hold, which is lifted before the decision because a held thread accepts no
    messages. An interruption in between leaves the card unchanged."""
    is_lifted = TYPES[operation.type_name].is_hold and operation.transition is not None
    return found | {"is_held": None, "stops": None} if is_lifted else found


def test_every_card_type_has_a_sample_proposal():
    assert set(GIVEN) == set(TYPES)
