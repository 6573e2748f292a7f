"""Two who press at once, on the real stores, round after round: one wins, the other is told what
happened, nothing is half-done."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from contracts.cards.transitions import apply_due_transition
from contracts.models import Amendment, Card, Leg
from contracts.models.bookings import CANCELLED
from contracts.queries import get_balance
from core.outbox.processing import process_due, process_now
from core.refusals import Refusal
from projects.cards.deadline_worker import process_due_cards
from projects.panel.rebuild import list_differences
from tests.contracts.card_helpers import answer, let_be_due, new_time, propose
from tests.contracts.conftest import IN_MAY, book, terms
from tests.threads.checker import assert_consistent
from tests.threads.conftest import make_person, messages_of, start

DAY = timedelta(days=1)
pytestmark = [pytest.mark.storage, pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(params=[4, pytest.param(40, marks=pytest.mark.long)], ids=["few", "many"])
def again(request: pytest.FixtureRequest) -> Callable[[Callable[[int], None]], None]:
    """Who wins is up to chance: round after round."""

    def run(once: Callable[[int], None]) -> None:
        for turn in range(request.param):
            once(turn)

    return run


def new_leg(**more: Any) -> Leg:
    buyer, seller = make_person("Bea"), make_person("Sam")
    return book(start(buyer, seller), buyer, seller, terms(**more))


def at_once(*acts: Callable[[], object]) -> list[str]:
    """What came of each: empty if it was done, else the code with which it was refused. Each has a
    connection of its own, which is there before anybody starts."""
    together = threading.Barrier(len(acts))
    came: list[Any] = [None] * len(acts)

    def run(place: int, act: Callable[[], object]) -> None:
        try:
            connection.ensure_connection()
            together.wait()
            act()
            came[place] = ""
        except Refusal as refusal:
            came[place] = refusal.code
        except BaseException as error:
            came[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[place, act]) for place, act in enumerate(acts)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    while process_due():
        pass
    for error in came:
        if isinstance(error, BaseException):
            raise error
    return came


def settled(card: Card) -> Card:
    assert list(list_differences(card.thread_id)) == []
    assert_consistent(card.thread_id)
    card.refresh_from_db()
    assert card.steps.count() == card.version
    return card


def told(act: Callable[[], object]) -> str:
    with pytest.raises(Refusal) as refused:
        act()
    return refused.value.message


def test_accept_against_withdraw(again):
    def once(turn):
        leg = new_leg()
        card = propose("extras", leg)

        def accept():
            answer(leg.buyer, card, "accept")

        def withdraw():
            answer(leg.seller, card, "withdraw")

        codes = at_once(accept, withdraw)
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        won = settled(card).state
        assert won == ("accepted" if codes[0] == "" else "withdrawn")
        assert Amendment.objects.filter(card_id=card.id).count() == (won == "accepted")
        card.version = 1
        loser, happened = (withdraw, "accepted") if codes[0] == "" else (accept, "took")
        assert f"{happened} the extras" in told(loser)

    again(once)


def test_double_accept(again):
    def once(turn):
        leg = new_leg()
        card = propose("extras", leg)
        codes = at_once(*[lambda: answer(leg.buyer, card, "accept") for _ in range(3)])
        assert codes == ["", "", ""]
        assert settled(card).version == 2
        assert Amendment.objects.filter(card_id=card.id).count() == 1

    again(once)


def test_double_accept_by_other_names_is_done_once(again):
    def once(turn):
        leg = new_leg()
        card = propose("complete", leg)
        codes = at_once(
            *[lambda key=key: answer(leg.buyer, card, "accept", key=key) for key in "ab"]
        )
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        assert settled(card).version == 2
        assert not leg.ledger.exists()

    again(once)


def test_counter_against_accept(again):
    def once(turn):
        leg = new_leg()
        card = propose("reschedule", leg)
        codes = at_once(
            lambda: answer(leg.buyer, card, "accept"),
            lambda: answer(leg.buyer, card, "counter", given=new_time(leg, days=3)),
        )
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        settled(card)
        moved = Leg.objects.get(pk=leg.pk).starts_at != leg.starts_at
        assert moved == (card.state == "accepted")
        assert Card.objects.filter(counters=card).exists() == (card.state == "countered")

    again(once)


def test_accept_against_expire(again):
    """Due between the two: whoever is later finds it done."""

    def once(turn):
        leg = new_leg()
        card = propose("reschedule", leg)
        soon = timezone.now() + timedelta(milliseconds=20 * (turn % 6))
        Card.objects.filter(pk=card.pk).update(due_at=soon)

        def expire(card: Card = card) -> None:
            for _ in range(50):
                done = apply_due_transition(card.id)
                if done:
                    process_now(done.entries)

        codes = at_once(lambda: answer(leg.buyer, card, "accept"), expire)
        settled(card)
        assert (codes[0], card.state) in (("", "accepted"), ("CARD_EXPIRED", "expired"))
        moved = Leg.objects.get(pk=leg.pk).starts_at != leg.starts_at
        assert moved == (card.state == "accepted")

    again(once)


def test_two_sweepers_move_each_card_once(again):
    def once(turn):
        cards = [propose("complete", new_leg()) for _ in range(3)]
        for card in cards:
            let_be_due(card)
        assert at_once(process_due_cards, process_due_cards) == ["", ""]
        for card in cards:
            assert (settled(card).state, card.version) == ("auto_accepted", 2)
            assert not card.leg.ledger.exists()
            said = [one.body or "" for one in messages_of(card.thread_id)]
            assert sum("has ended and the work is accepted" in body for body in said) == 1

    again(once)


def test_two_proposals_of_another_time(again):
    def once(turn):
        leg = new_leg()
        codes = at_once(
            lambda: propose("reschedule", leg, leg.buyer),
            lambda: propose("reschedule", leg, leg.seller),
        )
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        assert Card.objects.filter(leg=leg, is_open=True).count() == 1

    again(once)


def test_two_bookings_do_not_move_to_the_same_time(again):
    def once(turn):
        buyer, seller = make_person("Bea"), make_person("Sam")
        days = [timedelta(days=number) for number in (0, 2)]
        legs = [
            book(start(buyer, seller), buyer, seller, terms(starts_at=at, ends_at=at + DAY / 4))
            for at in (IN_MAY + day for day in days)
        ]
        cards = [propose("reschedule", leg, given=new_time(legs[0], days=1)) for leg in legs]
        codes = at_once(*[lambda card=card: answer(buyer, card, "accept") for card in cards])
        assert sorted(codes) == ["", "ACTION_CONFLICT"]
        for card, code in zip(cards, codes, strict=True):
            assert settled(card).state == ("pending" if code else "accepted")
        starts = Leg.objects.filter(seller=seller).values_list("starts_at", flat=True)
        assert len(set(starts)) == 2

    again(once)


def test_extras_against_calling_it_off(again):
    """Either they are part of what is called off, or there is nothing left to add them to."""

    def once(turn):
        leg = new_leg()
        extras, cancel = propose("extras", leg), propose("cancel", leg)
        codes = at_once(
            lambda: answer(leg.buyer, extras, "accept"),
            lambda: answer(leg.buyer, cancel, "accept"),
        )
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        is_added = settled(extras).state == "accepted"
        assert (settled(cancel).state == "accepted") == (not is_added)
        leg.refresh_from_db()
        assert (leg.status == CANCELLED) == (not is_added)
        added = extras.payload["cents"] if is_added else -leg.price_cents
        assert get_balance(leg).total_cents == leg.price_cents + added

    again(once)
