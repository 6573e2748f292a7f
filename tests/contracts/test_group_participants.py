"""Who may add and remove participants in a conversation shared by several parties."""

import pytest
from django.urls import reverse

from core.refusals import Refusal
from projects.actions.bookings import link_bookings
from tests.contracts.conftest import book
from tests.threads.conftest import befriend, make_person, messages_of, row, start
from threads import cache
from threads.actions.participants import add_participant, remove_participant
from threads.models import Participant
from threads.models.participant import ADMIN


@pytest.fixture
def rival(db):
    return make_person("Rita")


@pytest.fixture
def group_thread(buyer, seller, rival) -> str:
    legs = [book(start(buyer, each), buyer, each) for each in (seller, rival)]
    return link_bookings(buyer, title="The shoot", leg_ids=[leg.id for leg in legs]).thread_id


@pytest.fixture
def guest(buyer, seller):
    guest = make_person("Gil")
    befriend(buyer, guest)
    befriend(seller, guest)
    return guest


def refusal_code(action, *args, **kwargs) -> str:
    with pytest.raises(Refusal) as refusal:
        action(*args, **kwargs)
    return refusal.value.code


def test_no_party_of_a_booking_can_be_removed(group_thread, buyer, seller, rival):
    lines = len(messages_of(group_thread))
    for actor in (buyer, seller, rival):
        for party in (buyer, seller, rival):
            code = refusal_code(remove_participant, actor, thread_id=group_thread, user_id=party.id)
            assert code == "ACTION_FORBIDDEN"
    assert len(messages_of(group_thread)) == lines
    assert row(group_thread, rival) is not None


def test_only_the_buyer_adds_and_removes_in_a_booking_group(
    group_thread, buyer, seller, rival, guest
):
    for actor in (seller, rival):
        code = refusal_code(add_participant, actor, thread_id=group_thread, user=guest)
        assert code == "ACTION_FORBIDDEN"
    add_participant(buyer, thread_id=group_thread, user=guest)
    for actor in (seller, rival):
        code = refusal_code(remove_participant, actor, thread_id=group_thread, user_id=guest.id)
        assert code == "ACTION_FORBIDDEN"
    remove_participant(buyer, thread_id=group_thread, user_id=guest.id)
    assert row(group_thread, guest) is None


def test_a_seller_removes_only_participants_they_added(thread, buyer, seller, rival, guest):
    befriend(buyer, rival)
    add_participant(buyer, thread_id=thread, user=rival)
    add_participant(seller, thread_id=thread, user=guest)
    code = refusal_code(remove_participant, seller, thread_id=thread, user_id=rival.id)
    assert code == "ACTION_FORBIDDEN"
    remove_participant(seller, thread_id=thread, user_id=guest.id)
    assert row(thread, guest) is None
    assert row(thread, rival) is not None


def test_staff_in_a_conversation_are_not_removed_by_its_parties(thread, buyer, seller, guest):
    add_participant(buyer, thread_id=thread, user=guest)
    row(thread, guest).update([Participant.role.set(ADMIN)])
    cache.invalidate(thread)
    for actor in (buyer, seller):
        code = refusal_code(remove_participant, actor, thread_id=thread, user_id=guest.id)
        assert code == "ACTION_FORBIDDEN"


def test_the_page_offers_only_allowed_actions(client, group_thread, buyer, seller, guest):
    add_participant(buyer, thread_id=group_thread, user=guest)
    remove_url, add_url = (
        reverse(f"threads:{name}", args=[group_thread]) for name in ("remove", "add")
    )
    for user, can_manage in ((buyer, True), (seller, False)):
        client.force_login(user)
        page = client.get(reverse("threads:thread", args=[group_thread])).content.decode()
        assert (add_url in page) is can_manage
        # Only the guest can be removed.
        assert page.count(f'action="{remove_url}"') == int(can_manage)
