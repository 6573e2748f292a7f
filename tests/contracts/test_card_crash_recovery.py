"""Generated from the tables: killed at every step of every proposal and every move, whoever makes
it. Then the relay, then whoever it was tries again: what comes of it is what would have come of it
without the kill, in both stores, and once."""

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
    bring_to,
    files_for,
    files_with,
    given_with,
    let_be_due,
    make,
    make_staff,
    propose,
    proposer_of,
    rightful,
)
from tests.contracts.conftest import book, terms
from tests.contracts.crash_points import kill_at_every_step, relay
from tests.contracts.store_snapshots import outcome
from tests.files.conftest import kept  # noqa: F401
from tests.threads.conftest import make_person, start

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

# An amendment like that of extras, another card like that of another time, one signature of two, a
# case like that of a dispute, an end like that of accepted work, files like those of proofs.
ALIKE = {
    *("overtime-accept", "expense-accept", "extras-counter", "sign-sign", "complete-dispute"),
    *("complete-auto_accept", "expense-propose", "proofs-answer", "proofs-request_changes"),
}
# Killed on PostgreSQL as well: an effect in SQL, files, and a decision of staff.
ON_POSTGRESQL = {"extras-accept", "proofs-propose", "dispute-resolve"}


@dataclass(frozen=True)
class Deed:
    """A proposal, or a move from one state."""

    type_name: str
    move: Transition | None = None
    source: str = ""
    # Of several who all have to make it, how many have.
    made: int = 0

    @property
    def is_like_another(self) -> bool:
        """Without an effect, files or a card that follows, all are: a card, its step, a line."""
        if str(self) in ALIKE:
            return True
        if self.move is None:
            kind = TYPES[self.type_name]
            return not (kind.effect or kind.files[0] or self.type_name == "reschedule")
        if self.move.by == SYSTEM:
            return self.type_name != "extras"
        return not (self.move.effect or self.move.next_type)

    def __str__(self) -> str:
        name = self.move.name if self.move else "propose"
        return "-".join([self.type_name, name, *([f"after-{self.made}"] if self.made else [])])


@dataclass
class Scene:
    """What a deed needs, made before it: it can be done again, and is the same."""

    leg: Leg
    by: User | None
    card: Card | None = None
    move: str = ""
    given: dict[str, Any] = field(default_factory=dict)
    before: dict[str, Any] = field(default_factory=dict)


def all_deeds() -> list[Deed]:
    deeds = [Deed(name) for name in TYPES]
    for kind in TYPES.values():
        for move in kind.transitions:
            deeds += [Deed(kind.name, move, source) for source in move.sources]
            if move.by == AWAITED and move.effect:
                deeds.append(Deed(kind.name, move, move.sources[0], made=1))
    return deeds


def with_marks(deed: Deed) -> Any:
    marks = [pytest.mark.long] if deed.is_like_another else []
    if str(deed) in ON_POSTGRESQL:
        marks.append(pytest.mark.storage)
    return pytest.param(deed, id=str(deed), marks=marks)


def prepare(deed: Deed) -> Scene:
    buyer, seller = make_person("Bea"), make_person("Sam")
    leg = book(start(buyer, seller), buyer, seller, terms())
    scene = _proposal(deed, leg) if deed.move is None else _move(deed, deed.move, leg)
    scene.before = outcome(leg)
    return scene


def _proposal(deed: Deed, leg: Leg) -> Scene:
    by = proposer_of(deed.type_name, leg)
    files = files_for(deed.type_name, leg, by)
    return Scene(leg, by, given={"file_ids": files, "given": GIVEN[deed.type_name](leg)})


def _move(deed: Deed, move: Transition, leg: Leg) -> Scene:
    card = bring_to(deed.source, leg, deed.type_name)
    assert card is not None
    for _ in range(deed.made):
        make(card, move)
    if move.by == DEADLINE:
        let_be_due(card)
        with transaction.atomic():
            entry = refresh_card(card)
        process_now([entry])
        return Scene(leg, None, card)
    if move.by == SYSTEM:
        return _end(card, leg)
    card.refresh_from_db()
    by = make_staff() if move.by == STAFF else rightful(move.by, card)[0]
    files = files_with(card, move, by)
    given = {"version": card.version, "given": given_with(card, move), "file_ids": files}
    return Scene(leg, by, card, move.name, given)


def _end(card: Card, leg: Leg) -> Scene:
    """Of the booking, and with it of the card: by another one."""
    last = propose("cancel", leg)
    return Scene(leg, rightful(ANSWERER, last)[0], last, "accept", {"version": last.version})


def do(deed: Deed, scene: Scene) -> tuple[str, int]:
    """What whoever does it is answered."""
    card = scene.card
    if card is None:
        card = propose(deed.type_name, scene.leg, scene.by, key="once", **scene.given)
    elif scene.by is None:
        process_due_cards()
    elif scene.by.is_staff:
        _decide(scene.by, card)
    else:
        card = transition_card(
            scene.by, card_id=card.id, transition=scene.move, key="once", **scene.given
        )
    found = Card.objects.get(pk=card.pk)
    return found.state, found.version


def _decide(staff: User, card: Card) -> None:
    """From a page that has the button for as long as there is something to decide."""
    if TYPES[card.type].staff_transition(Card.objects.get(pk=card.pk).state):
        decide_card(staff, thread_id=card.thread_id, card_id=card.id, reason="It goes on.")


@pytest.mark.parametrize("deed", [with_marks(deed) for deed in all_deeds()])
def test_killed_at_every_step_it_ends_as_if_nothing_had_happened(deed, kept):  # noqa: F811
    untouched = prepare(deed)
    answer = do(deed, untouched)
    wanted = outcome(untouched.leg)
    assert wanted != untouched.before
    scenes = kill_at_every_step(
        lambda: prepare(deed), lambda scene: do(deed, scene), lambda scene: [scene.leg.thread_id]
    )
    for scene in scenes:
        left = outcome(scene.leg)
        if left != wanted:
            assert but_for_the_hold(left, deed) == but_for_the_hold(scene.before, deed)
        assert do(deed, scene) == answer
        relay(scene.leg.thread_id)
        assert outcome(scene.leg) == wanted


def but_for_the_hold(found: dict[str, Any], deed: Deed) -> dict[str, Any]:
    """A hold is lifted before what it was for is decided, since on hold nobody could be told.
    Whoever is interrupted in between finds the card as it was."""
    is_lifted = TYPES[deed.type_name].is_hold and deed.move is not None
    return found | {"is_held": None, "stops": None} if is_lifted else found


def test_every_type_has_its_scene():
    assert set(GIVEN) == set(TYPES)
