"""The pages of every type: filling one in, looking at it, answering it; none needs a script."""

import re
from itertools import permutations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from contracts.cards.types import TYPES
from contracts.models import Card, Leg
from projects.cards.rendering import make_card_action, make_card_view
from tests.contracts.card_helpers import (
    GIVEN,
    answer,
    bring_to,
    make_completable,
    propose,
    proposer_of,
    rightful,
)
from tests.contracts.conftest import book, in_week
from tests.files.conftest import picture
from threads import cache

pytestmark = pytest.mark.django_db


def posted(type_name, leg):
    """As a form sends it."""
    fields = {"key": "once", "leg": leg.id}
    for name, value in GIVEN[type_name](leg).items():
        if not isinstance(value, list):
            fields[name] = value
            continue
        for number, row in enumerate(value):
            fields |= {f"{name}-{number}-{part}": each for part, each in row.items()}
    kind = TYPES[type_name]
    if kind.files[0]:
        name, content = ("look.jpg", picture()) if kind.file_kind else ("slip.txt", b"A slip")
        fields["files"] = SimpleUploadedFile(name, content)
    return fields


def send(client, page, type_name, leg):
    """Posts the form; where it is shown for review first, confirms it."""
    fields = posted(type_name, leg)
    answer = client.post(page, fields)
    if not TYPES[type_name].needs_review:
        return answer
    assert (answer.status_code, "Check before you send" in answer.content.decode()) == (200, True)
    hidden = re.findall(r'name="(reviewed|file_ids)" value="([^"]*)"', answer.content.decode())
    fields.pop("files", None)
    return client.post(page, fields | dict(hidden))


@pytest.mark.parametrize("type_name", TYPES)
def test_each_is_proposed_by_a_form_and_shown_where_it_is_answered(type_name, leg, thread, client):
    proposer = proposer_of(type_name, leg)
    client.force_login(proposer)
    page = reverse("projects:card_new", args=[thread, type_name])
    if type_name == "complete":
        make_completable(leg)
    assert "data-card-form" in client.get(page).content.decode()
    assert send(client, page, type_name, leg).status_code == 302
    card = Card.objects.get()
    assert send(client, page, type_name, leg).status_code == 302
    assert Card.objects.count() == 1
    for address in (
        reverse("projects:card", args=[card.id]),
        reverse("threads:thread", args=[thread]),
        reverse("projects:panel_tab", args=[thread, "actions"]),
    ):
        assert card.id in client.get(address).content.decode()


@pytest.mark.parametrize("type_name", TYPES)
def test_each_move_that_asks_first_has_its_page(type_name, leg, client):
    kind = TYPES[type_name]
    card = bring_to(kind.first, leg, type_name)
    for move in kind.transitions:
        if not move.label or kind.first not in move.sources:
            continue
        client.force_login(rightful(move.by, card)[0])
        shown = client.get(reverse("projects:card_transition", args=[card.id, move.name]))
        assert shown.status_code == 200
        assert move.label in shown.content.decode()


def test_a_slip_that_is_missing_is_said_where_it_belongs(leg, thread, client):
    client.force_login(leg.seller)
    page = reverse("projects:card_new", args=[thread, "expense"])
    fields = posted("expense", leg)
    del fields["files"]
    answer = client.post(page, fields)
    assert answer.status_code == 400
    assert "Add a file." in answer.content.decode()
    assert not Card.objects.exists()


def test_whoever_may_not_propose_it_is_told_so(leg, thread, client):
    client.force_login(leg.buyer)
    page = reverse("projects:card_new", args=[thread, "extras"])
    assert client.get(page).status_code == 403


def test_a_time_that_was_accepted_is_offered_for_the_calendar(leg, thread, client):
    client.force_login(leg.buyer)
    link = reverse("projects:calendar", args=[leg.id])
    card = propose("reschedule", leg, leg.seller)
    assert link not in action_card(client, thread)
    answer(leg.buyer, card, "accept")
    assert link in action_card(client, thread)


def action_card(client, thread):
    shown = client.get(reverse("threads:thread", args=[thread])).content.decode()
    return shown.partition("data-card=")[2].partition("message-foot")[0]


def test_buttons_stand_in_the_same_order_however_the_store_returns_them(leg):
    card = propose("reschedule", leg)
    action, state = make_card_action(card), cache.reload(card.thread_id)
    orders = set()
    for names in permutations(action["moves"]):
        shuffled = action | {"moves": {name: action["moves"][name] for name in names}}
        buttons = make_card_view(shuffled, state)["buttons"]
        orders.add(tuple(button["transition"] for button in buttons))
    assert orders == {("decline", "withdraw", "counter", "accept")}
    assert buttons[-1]["tone"] == "primary"


@pytest.mark.parametrize("type_name", sorted(TYPES))
def test_the_main_button_is_last_on_every_card(type_name, leg):
    card = propose(type_name, leg)
    view = make_card_view(make_card_action(card), cache.reload(card.thread_id))
    tones = [bool(button["tone"]) for button in view["buttons"]]
    assert tones == sorted(tones)


def test_the_actions_tab_counts_what_is_open(leg, client):
    propose("reschedule", leg)
    client.force_login(leg.buyer)
    address = reverse("projects:panel_tab", args=[leg.thread_id, "actions"])
    page = client.get(address).content.decode()
    shown = re.search(r"data-tab-count>(\d+)<", page)[1]
    # The script copies this into the badge. Besides the card, two signatures are missing.
    assert re.search(r'data-open="(\d+)"', page)[1] == shown == "3"


def test_the_form_for_proofs_says_in_which_zone_its_times_are(leg, client):
    client.force_login(leg.seller)
    page = client.get(reverse("projects:card_new", args=[leg.thread_id, "proofs"]))
    assert "Times are in Lisbon" in page.content.decode()


@pytest.fixture
def two_legs(thread, buyer, seller):
    """The same service twice, in two places on earth."""
    first = book(thread, buyer, seller, in_week(1))
    second = book(thread, buyer, seller, in_week(3, time_zone="Asia/Tokyo"))
    return first, second


def test_bookings_of_the_same_name_can_be_told_apart(two_legs, client):
    first, second = two_legs
    client.force_login(first.seller)
    for name, args in (
        ("projects:card_new", [first.thread_id, "reschedule"]),
        ("projects:deliver", [first.thread_id]),
    ):
        page = client.get(reverse(name, args=args)).content.decode()
        labels = [re.search(f'value="{leg.id}"[^>]*>([^<]*)<', page)[1] for leg in two_legs]
        assert labels[0] != labels[1], name
        assert "21 May 2027, 10:00" in labels[0]
        # 09:00 UTC, as the clocks say where it takes place.
        assert "4 Jun 2027, 18:00" in labels[1]


def test_a_form_follows_the_booking_that_is_chosen(two_legs, client):
    first, second = two_legs
    client.force_login(first.seller)
    address = reverse("projects:card_new", args=[first.thread_id, "reschedule"])
    page = client.get(address, {"leg": second.id}).content.decode()
    assert "Times are in Tokyo" in page
    assert "2027-06-04T18:00" in page


def test_what_was_filled_in_for_one_booking_is_not_proposed_for_another(two_legs, client):
    first, second = two_legs
    client.force_login(first.seller)
    address = reverse("projects:card_new", args=[first.thread_id, "reschedule"])
    fields = posted("reschedule", first) | {
        "leg": second.id,
        "shown_leg": first.id,
        "reason": "Rain",
    }
    answer = client.post(address, fields)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert not Card.objects.filter(type="reschedule").exists()
    assert "Times are in Tokyo" in page
    assert "2027-06-04T18:00" in page
    assert "Rain" in page
    assert f'name="shown_leg" value="{second.id}"' in page


def test_a_form_offers_no_booking_that_is_over(two_legs, client):
    first, second = two_legs
    Leg.objects.filter(pk=first.pk).update(status="cancelled")
    client.force_login(first.seller)
    page = client.get(reverse("projects:card_new", args=[first.thread_id, "reschedule"]))
    assert "Times are in Tokyo" in page.content.decode()
    assert f'value="{first.id}"' not in page.content.decode()
