"""A case stores a limited amount of evidence, each piece once, and every report."""

import importlib
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Sum
from django.urls import reverse

from core.outbox import processing
from core.outbox.models import OutboxEntry
from moderation.actions.reports import report_person
from moderation.evidence import storage
from moderation.evidence.limits import (
    MAX_EVIDENCE_BYTES,
    MAX_MESSAGE_BYTES,
    count_bytes,
    limit_evidence,
)
from moderation.evidence.storage import MAX_CASE_EVIDENCE_BYTES, MAX_REPORTER_EVIDENCE_BYTES
from moderation.export import export_case
from moderation.models import Report
from moderation.report_answers import list_reports
from tests.moderation.conftest import make_person, report, sign_in, taken
from tests.threads.conftest import say, start

pytestmark = pytest.mark.storage

LEFT_OUT = "has reached its limit"
SAME = "Same evidence as"


def page(staff, case) -> str:
    address = reverse("admin:moderation_case_change", args=[case.id])
    return sign_in(staff).get(address).content.decode()


def stored_bytes(case) -> int:
    return sum(count_bytes(each.evidence) for each in Report.objects.filter(case=case))


def notice(shown, **fields) -> Report:
    """Creates a report through the outbox."""
    payload = {"about": "circumvention", "reason": "off_site", "shown": shown} | fields
    entry = OutboxEntry.objects.create(kind="case", payload=payload)
    assert processing.process_entry(entry)
    return Report.objects.get(key=f"outbox {entry.pk}")


def text_of(length, letter="a") -> dict:
    return {"text": letter * length, "reasons": ["a telephone number"]}


@pytest.fixture
def small_case(monkeypatch):
    """Limits a case to the evidence of one report of a few messages."""
    monkeypatch.setattr(storage, "MAX_CASE_EVIDENCE_BYTES", 2000)
    monkeypatch.setattr(storage, "MAX_REPORTER_EVIDENCE_BYTES", 2000)


# --- One report


def test_earlier_bodies_of_the_reported_message_are_limited_oldest_first():
    earlier = [{"body": f"{number}" * 20_000, "since": "2026"} for number in range(9)]
    message = {"id": "m", "body": "字" * 8000, "earlier": earlier}
    beside = {"id": "n", "body": "Hello", "earlier": []}
    shown = limit_evidence({"about": "m", "messages": [message, beside]})
    kept = shown["messages"][0]
    assert kept["body"] == "字" * 8000
    assert [each["body"][0] for each in kept["earlier"]] == ["7", "8"]
    assert kept["earlier_left_out"] == 7
    assert count_bytes(kept) <= MAX_MESSAGE_BYTES
    assert [each["id"] for each in shown["messages"]] == ["m", "n"], "its context stays"
    assert "left_out" not in shown


def test_evidence_from_the_outbox_is_limited(thread, buyer):
    made = notice(text_of(MAX_EVIDENCE_BYTES, "字"), thread=thread, person=buyer.id)
    assert count_bytes(made.evidence) <= MAX_EVIDENCE_BYTES
    assert made.evidence["text"].startswith("字字")
    assert made.evidence["reasons"] == ["a telephone number"]
    assert made.evidence["text_left_out"] == MAX_EVIDENCE_BYTES - len(made.evidence["text"])
    messages = [{"id": f"{n}", "body": "a" * 8000, "earlier": []} for n in range(99)]
    made = notice({"about": "", "messages": messages}, thread=thread, person=buyer.id)
    assert count_bytes(made.evidence) <= MAX_EVIDENCE_BYTES
    assert made.evidence["messages"][-1]["id"] == "98"


def test_evidence_that_cannot_be_trimmed_is_omitted(thread, buyer):
    made = notice({"unknown": "a" * MAX_EVIDENCE_BYTES}, thread=thread, person=buyer.id)
    assert made.evidence == {"omitted": True}


# --- The whole case


def test_equal_evidence_is_stored_once(thread, buyer, seller, moderator):
    message = say(seller, thread, "You fool")
    case = report(buyer, thread, message.id, comment="He insults me")
    report(buyer, thread, message.id, comment="Still there")
    first, second = Report.objects.filter(case=case)
    assert (second.same_evidence_as, second.evidence_hash) == (first, first.evidence_hash)
    assert "messages" not in second.evidence
    assert second.evidence_bytes == 0
    text = page(moderator, taken(moderator, case))
    assert text.count("You fool") == 1
    assert text.count(SAME) == 1
    assert "Still there" in text
    archive = zipfile.ZipFile(export_case(moderator, case_id=case.id, reason="For the police"))
    one, other = (json.loads(archive.read(f"reports/{number}.json")) for number in (1, 2))
    assert one["evidence"]["messages"]
    assert other["same_evidence_as"] == "reports/1.json"
    assert one["evidence_sha256"] == other["evidence_sha256"]
    assert storage.hash_content(one["evidence"]) == one["evidence_sha256"]
    assert [each.subject for each in list_reports(buyer)] == [list_reports(buyer)[0].subject] * 2
    assert "A message in" in list_reports(buyer)[0].subject


def test_profiles_reported_by_many_are_stored_once(seller):
    for number in range(3):
        case = report_person(make_person(f"{number}"), person=seller, reason="spam", comment="")
    sizes = case.reports.values_list("evidence_bytes", flat=True)
    assert [size > 0 for size in sizes] == [True, False, False]


def test_another_case_stores_its_own_copy(buyer, seller):
    cases = [report(buyer, start(buyer, seller)) for _ in range(2)]
    assert Report.objects.filter(case__in=cases, same_evidence_as=None).count() == 2


def test_beyond_the_limit_a_report_is_stored_without_evidence(
    small_case, thread, buyer, seller, moderator
):
    first = say(seller, thread, "a" * 900)
    case = report(buyer, thread, first.id)
    last = [say(seller, thread, f"{number} " * 500) for number in range(3)][-1]
    report(buyer, thread, last.id, reason="danger", comment="He threatens me")
    made = Report.objects.last()
    assert (made.case, made.reporter, made.reason, made.comment, made.message_id) == (
        case,
        buyer,
        "danger",
        "He threatens me",
        last.id,
    )
    assert made.evidence["omitted"] is True
    assert made.evidence["thread"]["id"] == thread
    assert "messages" not in made.evidence
    assert storage.hash_content(made.evidence) == made.evidence_hash
    text = page(moderator, taken(moderator, case))
    assert text.count(LEFT_OUT) == 1
    assert "He threatens me" in text
    assert last.id in text
    archive = zipfile.ZipFile(export_case(moderator, case_id=case.id, reason="For the police"))
    assert json.loads(archive.read("reports/2.json"))["evidence"]["omitted"] is True
    assert [each.subject.split(" in ")[0] for each in list_reports(buyer)] == ["A message"] * 2


def test_evidence_that_does_not_fit_is_stored_without_its_context(
    small_case, thread, buyer, seller
):
    report(buyer, thread)
    messages = [say(seller, thread, f"{number}" * 500) for number in range(5)]
    case = report(buyer, thread, messages[2].id)
    made = Report.objects.last()
    assert messages[2].id in [each["id"] for each in made.evidence["messages"]]
    assert made.evidence["left_out"] > 0
    assert stored_bytes(case) <= 2000


def test_a_message_reported_without_a_copy_is_still_marked(
    small_case, thread, buyer, seller, moderator
):
    messages = [say(seller, thread, f"{number}" * 300) for number in range(2)]
    case = report(buyer, thread, messages[0].id)
    say(seller, thread, "b" * 900)
    report(buyer, thread, messages[1].id, comment="This, too")
    assert "omitted" in Report.objects.last().evidence
    assert page(moderator, taken(moderator, case)).count("is-reported") == 2


def test_a_reporter_and_a_case_are_limited_also_through_the_outbox(thread, buyer):
    size, made = MAX_EVIDENCE_BYTES - 1000, None
    reporters = [make_person(f"Reporter {number}") for number in range(5)]
    for number, reporter in enumerate(reporters * 3):
        # Each report is different and within the limit of one report.
        shown = text_of(size) | {"reasons": [f"{number}"]}
        made = notice(shown, thread=thread, person=buyer.id, reporter=reporter.id)
    case = made.case
    reports = case.reports.filter(evidence_bytes__gt=0)
    totals = reports.values_list("reporter").annotate(Sum("evidence_bytes"))
    assert all(total <= MAX_REPORTER_EVIDENCE_BYTES for _, total in totals.order_by("reporter"))
    stored = sum(count_bytes(each.evidence) for each in reports)
    assert stored == reports.aggregate(total=Sum("evidence_bytes"))["total"]
    assert MAX_CASE_EVIDENCE_BYTES * 3 // 4 < stored <= MAX_CASE_EVIDENCE_BYTES
    assert case.reports.count() == 15
    assert made.evidence == {"omitted": True}


@pytest.mark.django_db(transaction=True)
def test_concurrent_reports_stay_within_the_limit(person, small_case):
    buyer, seller = person("Bea"), person("Sam")
    thread = start(buyer, seller)
    messages = [say(seller, thread, f"{number}" * 900) for number in range(2)]

    def send_report(reporter, message):
        try:
            return report(reporter, thread, message.id)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        case, other = pool.map(send_report, [buyer, seller], messages)
    assert case == other
    assert sorted("omitted" in each.evidence for each in case.reports.all()) == [False, True]


def test_reports_of_earlier_releases_are_measured(thread, buyer):
    case = report(buyer, thread, comment="字")
    size = case.reports.get().evidence_bytes
    Report.objects.update(evidence_bytes=0)
    measure = importlib.import_module("moderation.migrations.0006_measure_evidence").measure
    measure(apps, None)
    assert case.reports.get().evidence_bytes == size > 0
