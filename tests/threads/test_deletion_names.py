"""After an account deletion none of its present and former names is shown anywhere."""

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import change_profile
from accounts.models import User
from contracts.models import Receipt
from core.outbox.models import OutboxEntry
from core.outbox.processing import process_due
from inbox.models import IndexedMessage
from inbox.search.index import index_thread
from inbox.search.indexer import index_queued
from privacy.actions import delete_account
from projects.actions.bookings import deliver_finals
from tests.contracts.card_scenes import answer, propose
from tests.contracts.conftest import book, offer_in, sign
from tests.threads.checker import assert_consistent
from tests.threads.conftest import befriend, messages_of, row, say, start, thread_item
from tests.threads.test_deletion import BACKEND, everything_of, finish_and_pay, relay
from threads import cache
from threads.actions.participants import add_participant, leave_thread
from threads.actions.safe_mode import lift_safe_mode, require_safe_mode
from threads.actions.staff import lock_thread, unlock_thread
from threads.archive.archiver import archive_thread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import query_all
from threads.dynamodb.transactions import update
from threads.models import Message

pytestmark = [pytest.mark.storage, pytest.mark.django_db]

LISTING = f"{'0' * 64} 12 https://files.example/a.jpg a.jpg"
NAMES = ("Wilhelmina", "Xantippe", "Yolanda")


def rename(user: User, name: str) -> User:
    handle = f"{name.lower()}-{user.handle[-8:]}"
    values = {"display_name": name, "handle": handle, "city": "", "time_zone": "UTC"}
    changed = change_profile(user, headline="", about="", **values)
    relay()
    return changed


def assert_nameless(text: str) -> None:
    for name in NAMES:
        assert name.lower() not in text.lower()


def page(user: User, address: str) -> str:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get(address).content.decode()


def test_no_present_or_former_name_is_left(buyer, seller, thread, person):
    guest = person("Gus")
    befriend(seller, guest)
    seller = rename(seller, NAMES[0])
    add_participant(seller, thread_id=thread, user=guest)
    offer_in(thread, seller)
    seller = rename(seller, NAMES[1])
    require_safe_mode(seller, thread_id=thread)
    leg = book(thread, buyer, seller)
    sign(seller, leg)
    moved = propose("reschedule", leg, buyer)
    answer(seller, moved, "decline")
    extras = propose("extras", leg, seller)
    answer(seller, extras, "withdraw")
    archive_thread(thread, since="2020-01-01", before=timezone.now())
    seller = rename(seller, NAMES[2])
    lift_safe_mode(seller, thread_id=thread)
    index_thread(thread)
    finish_and_pay(leg)
    receipt = Receipt.objects.get(leg=leg)
    delete_account(seller)
    relay()
    index_queued()
    assert_nameless(everything_of(thread))
    assert_nameless(str([thread_item(thread).last_message, row(thread, buyer).serialize()]))
    for address in (
        f"/threads/{thread}/",
        "/inbox/",
        f"/cards/{moved.id}/",
        f"/cards/{extras.id}/",
    ):
        assert_nameless(page(buyer, address))
    indexed = IndexedMessage.objects.filter(thread_id=thread).values_list("folded", "author")
    assert_nameless(str(list(indexed)))
    assert_nameless(str(list(OutboxEntry.objects.values_list("payload", flat=True))))
    bodies = [one.body for one in messages_of(thread) if one.type == "system"]
    assert "Deleted person added Gus." in bodies
    assert any(body.startswith("Deleted person declined") for body in bodies)
    # Legal records keep the name.
    assert Receipt.objects.get(leg=leg).seller_name == receipt.seller_name == "Yolanda"
    assert_consistent(thread)


def test_another_user_with_the_same_name_keeps_it(buyer, seller, thread, person):
    twin, guest = person(NAMES[0]), person("Gus")
    seller = rename(seller, NAMES[0])
    for user in (twin, guest):
        befriend(seller, user)
        add_participant(seller, thread_id=thread, user=user)
    leave_thread(twin, thread_id=thread)
    delete_account(seller)
    relay()
    bodies = [one.body for one in messages_of(thread) if one.type == "system"]
    assert bodies[:3] == [
        f"Deleted person added {NAMES[0]}.",
        "Deleted person added Gus.",
        f"{NAMES[0]} left.",
    ]


def test_no_name_is_left_where_the_user_left_without_a_message(buyer, seller, thread, person):
    guest = rename(person("Gus"), NAMES[0])
    befriend(buyer, guest)
    add_participant(buyer, thread_id=thread, user=guest)
    leave_thread(guest, thread_id=thread)
    guest = rename(guest, NAMES[1])
    delete_account(guest)
    relay()
    assert_nameless(everything_of(thread))
    assert guest.handle not in everything_of(thread)
    assert list(query_all(keys.user_pk(guest.id))) == []


def test_no_name_is_left_where_the_user_was_only_invited(buyer, seller, thread, person):
    guest = rename(person("Gus"), NAMES[0])
    assert add_participant(buyer, thread_id=thread, user=guest) == "invited"
    assert NAMES[0] in everything_of(thread)
    delete_account(rename(guest, NAMES[1]))
    relay()
    assert_nameless(everything_of(thread))


def test_system_messages_without_stored_names_lose_the_name(buyer, seller, person):
    """System messages of an earlier version do not store which users they name."""
    thread, guest = start(buyer, seller), person("Gus")
    befriend(seller, guest)
    seller = rename(seller, NAMES[0])
    add_participant(seller, thread_id=thread, user=guest)
    require_safe_mode(seller, thread_id=thread)
    offer_in(thread, seller)
    say(buyer, thread, "Thank you")
    for message in messages_of(thread):
        update(message, Change(remove=("named",)), Message.pk.exists())
    cache.invalidate(thread)
    delete_account(rename(seller, NAMES[1]))
    relay()
    assert_nameless(everything_of(thread))


def test_an_announcement_postponed_by_a_lock_omits_the_name(buyer, seller, thread):
    seller = rename(seller, NAMES[0])
    leg = book(thread, buyer, seller)
    finish_and_pay(leg)
    lock_thread(thread_id=thread, reason="Threats.")
    deliver_finals(seller, leg_id=leg.id, key="1", title="Finals", listing=LISTING)
    delete_account(seller)
    while process_due():
        pass
    unlock_thread(thread_id=thread)
    relay()
    assert "Deleted person delivered 1 file: Finals." in [one.body for one in messages_of(thread)]
    assert_nameless(everything_of(thread))
