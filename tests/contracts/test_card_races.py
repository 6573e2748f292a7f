"""Two users act on one card at the same time, on the real stores, in several rounds.

One wins, the other is refused with the reason, and nothing is left half-done.
"""

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
from tests.contracts.card_helpers import answer, make_card_due, new_time, propose
from tests.contracts.conftest import IN_MAY, book, terms
from tests.threads.checker import assert_consistent
from tests.threads.conftest import make_person, messages_of, start

DAY = timedelta(days=1)
pytestmark = [pytest.mark.storage, pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture(params=[4, pytest.param(40, marks=pytest.mark.long)], ids=["few", "many"])
def repeat(request: pytest.FixtureRequest) -> Callable[[Callable[[int], None]], None]:
    """Runs a race several times, since the winner depends on timing."""

    def run(race: Callable[[int], None]) -> None:
        for round_number in range(request.param):
            race(round_number)

    return run


def new_leg(**more: Any) -> Leg:
    buyer, seller = make_person("Bea"), make_person("Sam")
    return book(start(buyer, seller), buyer, seller, terms(**more))


def run_concurrently(*actions: Callable[[], object]) -> list[str]:
    """Returns "" for each action that succeeded, or the code of its refusal. Each action runs in
    its own thread, whose connection is open before any of them starts."""
    barrier = threading.Barrier(len(actions))
    results: list[Any] = [None] * len(actions)

    def run(index: int, action: Callable[[], object]) -> None:
        try:
            connection.ensure_connection()
            barrier.wait()
            action()
            results[index] = ""
        except Refusal as refusal:
            results[index] = refusal.code
        except BaseException as error:
            results[index] = error
        finally:
            connection.close()

    threads = [
        threading.Thread(target=run, args=[index, action]) for index, action in enumerate(actions)
    ]
    for worker in threads:
        worker.start()
    for worker in threads:
        worker.join()
    while process_due():
        pass
    for error in results:
        if isinstance(error, BaseException):
            raise error
    return results


def refreshed_consistent(card: Card) -> Card:
    assert list(list_differences(card.thread_id)) == []
    assert_consistent(card.thread_id)
    card.refresh_from_db()
    assert card.steps.count() == card.version
    return card


def refusal_message(act: Callable[[], object]) -> str:
    with pytest.raises(Refusal) as refused:
        act()
    return refused.value.message


def test_accept_against_withdraw(repeat):
    def race(round_number):
        leg = new_leg()
        card = propose("extras", leg)

        def accept():
            answer(leg.buyer, card, "accept")

        def withdraw():
            answer(leg.seller, card, "withdraw")

        codes = run_concurrently(accept, withdraw)
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        won = refreshed_consistent(card).state
        assert won == ("accepted" if codes[0] == "" else "withdrawn")
        assert Amendment.objects.filter(card_id=card.id).count() == (won == "accepted")
        card.version = 1
        loser, happened = (withdraw, "accepted") if codes[0] == "" else (accept, "withdrew")
        assert f"{happened} the extras" in refusal_message(loser)

    repeat(race)


def test_double_accept(repeat):
    def race(round_number):
        leg = new_leg()
        card = propose("extras", leg)
        codes = run_concurrently(*[lambda: answer(leg.buyer, card, "accept") for _ in range(3)])
        assert codes == ["", "", ""]
        assert refreshed_consistent(card).version == 2
        assert Amendment.objects.filter(card_id=card.id).count() == 1

    repeat(race)


def test_double_accept_with_different_keys_is_applied_once(repeat):
    def race(round_number):
        leg = new_leg()
        card = propose("complete", leg)
        codes = run_concurrently(
            *[lambda key=key: answer(leg.buyer, card, "accept", key=key) for key in "ab"]
        )
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        assert refreshed_consistent(card).version == 2
        assert not leg.ledger.exists()

    repeat(race)


def test_counter_against_accept(repeat):
    def race(round_number):
        leg = new_leg()
        card = propose("reschedule", leg)
        codes = run_concurrently(
            lambda: answer(leg.buyer, card, "accept"),
            lambda: answer(leg.buyer, card, "counter", given=new_time(leg, days=3)),
        )
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        refreshed_consistent(card)
        is_moved = Leg.objects.get(pk=leg.pk).starts_at != leg.starts_at
        assert is_moved == (card.state == "accepted")
        assert Card.objects.filter(counters=card).exists() == (card.state == "countered")

    repeat(race)


def test_accept_against_expire(repeat):
    """The deadline falls between the two; the later of them is refused or does nothing."""

    def race(round_number):
        leg = new_leg()
        card = propose("reschedule", leg)
        soon = timezone.now() + timedelta(milliseconds=20 * (round_number % 6))
        Card.objects.filter(pk=card.pk).update(due_at=soon)

        def expire(card: Card = card) -> None:
            for _ in range(50):
                done = apply_due_transition(card.id)
                if done:
                    process_now(done.entries)

        codes = run_concurrently(lambda: answer(leg.buyer, card, "accept"), expire)
        refreshed_consistent(card)
        assert (codes[0], card.state) in (("", "accepted"), ("CARD_EXPIRED", "expired"))
        is_moved = Leg.objects.get(pk=leg.pk).starts_at != leg.starts_at
        assert is_moved == (card.state == "accepted")

    repeat(race)


def test_two_deadline_workers_apply_each_deadline_once(repeat):
    def race(round_number):
        cards = [propose("complete", new_leg()) for _ in range(3)]
        for card in cards:
            make_card_due(card)
        assert run_concurrently(process_due_cards, process_due_cards) == ["", ""]
        for card in cards:
            assert (refreshed_consistent(card).state, card.version) == ("auto_accepted", 2)
            assert not card.leg.ledger.exists()
            bodies = [one.body or "" for one in messages_of(card.thread_id)]
            assert sum("has ended and the work is accepted" in body for body in bodies) == 1

    repeat(race)


def test_two_proposals_of_another_time(repeat):
    def race(round_number):
        leg = new_leg()
        codes = run_concurrently(
            lambda: propose("reschedule", leg, leg.buyer),
            lambda: propose("reschedule", leg, leg.seller),
        )
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        assert Card.objects.filter(leg=leg, is_open=True).count() == 1

    repeat(race)


def test_two_bookings_do_not_move_to_the_same_time(repeat):
    def race(round_number):
        buyer, seller = make_person("Bea"), make_person("Sam")
        days = [timedelta(days=number) for number in (0, 2)]
        legs = [
            book(start(buyer, seller), buyer, seller, terms(starts_at=at, ends_at=at + DAY / 4))
            for at in (IN_MAY + day for day in days)
        ]
        cards = [propose("reschedule", leg, given=new_time(legs[0], days=1)) for leg in legs]
        codes = run_concurrently(
            *[lambda card=card: answer(buyer, card, "accept") for card in cards]
        )
        assert sorted(codes) == ["", "ACTION_CONFLICT"]
        for card, code in zip(cards, codes, strict=True):
            assert refreshed_consistent(card).state == ("pending" if code else "accepted")
        starts = Leg.objects.filter(seller=seller).values_list("starts_at", flat=True)
        assert len(set(starts)) == 2

    repeat(race)


def test_extras_against_cancellation(repeat):
    """Either the extras are accepted, or the booking is cancelled first and they are refused."""

    def race(round_number):
        leg = new_leg()
        extras, cancel = propose("extras", leg), propose("cancel", leg)
        codes = run_concurrently(
            lambda: answer(leg.buyer, extras, "accept"),
            lambda: answer(leg.buyer, cancel, "accept"),
        )
        assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
        is_added = refreshed_consistent(extras).state == "accepted"
        assert (refreshed_consistent(cancel).state == "accepted") == (not is_added)
        leg.refresh_from_db()
        assert (leg.status == CANCELLED) == (not is_added)
        added = extras.payload["cents"] if is_added else -leg.price_cents
        assert get_balance(leg).total_cents == leg.price_cents + added

    repeat(race)
