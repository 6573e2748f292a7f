"""Reports, which open a case or join an open one."""

from typing import Any

from django.db import IntegrityError, transaction

from accounts.models import User
from contracts.cards import deadlines
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from moderation.evidence import snapshots
from moderation.evidence.storage import copy_evidence, hash_content
from moderation.models import Case, Report

Reason = Report.Reason
PRIORITIES = {
    Reason.DANGER: Case.Priority.HIGH,
    Reason.FRAUD: Case.Priority.HIGH,
    Reason.SEXUAL: Case.Priority.HIGH,
    Reason.SPAM: Case.Priority.LOW,
}
# When two reports open the same case, the constraint rejects one, which retries and joins it.
MAX_ATTEMPTS = 3
# Per reporter, while the case is open.
MAX_REPORTS_PER_CASE = 10


def report_thread(
    reporter: User, *, thread_id: str, message_id: str = "", reason: str, comment: str
) -> Case:
    """Reports a message or a whole thread, by a participant. Hides nothing from the reporter."""
    check_rate_limit("report", reporter.id)
    shown = snapshots.collect_evidence(reporter, thread_id, message_id)
    return file_report(
        about=Case.About.MESSAGE if message_id else Case.About.THREAD,
        thread_id=thread_id,
        person_id=_find_reported_user(shown, reporter),
        reporter=reporter,
        reason=reason,
        comment=comment,
        message_id=message_id,
        shown=shown,
    )


def report_person(reporter: User, *, person: User, reason: str, comment: str) -> Case:
    if reporter == person:
        raise Refusal("ACTION_FORBIDDEN", "You can't report yourself.")
    check_rate_limit("report", reporter.id)
    fields = ("display_name", "handle", "headline", "about", "city", "avatar")
    return file_report(
        about=Case.About.PERSON,
        thread_id="",
        person_id=person.id,
        reporter=reporter,
        reason=reason,
        comment=comment,
        message_id="",
        shown={"profile": {name: getattr(person, name) for name in fields}},
    )


def _find_reported_user(shown: dict[str, Any], reporter: User) -> str | None:
    """The author of the reported message; for a thread of two, the other participant."""
    for message in shown["messages"]:
        if message["id"] == shown["about"]:
            return message["author"] or None
    others = [person["id"] for person in shown["people"] if person["id"] != reporter.id]
    return others[0] if len(others) == 1 and not shown["about"] else None


def file_report(
    *,
    about: str,
    thread_id: str,
    person_id: str | None,
    reporter: User | None,
    reason: str,
    comment: str,
    message_id: str,
    shown: dict[str, Any],
    key: str = "",
    is_urgent: bool = False,
) -> Case:
    content = [reporter.id if reporter else "", thread_id, person_id, message_id, reason, comment]
    default_priority = PRIORITIES.get(Reason(reason), Case.Priority.NORMAL)
    priority = Case.Priority.HIGH if is_urgent else default_priority
    existing = Report.objects.filter(key=key).select_related("case").first() if key else None
    if existing is not None:
        return existing.case
    for _ in range(MAX_ATTEMPTS):
        try:
            with transaction.atomic():
                case = _open_or_join(about, thread_id, person_id, priority)
                report_key = key or hash_content([case.id, *content])
                if not key and reporter:
                    _check_report_limit(case, reporter, report_key)
                if not Report.objects.filter(key=report_key).exists():
                    Report.objects.create(
                        key=report_key,
                        case=case,
                        reporter=reporter,
                        reason=reason,
                        comment=comment,
                        message_id=message_id,
                        **copy_evidence(case, reporter, shown),
                    )
                return case
        except IntegrityError:
            continue
    raise Refusal("TRY_AGAIN")


def _check_report_limit(case: Case, reporter: User, report_key: str) -> None:
    """Limits reports per reporter and case, because each copies evidence."""
    theirs = Report.objects.filter(case=case, reporter=reporter).exclude(key=report_key)
    if theirs.count() >= MAX_REPORTS_PER_CASE:
        raise Refusal(
            "ACTION_INVALID_STATE",
            f"You've already sent {MAX_REPORTS_PER_CASE} reports about this.",
            hint="Our safety team has them and will get back to you.",
        )


def _open_or_join(about: str, thread_id: str, person_id: str | None, priority: int) -> Case:
    same = {"thread_id": thread_id} if thread_id else {"thread_id": "", "person_id": person_id}
    still_open = Case.objects.select_for_update().exclude(status=Case.Status.RESOLVED)
    case = still_open.filter(**same).first()
    if case is None:
        if thread_id:
            # Deadlines are paused while staff review the thread.
            deadlines.pause_deadlines(thread_id, deadlines.CASE)
        return Case.objects.create(
            about=about, thread_id=thread_id, person_id=person_id, priority=priority
        )
    if priority < case.priority:
        Case.objects.filter(pk=case.pk).update(priority=priority)
    return case
