"""Bookings are linked into a group only if none of its users has blocked another."""

import threading

import pytest
from django.db import connection, transaction

from accounts.blocks import lock_users
from contracts.models import BookingGroup, Leg
from core.refusals import Refusal
from projects.actions.bookings import link_bookings
from tests.contracts.conftest import book
from tests.threads.conftest import make_person, row, start
from threads.actions.blocks import block_person, unblock_person

pytestmark = pytest.mark.storage


@pytest.fixture
def rival(db):
    return make_person("Rita")


@pytest.fixture
def legs(buyer, seller, rival) -> list[Leg]:
    return [book(start(buyer, each), buyer, each) for each in (seller, rival)]


def link(buyer, legs) -> str:
    ids = [leg.id for leg in legs]
    return link_bookings(buyer, title="The shoot", leg_ids=ids).thread_id


@pytest.mark.parametrize(
    "way", ["seller blocks rival", "rival blocks seller", "rival blocks buyer"]
)
def test_users_with_a_block_between_them_are_not_linked(way, buyer, seller, rival, legs):
    users = {"seller": seller, "rival": rival, "buyer": buyer}
    blocker, _, blocked = way.split()
    block_person(users[blocker], blocked=users[blocked])
    with pytest.raises(Refusal) as refusal:
        link(buyer, legs)
    assert refusal.value.code == "ACTION_FORBIDDEN"
    # The refusal does not reveal who blocked whom.
    assert refusal.value.message == "These bookings can't share one conversation."
    assert not BookingGroup.objects.exists()
    assert not Leg.objects.exclude(group=None).exists()

    unblock_person(users[blocker], blocked=users[blocked])
    assert row(link(buyer, legs), rival) is not None


@pytest.mark.django_db(transaction=True)
def test_blocking_while_bookings_are_linked_is_serialised(buyer, seller, rival, legs):
    """Linking and blocking lock the same users, so one of them waits for the other."""
    started, done = threading.Event(), threading.Event()

    def block() -> None:
        started.set()
        block_person(seller, blocked=rival)
        done.set()
        connection.close()

    thread = threading.Thread(target=block)
    with transaction.atomic():
        lock_users([seller.id, rival.id])
        thread.start()
        started.wait()
        assert not done.wait(0.3)
    thread.join()
    with pytest.raises(Refusal):
        link(buyer, legs)
