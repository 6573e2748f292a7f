"""The pages of every card type: proposing, viewing and answering, all without JavaScript."""

import re
from itertools import permutations
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from contracts.cards.types import TYPES
from contracts.models import Card, Leg
from projects.cards.rendering import make_card_action, make_card_view
from tests.contracts.card_helpers import (
    GIVEN,
    answer,
    later_cards,
    make_card_in_state,
    make_completable,
    propose,
    proposer_of,
    users_with_role,
)
from tests.contracts.conftest import book, in_week
from tests.files.conftest import picture
from threads import cache
from threads.actions.messages import send_message

pytestmark = pytest.mark.django_db


def form_fields(type_name, leg):
    """Returns the fields as the form posts them."""
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
    """Posts the form and confirms the review page where there is one."""
    fields = form_fields(type_name, leg)
    response = client.post(page, fields)
    if not TYPES[type_name].needs_review:
        return response
    assert (response.status_code, "Check before you send" in response.content.decode()) == (
        200,
        True,
    )
    hidden = re.findall(r'name="(reviewed|file_ids)" value="([^"]*)"', response.content.decode())
    fields.pop("files", None)
    return client.post(page, fields | dict(hidden))


# Offers have a form of their own: test_offer_cards.py.
@pytest.mark.parametrize("type_name", [name for name in TYPES if name != "offer"])
def test_each_type_is_proposed_by_a_form_and_shown_on_its_pages(type_name, leg, thread, client):
    proposer = proposer_of(type_name, leg)
    client.force_login(proposer)
    page = reverse("projects:card_new", args=[thread, type_name])
    if type_name == "complete":
        make_completable(leg)
    assert "data-card-form" in client.get(page).content.decode()
    assert send(client, page, type_name, leg).status_code == 302
    card = later_cards().get()
    assert send(client, page, type_name, leg).status_code == 302
    assert later_cards().count() == 1
    for address in (
        reverse("projects:card", args=[card.id]),
        reverse("threads:thread", args=[thread]),
        reverse("projects:panel_tab", args=[thread, "actions"]),
    ):
        assert card.id in client.get(address).content.decode()


@pytest.mark.parametrize("type_name", TYPES)
def test_each_transition_with_a_form_has_a_page(type_name, leg, client):
    kind = TYPES[type_name]
    card = make_card_in_state(kind.first, leg, type_name)
    for transition in kind.transitions:
        if not transition.label or kind.first not in transition.sources:
            continue
        client.force_login(users_with_role(transition.by, card)[0])
        shown = client.get(reverse("projects:card_transition", args=[card.id, transition.name]))
        assert shown.status_code == 200
        assert transition.label in shown.content.decode()


def test_a_missing_file_is_reported_in_the_form(leg, thread, client):
    client.force_login(leg.seller)
    page = reverse("projects:card_new", args=[thread, "expense"])
    fields = form_fields("expense", leg)
    del fields["files"]
    response = client.post(page, fields)
    assert response.status_code == 400
    assert "Add a file." in response.content.decode()
    assert not later_cards().exists()


def test_a_user_who_may_not_propose_a_type_gets_403(leg, thread, client):
    client.force_login(leg.buyer)
    page = reverse("projects:card_new", args=[thread, "extras"])
    assert client.get(page).status_code == 403


def test_an_accepted_time_has_a_calendar_link(leg, thread, client):
    client.force_login(leg.buyer)
    link = reverse("projects:calendar", args=[leg.id])
    card = propose("reschedule", leg, leg.seller)
    assert link not in action_card(client, thread)
    answer(leg.buyer, card, "accept")
    assert link in action_card(client, thread)


def action_card(client, thread):
    shown = client.get(reverse("threads:thread", args=[thread])).content.decode()
    return shown.rpartition("data-card=")[2].partition("message-foot")[0]


def test_button_order_does_not_depend_on_the_stored_order(leg):
    card = propose("reschedule", leg)
    action, cached = make_card_action(card), cache.reload(card.thread_id)
    orders = set()
    for names in permutations(action["moves"]):
        shuffled = action | {"moves": {name: action["moves"][name] for name in names}}
        buttons = make_card_view(shuffled, cached)["buttons"]
        orders.add(tuple(button["transition"] for button in buttons))
    assert orders == {("decline", "withdraw", "counter", "accept")}
    assert buttons[-1]["tone"] == "primary"


@pytest.mark.parametrize("type_name", sorted(TYPES))
def test_the_main_button_is_last_on_every_card(type_name, leg):
    card = propose(type_name, leg)
    view = make_card_view(make_card_action(card), cache.reload(card.thread_id))
    tones = [bool(button["tone"]) for button in view["buttons"]]
    assert tones == sorted(tones)


def test_the_actions_tab_counts_what_waits_for_its_viewer(leg, client):
    propose("reschedule", leg)
    client.force_login(leg.buyer)
    address = reverse("projects:panel_tab", args=[leg.thread_id, "actions"])
    page = client.get(address).content.decode()
    shown = re.search(r"data-tab-count>(\d+)<", page)[1]
    # The card and the buyer's own signature, but not the seller's.
    assert shown == "2"


def test_the_proofs_form_names_the_time_zone(leg, client):
    client.force_login(leg.seller)
    page = client.get(reverse("projects:card_new", args=[leg.thread_id, "proofs"]))
    assert "Times are in Lisbon" in page.content.decode()


@pytest.fixture
def two_legs(thread, buyer, seller):
    """The same service twice, in two time zones."""
    first = book(thread, buyer, seller, in_week(1))
    second = book(thread, buyer, seller, in_week(3, time_zone="Asia/Tokyo"))
    return first, second


def test_bookings_of_the_same_name_have_different_labels(two_legs, client):
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
        # 09:00 UTC in the time zone of the booking.
        assert "4 Jun 2027, 18:00" in labels[1]


def test_a_form_shows_the_time_of_the_chosen_booking(two_legs, client):
    first, second = two_legs
    client.force_login(first.seller)
    address = reverse("projects:card_new", args=[first.thread_id, "reschedule"])
    page = client.get(address, {"leg": second.id}).content.decode()
    assert "Times are in Tokyo" in page
    assert "2027-06-04T18:00" in page


def test_values_entered_for_one_booking_are_not_proposed_for_another(two_legs, client):
    first, second = two_legs
    client.force_login(first.seller)
    address = reverse("projects:card_new", args=[first.thread_id, "reschedule"])
    fields = form_fields("reschedule", first) | {
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


def test_a_form_does_not_offer_an_ended_booking(two_legs, client):
    first, second = two_legs
    Leg.objects.filter(pk=first.pk).update(status="cancelled")
    client.force_login(first.seller)
    page = client.get(reverse("projects:card_new", args=[first.thread_id, "reschedule"]))
    assert "Times are in Tokyo" in page.content.decode()
    assert f'value="{first.id}"' not in page.content.decode()


def hidden_messages(page: str) -> list[str]:
    return re.findall(r'<li class="message repeats-card".*?</li>', page, re.DOTALL)


def test_a_system_message_directly_below_its_card_is_not_shown(client, leg):
    answer(leg.buyer, propose("reschedule", leg, by=leg.seller), "decline")
    client.force_login(leg.buyer)
    page = client.get(f"/threads/{leg.thread_id}/").content.decode()
    assert "declined the new time" in hidden_messages(page)[-1]


def test_a_system_message_away_from_its_card_is_shown(client, leg):
    card = propose("reschedule", leg, by=leg.seller)
    send_message(leg.seller, thread_id=leg.thread_id, client_id=uuid4().hex, body="Or later?")
    answer(leg.buyer, card, "decline")
    client.force_login(leg.buyer)
    page = client.get(f"/threads/{leg.thread_id}/").content.decode()
    assert "declined the new time" in page
    assert not any("declined the new time" in each for each in hidden_messages(page))
