"""Reports: what they keep, what they open or join, who may."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client

from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from moderation.actions import resolve_case
from moderation.models import Case, Report
from moderation.reports import report_person
from tests.moderation.conftest import BACKEND, make_person, report, taken
from tests.threads.conftest import add_friend, row, say, start, thread_item
from threads import outbox_handlers
from threads.actions.revisions import edit_message

pytestmark = pytest.mark.storage


def test_keeps_the_message_and_its_context_as_it_was(thread, buyer, seller):
    before = [say(buyer, thread, f"Line {number}") for number in range(8)]
    bad = say(seller, thread, "You fool")
    say(buyer, thread, "Excuse me?")
    case = report(buyer, thread, bad.id, reason="harassment", comment="He insults me")
    edit_message(seller, thread_id=thread, message_id=bad.id, body="You are so cool")

    (kept,) = case.reports.all()
    assert (case.about, case.thread_id, case.person, case.status) == (
        "message",
        thread,
        seller,
        "new",
    )
    assert (kept.reporter, kept.reason, kept.comment) == (buyer, "harassment", "He insults me")
    texts = [message["body"] for message in kept.evidence["messages"]]
    assert texts == [*(one.body for one in before[-5:]), "You fool", "Excuse me?"]
    assert kept.evidence["about"] == bad.id


def test_hides_nothing_and_tells_nobody(thread, buyer, seller, delivered):
    said = say(seller, thread, "You fool")
    delivered.clear()
    report(buyer, thread, said.id)
    assert delivered == []
    client = Client()
    client.force_login(buyer, backend=BACKEND)
    assert "You fool" in client.get(f"/threads/{thread}/").content.decode()


def test_a_second_report_joins_the_open_case_and_raises_its_priority(thread, buyer, seller):
    first = report(buyer, thread, reason="spam")
    assert first.priority == Case.Priority.LOW
    second = report(seller, thread, reason="danger")
    assert second == first
    assert Case.objects.get(pk=first.pk).priority == Case.Priority.HIGH
    assert first.reports.count() == 2


def test_the_same_report_again_is_one(thread, buyer):
    one = report(buyer, thread)
    assert report(buyer, thread) == one
    assert one.reports.count() == 1


def test_after_it_is_resolved_a_new_case_opens(thread, buyer, moderator):
    first = report(buyer, thread)
    resolve_case(moderator, case_id=taken(moderator, first).id, reason="Nothing in it")
    assert report(buyer, thread) != first


@pytest.mark.django_db(transaction=True)
def test_of_two_at_once_one_opens_and_the_other_joins(person):
    buyer, seller = person("Bea"), person("Sam")
    thread = start(buyer, seller)

    def tell(reporter):
        try:
            return report(reporter, thread).id
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(tell, [buyer, seller])
    assert one == other
    assert Report.objects.filter(case_id=one).count() == 2


def test_a_stranger_cannot_report_what_they_cannot_see(thread, stranger):
    with pytest.raises(Refusal) as refusal:
        report(stranger, thread)
    assert refusal.value.code == "THREAD_NOT_FOUND"
    assert not Case.objects.filter(thread_id=thread).exists()


def test_who_came_later_reports_no_more_than_they_see(thread, buyer, stranger):
    early = say(buyer, thread, "Before you came")
    add_friend(buyer, thread_id=thread, user=stranger)
    said = say(buyer, thread, "Hello")
    case = report(stranger, thread, said.id)
    assert "Before you came" not in str(case.reports.get().evidence)
    with pytest.raises(Refusal):
        report(stranger, thread, early.id)


def test_a_profile_is_reported_as_it_reads(buyer, seller):
    seller.about = "Write to me elsewhere"
    seller.save()
    case = report_person(buyer, person=seller, reason="off_site", comment="")
    assert case.person == seller
    assert case.reports.get().evidence["profile"]["about"] == "Write to me elsewhere"
    assert report_person(buyer, person=seller, reason="fraud", comment="") == case
    with pytest.raises(Refusal):
        report_person(buyer, person=buyer, reason="fraud", comment="")


def test_what_the_service_notices_becomes_a_case_once_and_holds_its_author(thread, buyer):
    payload = {
        "about": "circumvention",
        "thread": thread,
        "person": buyer.id,
        "reason": "off_site",
        "hold": "Contact details",
        "shown": {"text": "Call me", "reasons": ["a telephone number"]},
    }
    entry = OutboxEntry.objects.create(kind="case", payload=payload)
    for _ in range(2):
        # A crash after the case was opened: the entry still says what it said.
        OutboxEntry.objects.filter(pk=entry.pk).update(payload=payload, done_at=None)
        entry.refresh_from_db()
        assert outbox_handlers.process_entry(entry)
    case = Case.objects.get(thread_id=thread)
    assert case.reports.count() == 1
    assert row(thread, buyer).sending_hold == {"reason": "Contact details", "case": case.id}
    assert thread_item(thread).soft_block is None
    assert OutboxEntry.objects.get(pk=entry.pk).payload == {"case": case.id}


def test_the_form_asks_for_a_reason_and_thanks(thread, buyer, seller):
    client = Client()
    client.force_login(buyer, backend=BACKEND)
    address = f"/threads/{thread}/report/"
    assert seller.display_name in client.get(address).content.decode()
    assert client.post(address, {"reason": "", "comment": "Hm"}).status_code == 400
    done = client.post(address, {"reason": "spam", "comment": "Hm"}, follow=True)
    assert "Thank you" in done.content.decode()
    assert Case.objects.get(thread_id=thread).reports.get().reporter == buyer


def test_nobody_is_told_who_reported(thread, buyer, seller):
    report(buyer, thread, comment="A secret of mine")
    client = Client()
    client.force_login(seller, backend=BACKEND)
    for page in (f"/threads/{thread}/", f"/threads/{thread}/report/", "/inbox/"):
        assert "A secret of mine" not in client.get(page).content.decode()
    assert make_person("Else").cases.count() == 0
