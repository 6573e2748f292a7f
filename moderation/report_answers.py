"""Answers to reporters: stored with the report, and announced with a live event."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from accounts.models import User
from moderation.models import Case, Report
from realtime.broadcast.delivery import publish
from realtime.broadcast.events import ReportAnswered


@dataclass(frozen=True)
class ReportView:
    """A report as its reporter sees it, without details of the case."""

    subject: str
    reason: str
    created_at: datetime
    is_open: bool
    is_reopened: bool
    answer: str
    answered_at: datetime | None


def answer_reports(case: Case, answers: Mapping[int, str]) -> list[str]:
    """Must run in the transaction that resolves the case. Returns the ids of the reporters."""
    reports = case.reports.exclude(reporter=None)
    for report in reports:
        report.answer = answers.get(report.pk, Report.Answer.REVIEWED)
        report.answered_at = timezone.now()
        report.save(update_fields=["answer", "answered_at"])
    reporters = sorted({str(report.reporter_id) for report in reports})
    User.objects.filter(pk__in=reporters).update(has_new_report_answer=True)
    return reporters


def publish_answers(reporters: list[str]) -> None:
    """Publishes to each reporter separately that there is an answer, without its content."""
    if reporters:
        publish(ReportAnswered(type="report.answered"), to=reporters)


def list_reports(user: User) -> list[ReportView]:
    """The reports of a user, newest first."""
    found = Report.objects.filter(reporter=user).select_related("case__person").order_by("-id")
    return [_view(report) for report in found]


def mark_answers_read(user: User) -> None:
    if user.has_new_report_answer:
        User.objects.filter(pk=user.pk).update(has_new_report_answer=False)


def _view(report: Report) -> ReportView:
    return ReportView(
        subject=_describe_subject(report),
        reason=report.get_reason_display(),
        created_at=report.created_at,
        is_open=report.case.is_open,
        is_reopened=report.case.is_open and report.answered_at is not None,
        answer=report.answer_label,
        answered_at=report.answered_at,
    )


def _describe_subject(report: Report) -> str:
    """Taken from the report: the case may be about another user whom others reported."""
    if not report.case.thread_id:
        return f"{report.case.person}'s profile" if report.case.person else "A profile"
    subject = report.evidence.get("thread", {}).get("subject", "")
    if not subject:
        return "A conversation"
    quoted = f"“{subject}”"
    return f"A message in {quoted}" if report.message_id else f"The conversation {quoted}"
