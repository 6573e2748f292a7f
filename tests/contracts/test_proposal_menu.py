"""The menu of proposals: the same rule decides what it offers and what is refused."""

from itertools import product

import pytest
from django.urls import reverse

from contracts.cards.card_type import BUYER, PROPOSER, SELLER, BookingState
from contracts.cards.proposals import NO_BOOKING, check_can_propose, explain_unavailable
from contracts.cards.types import TYPES
from contracts.models import Leg
from contracts.models.bookings import LEG_STATES
from core.refusals import Refusal
from projects.panel.overview_view import list_booking_states
from tests.contracts.card_helpers import answer, propose
from tests.contracts.conftest import book, sign
from tests.threads.conftest import add_friend, make_person
from threads.cache import reload

READY = {"is_in_force": True, "has_ended": True}


def why_not(name, role, *states):
    return explain_unavailable(TYPES[name], role, list(states))


def test_every_type_has_a_description_and_those_for_parties_can_be_withdrawn():
    for kind in TYPES.values():
        assert kind.description, kind.name
        assert len(kind.description) <= 50
        if not kind.needs_staff:
            withdrawal = kind.find_transition("withdraw")
            assert withdrawal is not None, kind.name
            assert (withdrawal.by, kind.first in withdrawal.sources) == (PROPOSER, True)


def test_unavailable_types_say_why():
    booked = BookingState("booked", **READY)
    assert why_not("extras", SELLER, booked) == ""
    assert why_not("extras", BUYER, booked) == "Only the seller can propose this."
    assert why_not("extras", SELLER) == NO_BOOKING
    assert why_not("extras", SELLER, BookingState("cancelled")) == "This booking is cancelled."
    assert "on hold" in why_not("cancel", BUYER, BookingState("on_hold"))
    busy = BookingState("booked", frozenset({"cancel"}), **READY)
    assert why_not("cancel", BUYER, busy) == "There's already an open proposal of this kind."
    # One of several bookings is enough.
    assert why_not("cancel", BUYER, busy, booked) == ""
    assert "already signed" in why_not("sign", SELLER, booked)
    assert "signed" in why_not("complete", SELLER, BookingState("booked", has_ended=True))
    assert "ended" in why_not("complete", SELLER, BookingState("booked", is_in_force=True))
    approved = BookingState("booked", is_in_force=True, has_approved_proofs=True)
    assert why_not("complete", SELLER, approved) == ""


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("prepare", ["nothing", "signed", "open cards", "completed"])
def test_the_menu_and_the_check_agree(thread, buyer, seller, prepare):
    """What the snapshot offers, the check on the records allows, in every status."""
    leg = book(thread, buyer, seller)
    if prepare == "signed":
        sign(buyer, leg)
        sign(seller, leg)
    elif prepare == "open cards":
        propose("reschedule", leg)
        propose("proofs", leg)
    elif prepare == "completed":
        answer(buyer, propose("complete", leg), "accept")
    leg = Leg.objects.get(pk=leg.pk)
    (state,) = list_booking_states(reload(thread))
    assert state.status == leg.status
    for (name, kind), (user, role) in product(TYPES.items(), ((buyer, BUYER), (seller, SELLER))):
        try:
            check_can_propose(kind, user, leg)
            refusal = ""
        except Refusal as refused:
            refusal = refused.message
        reason = why_not(name, role, state)
        obstacle = kind.obstacle(state) if kind.obstacle else ""
        assert reason == (refusal or obstacle), name


def test_every_status_has_its_reason():
    for status in LEG_STATES:
        assert why_not("dispute", SELLER, BookingState(status))


@pytest.mark.django_db(transaction=True)
def test_the_page_lists_proposals_and_their_reasons_for_its_viewer(client, thread, buyer, seller):
    guest = make_person("Gus")
    add_friend(buyer, thread_id=thread, user=guest)
    book(thread, buyer, seller)
    html = {}
    for user in (buyer, seller, guest):
        client.force_login(user)
        html[user.id] = client.get(f"/threads/{thread}/").content.decode()
    assert "Only the seller can propose this." in html[buyer.id]
    assert "You haven&#x27;t both signed the contract yet." in html[seller.id]
    for user in (buyer, seller):
        menu = html[user.id].split('id="add-menu"')[1]
        url = reverse("projects:card_new", args=[thread, "cancel"])
        assert f'<a class="menu-item danger" href="{url}" data-card-dialog>' in menu
    assert 'id="add-propose"' not in html[guest.id]
    # Requests to staff are in the menu of the thread, not next to the composer.
    for user in (buyer, seller):
        menu = html[user.id].split('id="thread-menu"')[1].split("</dialog>")[0]
        assert "Get help from our safety team" in menu
        assert "Get help" not in html[user.id].split('id="add-menu"')[1]
    assert "Open a dispute" in html[buyer.id].split('id="thread-menu"')[1].split("</dialog>")[0]
    assert "Open a dispute" not in html[seller.id]
