"""Account deletion: refusals, immediate sign-out, and anonymisation of all data."""

import io
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Block, SignIn, User
from accounts.sign_in.sessions import is_signed_in
from contracts.models import Leg, Receipt, Signature
from contracts.models.bookings import WITHDRAWN
from core.outbox.models import OutboxEntry
from core.outbox.processing import process_due
from core.refusals import Refusal
from files.actions import accept_file
from files.exports import request_export
from files.models import Export, File
from inbox.models import IndexedMessage
from inbox.search.index import index_thread
from inbox.search.indexer import index_queued
from privacy.actions import delete_account
from tests.contracts import crash_points
from tests.contracts.conftest import book, offer_in, pay, sign, terms
from tests.outbox.timing import make_due
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, make_person, messages_of, row, say, start
from threads import cache
from threads.actions.blocks import block_person
from threads.actions.drafts import save_draft
from threads.actions.participants import leave_thread
from threads.actions.staff import lock_thread, soft_block_thread
from threads.archive.archiver import archive_thread
from threads.dynamodb import keys
from threads.dynamodb.table import query_all
from threads.queries import open_thread

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
pytestmark = pytest.mark.django_db


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


def relay() -> None:
    make_due()
    while process_due():
        pass
    assert not OutboxEntry.objects.filter(done_at=None).exists()


def finish_and_pay(leg: Leg) -> Leg:
    """Makes a booking finished and paid."""
    pay(leg)
    past = timezone.now() - timedelta(days=2)
    Leg.objects.filter(pk=leg.pk).update(starts_at=past, ends_at=past + timedelta(hours=1))
    return leg


def everything_of(thread: str) -> str:
    items = query_all(keys.thread_pk(thread))
    return " ".join(str(item.serialize()) for item in items)


def test_the_other_participant_keeps_the_thread_without_the_name(buyer, seller, thread, delivered):
    say(seller, thread, "I am free in May")
    delete_account(seller)
    relay()
    opened = open_thread(buyer, thread)
    bodies = next(one for one in opened.messages if one.body == "I am free in May")
    assert opened.cached.get_person(bodies.author_id)["name"] == "Deleted person"
    assert seller.handle not in everything_of(thread)
    assert "Sam" not in everything_of(thread)
    assert row(thread, buyer).other_side["name"] == "Deleted person"
    assert list(cache.reload(thread).people) == [buyer.id]
    assert_consistent(thread)
    assert delivered.to(buyer, "thread.changed")


def test_system_messages_no_longer_name_a_deleted_user(buyer, seller, thread, person):
    """Archived system messages are changed too; text written by users is not."""
    guest = person("Gus_tav")
    seller.display_name = "May"
    seller.save()
    for actor in (buyer, seller):
        add_friend(actor, thread_id=thread, user=guest)
        say(guest, thread, "Hello from me")
        leave_thread(guest, thread_id=thread)
    index_thread(thread)
    leg = book(thread, buyer, seller, terms(service="Portraits in May"))
    sign(seller, leg)
    say(buyer, thread, "See you in May")
    archive_thread(thread, since="2020-01-01", before=timezone.now())
    finish_and_pay(leg)
    delete_account(seller)
    relay()
    bodies = [one.body for one in messages_of(thread) if one.type == "system"]
    assert not [body for body in bodies if body.startswith("May ")]
    assert any(
        body.startswith("Deleted person signed the contract: Portraits in") for body in bodies
    )
    assert [one.body for one in messages_of(thread) if one.author_id][-1] == "See you in May"
    assert row(thread, buyer).last_message["text"].startswith("Deleted person left.")
    delete_account(guest)
    relay()
    assert "Gus" not in everything_of(thread)
    entries = OutboxEntry.objects.filter(kind="deletion")
    assert [list(entry.payload) for entry in entries] == [["user"], ["user"]]
    assert_consistent(thread)


@pytest.mark.storage
def test_personal_data_is_deleted(buyer, seller, thread, person):
    other = person("Mia")
    block_person(seller, blocked=other)
    save_draft(seller, thread_id=thread, text="Not sent", version=0)
    unsent = accept_file(seller, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))
    request_export(seller, about="All")
    client = signed_in(seller)
    delete_account(seller)
    relay()
    deleted = User.objects.get(pk=seller.pk)
    assert (deleted.display_name, deleted.is_active) == ("Deleted person", False)
    assert not deleted.has_usable_password()
    assert seller.handle not in (deleted.handle, deleted.email)
    assert deleted.email != seller.email
    assert list(query_all(keys.user_pk(seller.id))) == []
    assert not Block.objects.filter(blocker=seller).exists()
    assert not SignIn.objects.filter(user=seller).exists()
    assert not File.objects.filter(pk=unsent.pk).exists()
    assert not Export.objects.filter(owner=seller).exists()
    assert client.get("/inbox/").status_code == 302
    # The email address can sign up again as a new account.
    User.objects.create_user(seller.email, "a long password", handle="again", display_name="Sam")


@pytest.mark.parametrize("status", ["completed", "cancelled"])
def test_a_user_with_an_outstanding_balance_cannot_be_deleted(buyer, seller, thread, status):
    leg = book(thread, buyer, seller)
    Leg.objects.filter(pk=leg.pk).update(status=status)
    with pytest.raises(Refusal, match="DELETION_REFUSED"):
        delete_account(buyer)
    delete_account(seller)
    relay()


@pytest.mark.storage
def test_contracts_receipts_and_signatures_are_unchanged(buyer, seller, thread):
    leg = book(thread, buyer, seller)
    sign(buyer, leg)
    sign(seller, leg)
    finish_and_pay(leg)
    names = set(Signature.objects.values_list("legal_name", flat=True))
    delete_account(seller)
    relay()
    assert set(Signature.objects.values_list("legal_name", flat=True)) == names
    assert Receipt.objects.get(leg=leg).seller_name == "Sam"
    client = signed_in(buyer)
    assert client.get(reverse("projects:contract", args=[leg.contract.id])).status_code == 200
    assert client.get(reverse("threads:thread", args=[thread])).status_code == 200


def test_open_bookings_and_holds_refuse_with_a_reason(buyer, seller, thread, person):
    leg = book(thread, buyer, seller)
    with pytest.raises(Refusal, match="hasn't taken place yet"):
        delete_account(seller)
    Leg.objects.filter(pk=leg.pk).update(status="on_hold")
    with pytest.raises(Refusal, match="on hold"):
        delete_account(buyer)
    past = timezone.now() - timedelta(days=2)
    Leg.objects.filter(pk=leg.pk).update(
        status="booked", starts_at=past, ends_at=past + timedelta(hours=1)
    )
    with pytest.raises(Refusal, match="has an outstanding balance"):
        delete_account(buyer)
    finish_and_pay(leg)
    soft_block_thread(thread_id=thread, reason="Contact details", case_id="case_1")
    with pytest.raises(Refusal, match="One of your conversations is on hold"):
        delete_account(buyer)
    assert User.objects.get(pk=buyer.pk).is_active


@pytest.mark.storage
def test_open_offers_are_withdrawn(buyer, seller, thread):
    offer = offer_in(thread, seller)
    delete_account(seller)
    relay()
    offer.refresh_from_db()
    assert offer.status == WITHDRAWN


def test_a_locked_thread_stays_and_loses_the_name(buyer, seller, thread):
    lock_thread(thread_id=thread, reason="Keep calm.")
    delete_account(seller)
    relay()
    assert open_thread(buyer, thread).cached.get_person(seller.id)["name"] == "Deleted person"
    assert seller.handle not in everything_of(thread)


def test_the_name_is_removed_from_threads_the_user_left(buyer, seller, thread, person):
    guest = person("Gus")
    add_friend(buyer, thread_id=thread, user=guest)
    say(guest, thread, "Hello from me")
    leave_thread(guest, thread_id=thread)
    index_thread(thread)
    delete_account(guest)
    relay()
    assert open_thread(buyer, thread).cached.get_person(guest.id)["name"] == "Deleted person"
    index_queued()
    assert not IndexedMessage.objects.filter(author_id=guest.id, author__contains="gus").exists()


@pytest.mark.storage
def test_deletion_is_idempotent(buyer, seller, thread):
    delete_account(seller)
    relay()
    lines = len(messages_of(thread))
    delete_account(User.objects.get(pk=seller.pk))
    OutboxEntry.objects.filter(kind="deletion").update(done_at=None)
    relay()
    assert len(messages_of(thread)) == lines


def test_the_page_requires_the_password_and_signs_out_all_sessions(buyer, seller, thread):
    client, other_client = signed_in(seller), signed_in(seller)
    other_session = other_client.session.session_key
    url = reverse("privacy:delete_account")
    assert "This can't be undone." in client.get(url).text
    wrong = client.post(url, {"password": "a wrong password"})
    assert "Incorrect password." in wrong.text
    assert User.objects.get(pk=seller.pk).is_active
    done = client.post(url, {"password": "a long password"}, follow=True)
    assert "Your account has been deleted." in done.text
    assert not is_signed_in(other_session, seller.id)
    assert other_client.get("/inbox/").status_code == 302
    assert client.get("/inbox/").status_code == 302


def test_the_page_shows_why_deletion_is_refused(buyer, seller, thread):
    book(thread, buyer, seller)
    client = signed_in(seller)
    page = client.get(reverse("privacy:delete_account"))
    assert "taken place yet" in page.text
    assert 'name="password"' not in page.text
    answer = client.post(reverse("privacy:delete_account"), {"password": "a long password"})
    assert answer.status_code == 409
    assert User.objects.get(pk=seller.pk).is_active


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_deletion_completes_when_killed_at_every_step():
    for step in crash_points.list_steps():
        buyer, seller = make_person("Bea"), make_person("Sam")
        threads = [start(buyer, seller), start(seller, make_person("Mia"))]
        relay()

        def act(seller: User = seller) -> None:
            delete_account(seller)
            while process_due():
                pass

        is_done = crash_points.survives(step, act)
        for thread in threads:
            cache.invalidate(thread)
        now = User.objects.get(pk=seller.pk)
        if now.deleted_at is None:
            # The deletion was not committed, so the account can still sign in and try again.
            assert now.check_password("a long password")
            delete_account(now)
        relay()
        for thread in threads:
            assert seller.handle not in everything_of(thread)
            assert seller.id not in cache.reload(thread).people
            assert_consistent(thread)
        assert list(query_all(keys.user_pk(seller.id))) == []
        if is_done:
            assert step > 4
            return
    pytest.fail("no step survived")
