"""Random negotiations: two users and the clock act on the offers of one thread at the same time.

However they end, there is at most one booking, and the SQL records, the table and the screens of
both users show the same: the card in the conversation, its shadow, the pending actions, the tab.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.utils import timezone

from accounts.models import User
from contracts.cards.transitions import apply_due_transition
from contracts.models import Card, Leg, Offer
from contracts.terms import Terms
from core.outbox.processing import process_due, process_now
from projects.actions.bookings import counter_offer
from projects.actions.cards import transition_card
from projects.cards.rendering import make_card_action
from projects.consistency.records import compare_offers
from projects.panel.rebuild import list_differences
from tests.contracts.conftest import in_week, offer_in
from tests.contracts.test_card_races import run_concurrently
from tests.threads.checker import assert_consistent
from tests.threads.conftest import Delivered, make_person, messages_of, start
from threads import cache
from threads.models.message import ACTION
from threads.rendering.timeline import Timeline

pytestmark = [pytest.mark.storage, pytest.mark.django_db(transaction=True), pytest.mark.slow]

ROUNDS = 5
# By weight: with few counter-offers, most negotiations would be over after one round.
ACTIONS = (*["counter"] * 6, "accept", "accept", "decline", "withdraw", "expire")
# What a loser of a race is told. Any other refusal is a defect.
EXPECTED = {"", "ACTION_INVALID_STATE", "CARD_EXPIRED"}
CARD = re.compile(r'data-card="(\w+)" data-state="(\w+)" data-version="(\d+)"')


@dataclass(frozen=True)
class Shown:
    """A card as one user sees it: its state, its version and the buttons for this user."""

    state: str
    version: int
    buttons: frozenset[str]


@dataclass
class Negotiation:
    rng: random.Random
    thread: str
    buyer: User
    seller: User

    @property
    def users(self) -> tuple[User, User]:
        return self.buyer, self.seller

    def cards(self) -> list[Card]:
        found = Card.objects.filter(thread_id=self.thread, type="offer").order_by("id")
        return list(found.select_related("buyer", "seller", "offer", "leg", "counters"))

    def open_some(self) -> None:
        for number in range(self.rng.randint(2, 4)):
            offer_in(self.thread, self.rng.choice(self.users), in_week(number))

    def pick(self) -> Callable[[], object]:
        """An action on a random card, mostly one that is open, by someone with that role."""
        cards = self.cards()
        is_open = [card for card in cards if card.is_open]
        card = self.rng.choice(is_open if is_open and self.rng.random() < 0.9 else cards)
        action = self.rng.choice(ACTIONS)
        answerer = next(user for user in self.users if user.id == card.answerer_id)
        if action == "expire":
            return lambda: self.expire(card)
        if action == "counter":
            by, price = self.rng.choice(self.users), self.rng.randint(500, 2_000) * 100
            terms = in_week(self.rng.randint(0, 3), price_cents=price)
            return lambda: self.counter(card, by, terms)
        by = card.proposed_by if action == "withdraw" else answerer
        return lambda: transition_card(
            by,
            card_id=card.id,
            transition=action,
            version=card.version,
            key=f"{action}-{card.version}",
            given={"reason": "Too early in the day."} if action == "decline" else {},
        )

    def counter(self, card: Card, by: User, terms: Terms) -> None:
        counter_offer(
            by,
            card_id=card.id,
            version=card.version,
            key=f"counter-{card.version}-{by.id}",
            title=card.payload["title"],
            currency="EUR",
            terms=[terms],
        )

    def expire(self, card: Card) -> None:
        Card.objects.filter(pk=card.pk, is_open=True).update(due_at=timezone.now())
        done = apply_due_transition(card.id)
        process_now(done.entries if done else [])


def screen_of(user: User, thread_id: str) -> dict[str, Shown]:
    """The cards in the timeline of the page, by id."""
    cached = cache.reload(thread_id)
    messages = [message for message in messages_of(thread_id) if message.type == ACTION]
    timeline = Timeline(messages, cached, user.id, timezone.get_current_timezone())
    return parse(str(timeline.render(csrf_token="token")), user)


def live_screen_of(user: User, delivered: Delivered) -> dict[str, Shown]:
    """The cards after all events that the user received, where the newest version stays."""
    shown: dict[str, Shown] = {}
    for event in delivered.to(user):
        if event["type"] in ("message.sent", "card.changed"):
            for card_id, card in parse(event["html"], user).items():
                if card_id not in shown or card.version >= shown[card_id].version:
                    shown[card_id] = card
    return shown


def parse(html: str, user: User) -> dict[str, Shown]:
    found = list(CARD.finditer(html))
    ends = [*(match.start() for match in found), len(html)][1:]
    shown = {}
    for match, end in zip(found, ends, strict=False):
        card_id, state, version = match.groups()
        shown[card_id] = Shown(state, int(version), _buttons(html[match.start() : end], user))
    return shown


def _buttons(html: str, user: User) -> frozenset[str]:
    """The buttons that the page or the browser shows to this user."""
    tags = re.findall(r"<(?:a|form)\b[^>]*data-for=[^>]*>", html)
    names = set()
    for tag in tags:
        users = re.search(r'data-for="([^"]*)"', tag)
        name = re.search(r'/cards/\w+/(\w+)/"', tag)
        if users and name and user.id in users[1].split():
            names.add(name[1])
    return frozenset(names)


def expected_screen(card: Card, user: User) -> Shown:
    moves = make_card_action(card)["moves"]
    buttons = frozenset(name for name, users in moves.items() if user.id in users)
    return Shown(card.state, card.version, buttons)


def assert_agrees(negotiation: Negotiation, delivered: Delivered) -> None:
    thread_id, cards = negotiation.thread, negotiation.cards()
    assert Leg.objects.filter(thread_id=thread_id).count() <= 1
    accepted = [card for card in cards if card.state == "accepted"]
    assert len(accepted) == Leg.objects.filter(thread_id=thread_id).count()
    assert not (accepted and [card for card in cards if card.is_open])
    assert [card.offer.status for card in cards] == [card.state for card in cards]
    assert Offer.objects.filter(thread_id=thread_id).count() == len(cards)
    assert all(card.steps.count() == card.version for card in cards)
    assert [each for each in compare_offers() if any(c.id in each for c in cards)] == []
    assert list(list_differences(thread_id)) == []
    assert_consistent(thread_id)
    for user in negotiation.users:
        wanted = {card.id: expected_screen(card, user) for card in cards}
        assert screen_of(user, thread_id) == wanted
        assert live_screen_of(user, delivered) == wanted


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(n, marks=pytest.mark.long) for n in range(6, 60))]
)
def test_a_negotiation_ends_in_at_most_one_booking_and_everything_agrees(seed, delivered):
    rng = random.Random(seed)
    buyer, seller = make_person("Bea"), make_person("Sam")
    negotiation = Negotiation(rng, start(buyer, seller), buyer, seller)
    negotiation.open_some()
    for _ in range(ROUNDS):
        actions = [negotiation.pick() for _ in range(rng.randint(2, 4))]
        results = run_concurrently(*actions)
        assert set(results) <= EXPECTED
        while process_due():
            pass
        assert_agrees(negotiation, delivered)


def test_two_offers_accepted_at_once_give_one_booking(delivered):
    for week in range(4):
        buyer, seller = make_person("Bea"), make_person("Sam")
        negotiation = Negotiation(random.Random(week), start(buyer, seller), buyer, seller)
        offer_in(negotiation.thread, seller, in_week(0))
        offer_in(negotiation.thread, buyer, in_week(1))
        first, second = negotiation.cards()

        def accept(by: User, card: Card) -> Callable[[], object]:
            return lambda: transition_card(
                by, card_id=card.id, transition="accept", version=1, key="accept-1"
            )

        by_answerer = {
            card.id: next(u for u in negotiation.users if u.id == card.answerer_id)
            for card in (first, second)
        }
        results = run_concurrently(
            *(accept(by_answerer[card.id], card) for card in (first, second))
        )
        assert sorted(results) == ["", "ACTION_INVALID_STATE"]
        assert_agrees(negotiation, delivered)
