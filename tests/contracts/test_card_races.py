"""Two who press at once, on the real stores: one wins, the other is told, nothing is half-done."""

import threading

import pytest
from django.db import connection

from accounts.refusals import Refusal
from contracts.cards.moving import make_clock_move
from contracts.models import Amendment, Card, Leg
from tests.contracts.card_scenes import answer, new_time, propose
from tests.threads.checker import assert_consistent
from threads.panel.rebuilding import differences
from threads.relay import carry_all, carry_waiting

pytestmark = [pytest.mark.storage, pytest.mark.django_db(transaction=True)]


def at_once(*acts) -> list[str]:
    """What came of each: empty if it was done, else the code with which it was refused."""
    together = threading.Barrier(len(acts))
    codes = [""] * len(acts)

    def run(place: int, act) -> None:
        try:
            together.wait()
            act()
        except Refusal as refusal:
            codes[place] = refusal.code
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[place, act]) for place, act in enumerate(acts)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    while carry_waiting():
        pass
    return codes


def settled(card: Card) -> Card:
    assert list(differences(card.thread_id)) == []
    assert_consistent(card.thread_id)
    card.refresh_from_db()
    assert card.steps.count() == card.version
    return card


def test_accept_against_withdraw(leg, buyer, seller):
    card = propose("extras", leg)
    codes = at_once(lambda: answer(buyer, card, "accept"), lambda: answer(seller, card, "withdraw"))
    assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
    won = settled(card).state
    assert won == ("accepted" if codes[0] == "" else "withdrawn")
    assert Amendment.objects.filter(card_id=card.id).count() == (won == "accepted")


def test_double_accept(leg, buyer, seller):
    card = propose("extras", leg)
    codes = at_once(*[lambda: answer(buyer, card, "accept") for _ in range(2)])
    assert codes == ["", ""]
    assert settled(card).version == 2
    assert Amendment.objects.filter(card_id=card.id).count() == 1


def test_counter_against_accept(leg, buyer, seller):
    card = propose("reschedule", leg, seller)
    codes = at_once(
        lambda: answer(buyer, card, "accept"),
        lambda: answer(buyer, card, "counter", given=new_time(leg, days=3)),
    )
    assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
    settled(card)
    moved = Leg.objects.get(pk=leg.pk).starts_at != leg.starts_at
    assert moved == (card.state == "accepted")
    assert Card.objects.filter(counters=card).exists() == (card.state == "countered")


def test_accept_against_expire(leg, buyer, seller):
    """Due between the two: whoever is later finds it done."""
    from datetime import timedelta

    from django.utils import timezone

    card = propose("reschedule", leg, seller)
    Card.objects.filter(pk=card.pk).update(due_at=timezone.now() + timedelta(milliseconds=60))

    def expire() -> None:
        for _ in range(200):
            done = make_clock_move(card.id)
            if done:
                carry_all(done.entries)

    codes = at_once(lambda: answer(buyer, card, "accept"), expire)
    settled(card)
    assert (codes[0], card.state) in (("", "accepted"), ("CARD_EXPIRED", "expired"))
    moved = Leg.objects.get(pk=leg.pk).starts_at != leg.starts_at
    assert moved == (card.state == "accepted")


def test_two_proposals_of_another_time(leg, buyer, seller):
    codes = at_once(
        lambda: propose("reschedule", leg, buyer), lambda: propose("reschedule", leg, seller)
    )
    assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
    assert Card.objects.filter(leg=leg, is_open=True).count() == 1
