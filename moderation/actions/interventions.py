"""What staff do under a case: hiding messages, locking threads, muting users.

Each is recorded in the audit first and then runs the same action as everywhere else, so that live
clients are updated.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.utils import timezone

from accounts.models import User
from core.refusals import Refusal
from moderation.audit import record
from moderation.models import Case
from moderation.queries import access_case, list_people
from moderation.roles import RESTRICT, WORK
from people.photos import remove_photo
from people.portfolio import clear_portfolio
from people.verification import revoke_verification
from projects.actions.cards import decide_card
from threads.actions import staff as in_thread
from threads.actions.holds import release_author
from threads.actions.suspensions import mute_person, restore_person, suspend_person

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
    "person.remove_photo": CaseAction(PERSON, RESTRICT, remove_photo),
    "person.clear_portfolio": CaseAction(PERSON, RESTRICT, clear_portfolio),
    "person.revoke_verification": CaseAction(PERSON, RESTRICT, revoke_verification),
}


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
