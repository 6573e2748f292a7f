"""What staff do with cases: taking, annotating, resolving and reopening them."""

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from contracts.cards import deadlines
from core.outbox.models import OutboxEntry
from core.outbox.processing import process_now
from core.refusals import Refusal
from files.models import File
from moderation.audit import record
from moderation.models import Case, CaseNote
from moderation.queries import (
    TAKE_CASE_FIRST,
    access_case,
    access_file,
    find_open_duplicate,
    get_case,
    is_on_hold,
    list_cards,
    read_thread,
)
from moderation.report_answers import answer_reports, publish_answers


def take_case(staff: User, *, case_id: str) -> Case:
    """Assigns the case to `staff`; the audit records the previous assignee."""
    case = get_case(case_id)
    before = case.assignee_id or ""
    record(staff, "case.take", case_id=case.id, before=before)
    unchanged = Q(assignee_id=case.assignee_id) & ~Q(status=Case.Status.RESOLVED)
    taken = Case.objects.filter(unchanged, pk=case.pk).update(
        assignee=staff, status=Case.Status.ASSIGNED
    )
    if not taken:
        raise Refusal("ACTION_FORBIDDEN", "This case was resolved or taken by someone else.")
    return get_case(case_id)


def add_note(staff: User, *, case_id: str, text: str) -> CaseNote:
    case = access_case(staff, case_id)
    record(staff, "case.note", case_id=case.id)
    return CaseNote.objects.create(case=case, author=staff, text=text)


def resolve_case(
    staff: User, *, case_id: str, reason: str, answers: Mapping[int, str] | None = None
) -> None:
    """`answers` are shown to the reporters, by report id; `reason` is for staff only."""
    case = access_case(staff, case_id)
    if is_on_hold(case):
        raise Refusal(
            "ACTION_INVALID_STATE",
            "The conversation is still on hold.",
            hint="Lift the hold first. It can't be lifted once the case is closed.",
        )
    if list_cards(case):
        raise Refusal(
            "ACTION_INVALID_STATE",
            "A card in this conversation still needs a decision.",
            hint="Decide it first. It can't be decided once the case is closed.",
        )
    record(staff, "case.resolve", case_id=case.id, reason=reason)
    with transaction.atomic():
        _close(staff, case, reason)
        reporters = answer_reports(case, answers or {})
        entries = deadlines.resume_deadlines(case.thread_id, deadlines.CASE)
        entries += _release_holds(case)
    process_now(entries)
    publish_answers(reporters)


def _release_holds(case: Case) -> list[OutboxEntry]:
    """Lifts the sending holds placed under the case."""
    if not case.thread_id:
        return []
    return [OutboxEntry.objects.create(kind="hold_release", payload={"case": case.id})]


def _close(staff: User, case: Case, reason: str) -> None:
    """Locks the case, so that a concurrent report waits and then opens another case."""
    mine = Case.objects.select_for_update().filter(pk=case.pk, assignee=staff)
    locked = mine.exclude(status=Case.Status.RESOLVED).first()
    if locked is None:
        raise Refusal("ACTION_FORBIDDEN", TAKE_CASE_FIRST)
    locked.status, locked.resolved_at, locked.outcome = (
        Case.Status.RESOLVED,
        timezone.now(),
        reason,
    )
    locked.save(update_fields=["status", "resolved_at", "outcome"])


def reopen_case(staff: User, *, case_id: str, reason: str) -> None:
    """Assigns the reopened case to `staff`; evidence and actions are available again."""
    case = get_case(case_id)
    _check_can_reopen(case)
    record(staff, "case.reopen", case_id=case.id, reason=reason, outcome=case.outcome)
    try:
        with transaction.atomic():
            reopened = Case.objects.filter(pk=case.pk, status=Case.Status.RESOLVED).update(
                status=Case.Status.ASSIGNED, assignee=staff, resolved_at=None
            )
            entries = (
                deadlines.pause_deadlines(case.thread_id, deadlines.CASE)
                if reopened and case.thread_id
                else []
            )
    except IntegrityError:
        reopened = 0
    if not reopened:
        _check_can_reopen(get_case(case_id))
        raise Refusal("TRY_AGAIN")
    process_now(entries)


def _check_can_reopen(case: Case) -> None:
    if case.is_open:
        raise Refusal("ACTION_INVALID_STATE", "This case is already open.")
    duplicate = find_open_duplicate(case)
    if duplicate is not None:
        raise Refusal(
            "ACTION_INVALID_STATE",
            f"There is a newer open case about this: {duplicate.id}.",
            hint="Continue in that case.",
        )


def record_view(
    staff: User, case: Case, *, what: str = "case.look", reason: str = "", **details: Any
) -> None:
    """Records that staff are about to see evidence; called before anything is shown."""
    record(staff, what, case_id=case.id, target=case.thread_id, reason=reason, **details)


def read_more(
    staff: User, *, case_id: str, reason: str, before: str = ""
) -> tuple[Case, list[dict[str, Any]]]:
    """Reads more of the thread than was reported; the reason is recorded."""
    case = access_case(staff, case_id)
    if not case.thread_id:
        raise Refusal("ACTION_FORBIDDEN", "This case isn't about a conversation.")
    record_view(staff, case, what="thread.read", reason=reason, before=before)
    return case, read_thread(case, before)


def read_records(staff: User, *, case_id: str, reason: str) -> None:
    """Lets the assignee see the booking's records in the case; the reason is recorded."""
    case = access_case(staff, case_id)
    if not case.thread_id:
        raise Refusal("ACTION_INVALID_STATE", "This case isn't about a conversation.")
    record_view(staff, case, what="records.read", reason=reason)


def view_file(staff: User, *, case_id: str, file_id: str) -> File:
    case, file = access_file(staff, case_id, file_id)
    record(staff, "file.look", case_id=case.id, target=file.id)
    return file
