"""Limits of reports: bytes stored by each, and reports by one user about one case."""

import json

import pytest

from core.refusals import Refusal
from moderation.actions.reports import MAX_REPORTS_PER_CASE, report_thread
from moderation.evidence.limits import MAX_EVIDENCE_BYTES, limit_evidence
from moderation.models import Report
from tests.threads.conftest import say

pytestmark = pytest.mark.storage


def test_a_report_copies_a_limited_amount(thread, buyer, seller):
    sent = [say(buyer, thread, "字" * 8000) for _ in range(8)]
    case = report_thread(
        seller, thread_id=thread, message_id=sent[4].id, reason="spam", comment="Look"
    )
    shown = case.reports.get().evidence
    assert len(json.dumps(shown, ensure_ascii=False).encode()) <= MAX_EVIDENCE_BYTES
    assert sent[4].id in [message["id"] for message in shown["messages"]]
    assert shown["left_out"] > 0


def test_the_furthest_messages_are_omitted_and_the_others_are_complete():
    def shown(length):
        return {"about": "3", "messages": [{"id": f"{n}", "body": "a" * length} for n in range(6)]}

    assert limit_evidence(shown(20_000)) == shown(20_000)
    assert [each["id"] for each in limit_evidence(shown(40_000))["messages"]] == ["2", "3", "4"]


def test_the_reports_of_one_user_about_a_case_are_limited(thread, buyer, seller):
    for number in range(MAX_REPORTS_PER_CASE):
        case = report_thread(buyer, thread_id=thread, reason="spam", comment=f"{number}")
    with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
        report_thread(buyer, thread_id=thread, reason="spam", comment="One more")
    assert Report.objects.filter(case=case).count() == MAX_REPORTS_PER_CASE
    # A repeat is accepted, and so is a report by another user.
    assert report_thread(buyer, thread_id=thread, reason="spam", comment="3") == case
    assert report_thread(seller, thread_id=thread, reason="spam", comment="") == case
