"""Reports: the stored evidence, the case they open or join, and permissions."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.test import Client

from core.outbox import processing
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from moderation.actions.cases import resolve_case
from moderation.actions.reports import report_person
from moderation.models import Case, Report
from tests.moderation.conftest import BACKEND, make_person, report, taken
from tests.threads.conftest import add_friend, row, say, start, thread_item
from threads.actions.revisions import edit_message

pytestmark = pytest.mark.storage


def test_a_report_stores_the_message_and_its_context_unchanged(thread, buyer, seller):
    before = [say(buyer, thread, f"Line {number}") for number in range(8)]
    reported = say(seller, thread, "You fool")
    say(buyer, thread, "Excuse me?")
    case = report(buyer, thread, reported.id, reason="harassment", comment="He insults me")
    edit_message(seller, thread_id=thread, message_id=reported.id, body="You are so cool")

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
    assert kept.evidence["about"] == reported.id


def test_a_report_hides_nothing_and_publishes_nothing(thread, buyer, seller, delivered):
    message = say(seller, thread, "You fool")
    delivered.clear()
    report(buyer, thread, message.id)
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


def test_a_repeated_report_is_stored_once(thread, buyer):
    one = report(buyer, thread)
    assert report(buyer, thread) == one
    assert one.reports.count() == 1


def test_a_report_after_the_resolution_opens_a_new_case(thread, buyer, moderator):
    first = report(buyer, thread)
    resolve_case(moderator, case_id=taken(moderator, first).id, reason="Nothing in it")
    assert report(buyer, thread) != first


@pytest.mark.django_db(transaction=True)
def test_of_two_concurrent_reports_one_opens_a_case_and_the_other_joins(person):
    buyer, seller = person("Bea"), person("Sam")
    thread = start(buyer, seller)

    def send_report(reporter):
        try:
            return report(reporter, thread).id
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(send_report, [buyer, seller])
    assert one == other
    assert Report.objects.filter(case_id=one).count() == 2


def test_a_stranger_cannot_report_what_they_cannot_see(thread, stranger):
    with pytest.raises(Refusal) as refusal:
        report(stranger, thread)
    assert refusal.value.code == "THREAD_NOT_FOUND"
    assert not Case.objects.filter(thread_id=thread).exists()


def test_a_participant_added_later_reports_only_visible_messages(thread, buyer, stranger):
    early = say(buyer, thread, "Before you came")
    add_friend(buyer, thread_id=thread, user=stranger)
    message = say(buyer, thread, "Hello")
    case = report(stranger, thread, message.id)
    assert "Before you came" not in str(case.reports.get().evidence)
    with pytest.raises(Refusal):
        report(stranger, thread, early.id)


def test_a_report_stores_the_profile_as_displayed(buyer, seller):
    seller.about = "Write to me elsewhere"
    seller.save()
    case = report_person(buyer, person=seller, reason="off_site", comment="")
    assert case.person == seller
    assert case.reports.get().evidence["profile"]["about"] == "Write to me elsewhere"
    assert report_person(buyer, person=seller, reason="fraud", comment="") == case
    with pytest.raises(Refusal):
        report_person(buyer, person=buyer, reason="fraud", comment="")


def test_a_detection_opens_one_case_and_holds_the_sending_of_its_author(thread, buyer):
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
        # After a crash once the case was opened, the entry still has its payload.
        OutboxEntry.objects.filter(pk=entry.pk).update(payload=payload, done_at=None)
        entry.refresh_from_db()
        assert processing.process_entry(entry)
    case = Case.objects.get(thread_id=thread)
    assert case.reports.count() == 1
    assert row(thread, buyer).sending_hold == {"reason": "Contact details", "case": case.id}
    assert thread_item(thread).soft_block is None
    assert OutboxEntry.objects.get(pk=entry.pk).payload == {"case": case.id}


def test_the_form_requires_a_reason_and_confirms(thread, buyer, seller):
    client = Client()
    client.force_login(buyer, backend=BACKEND)
    address = f"/threads/{thread}/report/"
    assert seller.display_name in client.get(address).content.decode()
    assert client.post(address, {"reason": "", "comment": "Hm"}).status_code == 400
    done = client.post(address, {"reason": "spam", "comment": "Hm"}, follow=True)
    assert "Thank you" in done.content.decode()
    assert Case.objects.get(thread_id=thread).reports.get().reporter == buyer


def test_the_reporter_is_not_revealed(thread, buyer, seller):
    report(buyer, thread, comment="A secret of mine")
    client = Client()
    client.force_login(seller, backend=BACKEND)
    for page in (f"/threads/{thread}/", f"/threads/{thread}/report/", "/inbox/"):
        assert "A secret of mine" not in client.get(page).content.decode()
    assert make_person("Else").cases.count() == 0
