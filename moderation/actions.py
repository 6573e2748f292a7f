"""What staff do, under a case, with a reason. Each is written to the audit first and done then, by
the same actions as everything else, so that people see it at once."""

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
    access_case,
    access_file,
    find_open_twin,
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
# Somebody in the case's conversation.
AUTHOR = "author"


@dataclass(frozen=True)
class Act:
    label: str
    # What it is done to.
    on: str
    permission: str
    run: Callable[..., None]


def _mute(person: User, days: int) -> None:
    mute_person(person, until=timezone.now() + timedelta(days=days))


CASE_ACTIONS: dict[str, Act] = {
    "message.hide": Act("Hide", MESSAGE, WORK, in_thread.hide_message),
    "message.unhide": Act("Show again", MESSAGE, WORK, in_thread.unhide_message),
    "message.redact": Act("Black out", MESSAGE, RESTRICT, in_thread.redact_message),
    "thread.lock": Act("Lock", THREAD, RESTRICT, in_thread.lock_thread),
    "thread.unlock": Act("Unlock", THREAD, RESTRICT, in_thread.unlock_thread),
    "thread.hold": Act("Put on hold", THREAD, RESTRICT, in_thread.soft_block_thread),
    "thread.lift_hold": Act("Lift the hold", THREAD, RESTRICT, in_thread.lift_soft_block),
    "card.decide": Act("Decide", CARD, RESTRICT, decide_card),
    "person.mute": Act("Mute", PERSON, RESTRICT, _mute),
    "person.unmute": Act(
        "Unmute", PERSON, RESTRICT, lambda person: mute_person(person, until=None)
    ),
    "person.release": Act("Let them write again", AUTHOR, WORK, release_author),
    "person.suspend": Act("Suspend", PERSON, RESTRICT, suspend_person),
    "person.restore": Act("Restore", PERSON, RESTRICT, restore_person),
}


def take_case(staff: User, *, case_id: str) -> Case:
    """From the queue, or from a colleague; the audit shows from whom."""
    case = get_case(case_id)
    before = case.assignee_id or ""
    record(staff, "case.take", case_id=case.id, before=before)
    still = Q(assignee_id=case.assignee_id) & ~Q(status=Case.Status.RESOLVED)
    taken = Case.objects.filter(still, pk=case.pk).update(
        assignee=staff, status=Case.Status.ASSIGNED
    )
    if not taken:
        raise Refusal("ACTION_FORBIDDEN", "It is resolved, or somebody was faster.")
    return get_case(case_id)


def add_note(staff: User, *, case_id: str, text: str) -> CaseNote:
    case = access_case(staff, case_id)
    record(staff, "case.note", case_id=case.id)
    return CaseNote.objects.create(case=case, author=staff, text=text)


def resolve_case(
    staff: User, *, case_id: str, reason: str, answers: Mapping[int, str] | None = None
) -> None:
    """`answers` is what the reporters are told, by report; `reason` stays with staff."""
    case = access_case(staff, case_id)
    if is_on_hold(case):
        raise Refusal(
            "ACTION_INVALID_STATE",
            "The conversation is still on hold.",
            hint="Lift the hold first: without a case nobody could.",
        )
    if list_cards(case):
        raise Refusal(
            "ACTION_INVALID_STATE",
            "There is a card that waits for you.",
            hint="Decide it first: without a case nobody could.",
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
    """Authors whose sending is held under the case may write again once it is resolved."""
    if not case.thread_id:
        return []
    return [OutboxEntry.objects.create(kind="hold_release", payload={"case": case.id})]


def _close(staff: User, case: Case, reason: str) -> None:
    """A report that comes at the same moment waits for this, and then opens another case."""
    mine = Case.objects.select_for_update().filter(pk=case.pk, assignee=staff)
    locked = mine.exclude(status=Case.Status.RESOLVED).first()
    if locked is None:
        raise Refusal("ACTION_FORBIDDEN", "Take this case first.")
    locked.status, locked.resolved_at, locked.outcome = (
        Case.Status.RESOLVED,
        timezone.now(),
        reason,
    )
    locked.save(update_fields=["status", "resolved_at", "outcome"])


def reopen_case(staff: User, *, case_id: str, reason: str) -> None:
    """Whoever reopens a case is its assignee, and everything can be done under it again."""
    case = get_case(case_id)
    _check_may_reopen(case)
    record(staff, "case.reopen", case_id=case.id, reason=reason, outcome=case.outcome)
    try:
        with transaction.atomic():
            reopened = Case.objects.filter(pk=case.pk, status=Case.Status.RESOLVED).update(
                status=Case.Status.ASSIGNED, assignee=staff, resolved_at=None
            )
            stops = reopened and case.thread_id
            entries = deadlines.pause_deadlines(case.thread_id, deadlines.CASE) if stops else []
    except IntegrityError:
        reopened = 0
    if not reopened:
        _check_may_reopen(get_case(case_id))
        raise Refusal("TRY_AGAIN")
    process_entries(entries)


def _check_may_reopen(case: Case) -> None:
    if case.is_open:
        raise Refusal("ACTION_INVALID_STATE", "This case is open.")
    twin = find_open_twin(case)
    if twin is not None:
        raise Refusal(
            "ACTION_INVALID_STATE",
            f"There is a newer open case about the same: {twin.id}.",
            hint="Continue there.",
        )


def look(
    staff: User, case: Case, *, what: str = "case.look", reason: str = "", **details: Any
) -> None:
    """Before anything is shown."""
    record(staff, what, case_id=case.id, target=case.thread_id, reason=reason, **details)


def read_more(
    staff: User, *, case_id: str, reason: str, before: str = ""
) -> tuple[Case, list[dict[str, Any]]]:
    """More of the thread than was reported, for a reason that is kept."""
    case = access_case(staff, case_id)
    if not case.thread_id:
        raise Refusal("ACTION_FORBIDDEN", "No conversation belongs to this case.")
    look(staff, case, what="thread.read", reason=reason, before=before)
    return case, read_thread(case, before)


def look_at_file(staff: User, *, case_id: str, file_id: str) -> File:
    case, file = access_file(staff, case_id, file_id)
    record(staff, "file.look", case_id=case.id, target=file.id)
    return file


def take_action(
    staff: User, *, case_id: str, name: str, reason: str, target: str = "", **extra: Any
) -> None:
    case = access_case(staff, case_id)
    chosen = CASE_ACTIONS[name]
    if not staff.has_perm(chosen.permission):
        raise Refusal("ACTION_FORBIDDEN", "This is for trust and safety to do.")
    done_to, given = _target(staff, case, chosen, target, reason, extra)
    record(staff, name, case_id=case.id, target=done_to, reason=reason, **_recorded(extra))
    try:
        chosen.run(**given) if chosen.on != PERSON else chosen.run(given.pop("person"), **given)
    except Refusal as refusal:
        record(staff, f"{name}.refused", case_id=case.id, target=done_to, code=refusal.code)
        raise


def _target(
    staff: User, case: Case, chosen: Act, target: str, reason: str, extra: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """What it is done to, as the audit names it, and what the action is called with."""
    if chosen.on == PERSON:
        person = _person_of(staff, case, target)
        return person.id, {"person": person, **extra}
    if not case.thread_id:
        raise Refusal("ACTION_FORBIDDEN", "No conversation belongs to this case.")
    given: dict[str, Any] = {"thread_id": case.thread_id, **extra}
    if chosen.on == MESSAGE:
        return target, {**given, "message_id": target}
    if chosen.on == AUTHOR:
        author = _person_of(staff, case, target)
        return author.id, {**given, "user_id": author.id}
    if chosen.on == CARD:
        return target, {**given, "staff": staff, "card_id": target, "reason": reason}
    if chosen.run is in_thread.lock_thread:
        given["reason"] = reason
    if chosen.run is in_thread.soft_block_thread:
        given |= {"reason": reason, "case_id": case.id}
    return case.thread_id, given


def _person_of(staff: User, case: Case, user_id: str) -> User:
    """Somebody whom the case concerns. Staff are for superusers to deal with."""
    people = {view.user.id: view.user for view in list_people(case)}
    person = people.get(user_id)
    if person is None:
        raise Refusal("PERSON_NOT_FOUND")
    if person == staff or (person.is_staff and not staff.is_superuser):
        raise Refusal("ACTION_FORBIDDEN", "Not to staff.")
    return person


def _recorded(extra: dict[str, Any]) -> dict[str, Any]:
    """What was blacked out must not live on in the audit."""
    return {name: value for name, value in extra.items() if name != "text"}
