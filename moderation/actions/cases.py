"""What staff do with cases: taking, annotating, resolving and reopening them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from contracts.cards import deadlines
from core.outbox.models import OutboxEntry
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
    list_people,
    read_thread,
)
from moderation.report_answers import answer_reports, publish_answers
from moderation.roles import RESTRICT, WORK
from projects.actions.cards import decide_card
from threads.actions import staff as in_thread
from threads.actions.holds import release_author
from threads.actions.suspensions import mute_person, restore_person, suspend_person
from threads.outbox_handlers import process_entries

MESSAGE, THREAD, PERSON, CARD = "message", "thread", "person", "card"
# A participant of the thread, whose sending is on hold there.
AUTHOR = "author"


@dataclass(frozen=True)
class CaseAction:
    # The type of its target.
    target: str
    permission: str
    run: Callable[..., None]


def _mute(person: User, days: int) -> None:
    mute_person(person, until=timezone.now() + timedelta(days=days))


CASE_ACTIONS: dict[str, CaseAction] = {
    "message.hide": CaseAction(MESSAGE, WORK, in_thread.hide_message),
    "message.unhide": CaseAction(MESSAGE, WORK, in_thread.unhide_message),
    "message.redact": CaseAction(MESSAGE, RESTRICT, in_thread.redact_message),
    "thread.lock": CaseAction(THREAD, RESTRICT, in_thread.lock_thread),
    "thread.unlock": CaseAction(THREAD, RESTRICT, in_thread.unlock_thread),
    "thread.hold": CaseAction(THREAD, RESTRICT, in_thread.soft_block_thread),
    "thread.lift_hold": CaseAction(THREAD, RESTRICT, in_thread.lift_soft_block),
    "card.decide": CaseAction(CARD, RESTRICT, decide_card),
    "person.mute": CaseAction(PERSON, RESTRICT, _mute),
    "person.unmute": CaseAction(PERSON, RESTRICT, lambda person: mute_person(person, until=None)),
    "person.release": CaseAction(AUTHOR, WORK, release_author),
    "person.suspend": CaseAction(PERSON, RESTRICT, suspend_person),
    "person.restore": CaseAction(PERSON, RESTRICT, restore_person),
}


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
    process_entries(entries)
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
    process_entries(entries)


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


def view_file(staff: User, *, case_id: str, file_id: str) -> File:
    case, file = access_file(staff, case_id, file_id)
    record(staff, "file.look", case_id=case.id, target=file.id)
    return file


def take_action(
    staff: User, *, case_id: str, name: str, reason: str, target: str = "", **extra: Any
) -> None:
    case = access_case(staff, case_id)
    action = CASE_ACTIONS[name]
    if not staff.has_perm(action.permission):
        raise Refusal("ACTION_FORBIDDEN", "Only the Trust and safety team can do this.")
    target_id, arguments = _resolve_target(staff, case, action, target, reason, extra)
    record(staff, name, case_id=case.id, target=target_id, reason=reason, **_audit_details(extra))
    try:
        if action.target == PERSON:
            action.run(arguments.pop("person"), **arguments)
        else:
            action.run(**arguments)
    except Refusal as refusal:
        record(staff, f"{name}.refused", case_id=case.id, target=target_id, code=refusal.code)
        raise


def _resolve_target(
    staff: User, case: Case, action: CaseAction, target: str, reason: str, extra: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The id of the target for the audit, and the arguments of the action."""
    if action.target == PERSON:
        person = _access_person(staff, case, target)
        return person.id, {"person": person, **extra}
    if not case.thread_id:
        raise Refusal("ACTION_FORBIDDEN", "This case isn't about a conversation.")
    arguments: dict[str, Any] = {"thread_id": case.thread_id, **extra}
    if action.target == MESSAGE:
        return target, {**arguments, "message_id": target}
    if action.target == AUTHOR:
        author = _access_person(staff, case, target)
        return author.id, {**arguments, "user_id": author.id}
    if action.target == CARD:
        return target, {**arguments, "staff": staff, "card_id": target, "reason": reason}
    if action.run is in_thread.lock_thread:
        arguments["reason"] = reason
    if action.run is in_thread.soft_block_thread:
        arguments |= {"reason": reason, "case_id": case.id}
    return case.thread_id, arguments


def _access_person(staff: User, case: Case, user_id: str) -> User:
    """A user whom the case concerns. Only superusers can act on staff."""
    people = {view.user.id: view.user for view in list_people(case)}
    person = people.get(user_id)
    if person is None:
        raise Refusal("PERSON_NOT_FOUND")
    if person == staff or (person.is_staff and not staff.is_superuser):
        raise Refusal("ACTION_FORBIDDEN", "You can't do this to a member of staff.")
    return person


def _audit_details(extra: dict[str, Any]) -> dict[str, Any]:
    """Leaves out the redacted text, which must not be kept in the audit."""
    return {name: value for name, value in extra.items() if name != "text"}
