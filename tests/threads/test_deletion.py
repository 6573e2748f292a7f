"""Deleting an account: refused while something is open; at once for signing in; then all of it."""

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
pytestmark = [pytest.mark.storage, pytest.mark.django_db]


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


def relay() -> None:
    make_due()
    while process_due():
        pass
    assert not OutboxEntry.objects.filter(done_at=None).exists()


def over(leg: Leg) -> Leg:
    """Done and paid, some time ago."""
    pay(leg)
    past = timezone.now() - timedelta(days=2)
    Leg.objects.filter(pk=leg.pk).update(starts_at=past, ends_at=past + timedelta(hours=1))
    return leg


def everything_of(thread: str) -> str:
    items = query_all(keys.thread_pk(thread))
    return " ".join(str(item.serialize()) for item in items)


def test_the_other_side_keeps_the_conversation_without_the_name(buyer, seller, thread, delivered):
    say(seller, thread, "I am free in May")
    delete_account(seller)
    relay()
    opened = open_thread(buyer, thread)
    said = next(one for one in opened.messages if one.body == "I am free in May")
    assert opened.cached.get_person(said.author_id)["name"] == "Deleted person"
    assert seller.handle not in everything_of(thread)
    assert "Sam" not in everything_of(thread)
    assert row(thread, buyer).other_side["name"] == "Deleted person"
    assert list(cache.reload(thread).people) == [buyer.id]
    assert_consistent(thread)
    assert delivered.to(buyer, "thread.changed")


def test_what_the_service_has_said_of_them_no_longer_names_them(buyer, seller, thread, person):
    """Also in lines that are in the archive. What people typed stays as it was."""
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
    over(leg)
    delete_account(seller)
    relay()
    said = [one.body for one in messages_of(thread) if one.type == "system"]
    assert not [body for body in said if body.startswith("May ")]
    assert "Deleted person made an offer: Team portraits, EUR 1,200.00." in said
    assert any(body.startswith("Deleted person signed the contract: Portraits in") for body in said)
    assert [one.body for one in messages_of(thread) if one.author_id][-1] == "See you in May"
    assert row(thread, buyer).last_message["text"].startswith("Deleted person left.")
    delete_account(guest)
    relay()
    assert "Gus" not in everything_of(thread)
    carried = OutboxEntry.objects.filter(kind="deletion")
    assert [list(entry.payload) for entry in carried] == [["user"], ["user"]]
    assert_consistent(thread)


def test_what_we_know_of_them_is_gone(buyer, seller, thread, person):
    other = person("Mia")
    block_person(seller, blocked=other)
    save_draft(seller, thread_id=thread, text="Not sent", version=0)
    unsent = accept_file(seller, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))
    request_export(seller, about="All")
    client = signed_in(seller)
    delete_account(seller)
    relay()
    gone = User.objects.get(pk=seller.pk)
    assert (gone.display_name, gone.is_active) == ("Deleted person", False)
    assert not gone.has_usable_password()
    assert seller.handle not in (gone.handle, gone.email)
    assert gone.email != seller.email
    assert list(query_all(keys.user_pk(seller.id))) == []
    assert not Block.objects.filter(blocker=seller).exists()
    assert not SignIn.objects.filter(user=seller).exists()
    assert not File.objects.filter(pk=unsent.pk).exists()
    assert not Export.objects.filter(owner=seller).exists()
    assert client.get("/inbox/").status_code == 302
    # Whoever wants to come back comes as somebody new.
    User.objects.create_user(seller.email, "a long password", handle="again", display_name="Sam")


@pytest.mark.parametrize("status", ["completed", "cancelled"])
def test_whoever_still_owes_something_of_a_finished_booking_stays(buyer, seller, thread, status):
    leg = book(thread, buyer, seller)
    Leg.objects.filter(pk=leg.pk).update(status=status)
    with pytest.raises(Refusal, match="DELETION_REFUSED"):
        delete_account(buyer)
    delete_account(seller)
    relay()


def test_contracts_receipts_and_signatures_stay_as_they_were(buyer, seller, thread):
    leg = book(thread, buyer, seller)
    sign(buyer, leg)
    sign(seller, leg)
    over(leg)
    names = set(Signature.objects.values_list("legal_name", flat=True))
    delete_account(seller)
    relay()
    assert set(Signature.objects.values_list("legal_name", flat=True)) == names
    assert Receipt.objects.get(leg=leg).seller_name == "Sam"
    mine = signed_in(buyer)
    assert mine.get(reverse("projects:contract", args=[leg.contract.id])).status_code == 200
    assert mine.get(reverse("threads:thread", args=[thread])).status_code == 200


def test_open_bookings_and_holds_refuse_in_a_clear_sentence(buyer, seller, thread, person):
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
    over(leg)
    soft_block_thread(thread_id=thread, reason="Contact details", case_id="case_1")
    with pytest.raises(Refusal, match="One of your conversations is on hold"):
        delete_account(buyer)
    assert User.objects.get(pk=buyer.pk).is_active


def test_offers_that_wait_are_taken_back(buyer, seller, thread):
    offer = offer_in(thread, seller)
    delete_account(seller)
    relay()
    offer.refresh_from_db()
    assert offer.status == WITHDRAWN


def test_a_locked_conversation_stays_and_loses_the_name(buyer, seller, thread):
    lock_thread(thread_id=thread, reason="Keep calm.")
    delete_account(seller)
    relay()
    assert open_thread(buyer, thread).cached.get_person(seller.id)["name"] == "Deleted person"
    assert seller.handle not in everything_of(thread)


def test_where_they_left_long_ago_the_name_goes_too(buyer, seller, thread, person):
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


def test_done_twice_it_is_done_once(buyer, seller, thread):
    delete_account(seller)
    relay()
    lines = len(messages_of(thread))
    delete_account(User.objects.get(pk=seller.pk))
    OutboxEntry.objects.filter(kind="deletion").update(done_at=None)
    relay()
    assert len(messages_of(thread)) == lines


def test_the_page_asks_for_the_password_and_signs_out_everywhere(buyer, seller, thread):
    here, elsewhere = signed_in(seller), signed_in(seller)
    other_session = elsewhere.session.session_key
    url = reverse("privacy:delete_account")
    assert "This can't be undone." in here.get(url).text
    wrong = here.post(url, {"password": "a wrong password"})
    assert "Incorrect password." in wrong.text
    assert User.objects.get(pk=seller.pk).is_active
    done = here.post(url, {"password": "a long password"}, follow=True)
    assert "Your account has been deleted." in done.text
    assert not is_signed_in(other_session, seller.id)
    assert elsewhere.get("/inbox/").status_code == 302
    assert here.get("/inbox/").status_code == 302


def test_the_page_says_what_is_in_the_way(buyer, seller, thread):
    book(thread, buyer, seller)
    client = signed_in(seller)
    page = client.get(reverse("privacy:delete_account"))
    assert "taken place yet" in page.text
    assert 'name="password"' not in page.text
    answer = client.post(reverse("privacy:delete_account"), {"password": "a long password"})
    assert answer.status_code == 409
    assert User.objects.get(pk=seller.pk).is_active


@pytest.mark.django_db(transaction=True)
def test_killed_at_every_step_it_is_whole_in_the_end():
    for step in range(1, crash_points.MAX_STEPS):
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
            # Nothing was done, or next to it: they are still there, and may try again.
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
    pytest.fail("it never came to an end")
