"""Queries for cases. Evidence is visible only to the assignee of an open case.

Superusers are no exception.
"""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from contracts.cards.types import TYPES
from contracts.models import Card
from core.refusals import Refusal
from files.models import File
from moderation.evidence import snapshots
from moderation.models import AuditEntry, Case
from moderation.roles import WORK
from moderation.sentences import describe, with_names
from threads.dynamodb import keys
from threads.models import Thread

TAKE_CASE_FIRST = "Take this case first."


@dataclass
class CasePerson:
    user: User
    role: str
    cases: list[Case]
    # Reason of their sending hold in the thread.
    hold: str = ""


def get_case(case_id: str) -> Case:
    case = Case.objects.select_related("person", "assignee").filter(pk=case_id).first()
    if case is None:
        raise Refusal("CASE_NOT_FOUND")
    return case


def access_case(staff: User, case_id: str) -> Case:
    """An open case that is assigned to `staff`."""
    case = get_case(case_id)
    if not can_read(staff, case):
        raise Refusal("ACTION_FORBIDDEN", TAKE_CASE_FIRST)
    return case


def can_read(staff: User, case: Case) -> bool:
    """Whether `staff` can see the evidence: the assignee can, while the case is open."""
    return staff.has_perm(WORK) and case.assignee_id == staff.id and case.is_open


def find_open_duplicate(case: Case) -> Case | None:
    """Another open case about the same thread or person."""
    of_thread = {"thread_id": case.thread_id}
    same = of_thread if case.thread_id else of_thread | {"person_id": case.person_id}
    others = Case.objects.exclude(pk=case.pk).exclude(status=Case.Status.RESOLVED)
    return others.filter(**same).first()


def find_thread(case: Case) -> Thread | None:
    if not case.thread_id:
        return None
    return Thread.find(keys.thread_pk(case.thread_id), keys.THREAD)


def list_threads_under_review() -> QuerySet[Case, str]:
    """Threads with an open case, whose files must not be deleted."""
    still_open = Case.objects.exclude(status=Case.Status.RESOLVED)
    return still_open.exclude(thread_id="").values_list("thread_id", flat=True)


def is_on_hold(case: Case) -> bool:
    thread = find_thread(case)
    return bool(thread and (thread.soft_block or {}).get("case") == case.id)


def list_cards(case: Case) -> list[Card]:
    """The cards in its thread that need a staff decision, of the types this version supports."""
    found = Card.objects.filter(thread_id=case.thread_id, is_open=True, type__in=TYPES)
    ordered = found.order_by("created_at")
    return [card for card in ordered if TYPES[card.type].staff_transition(card.state)]


@dataclass
class CaseCard:
    id: str
    label: str
    what: str


def list_card_views(case: Case) -> list[CaseCard]:
    typed = [(card, TYPES[card.type]) for card in list_cards(case)]
    return [CaseCard(card.id, kind.label, kind.summary(card.payload)) for card, kind in typed]


def access_file(staff: User, case_id: str, file_id: str) -> tuple[Case, File]:
    """A file of the reported messages; any file of the thread if `staff` has read more of it.

    Includes files removed since, which are kept while the case is open.
    """
    case = get_case(case_id)
    file = File.objects.filter(pk=file_id, state=File.State.READY).first()
    if not can_read(staff, case) or file is None or file.thread_id != case.thread_id:
        raise Refusal("CASE_NOT_FOUND")
    reported = {
        attached.get("id")
        for report in case.reports.all()
        for message in report.evidence.get("messages", [])
        for attached in message["attachments"]
    }
    if file_id not in reported and not _has_read_more(staff, case):
        raise Refusal("CASE_NOT_FOUND")
    return case, file


def _has_read_more(staff: User, case: Case) -> bool:
    read = AuditEntry.objects.filter(case=case.id, actor=staff.id, act="thread.read")
    return read.exists()


def has_read_records(staff: User, case: Case) -> bool:
    """Whether `staff` has given a reason to read the records of the booking."""
    read = AuditEntry.objects.filter(case=case.id, actor=staff.id, act="records.read")
    return read.exists()


def list_evidence(case: Case) -> list[dict[str, Any]]:
    """The reported messages without duplicates, as reported, with their current state."""
    found: dict[str, dict[str, Any]] = {}
    reports = list(case.reports.all())
    reported = {report.message_id for report in reports}
    for report in reports:
        for message in report.evidence.get("messages", []):
            shown = found.setdefault(message["id"], message)
            shown["is_reported"] = message["id"] in reported
    if case.thread_id and found:
        current = snapshots.read_messages(case.thread_id, list(found))
        for message_id, message in found.items():
            _add_current_state(message, current.get(message_id))
    return sorted(found.values(), key=lambda message: message["seq"])


def _add_current_state(message: dict[str, Any], current: Any) -> None:
    if current is None:
        message["is_deleted"] = True
        return
    message["hidden_at"] = current.hidden_at or ""
    message["removed_at"] = current.removed_at or ""
    message["flags"] = current.flags or {}
    if (current.body or "") != message["body"]:
        message["body_now"] = current.body or ""


def read_thread(case: Case, before: str) -> list[dict[str, Any]]:
    cached = snapshots.load_thread(case.thread_id)
    page = snapshots.read_page(case.thread_id, before)
    return [snapshots.describe_message(message, cached) for message in page]


def list_people(case: Case) -> list[CasePerson]:
    """The participants of the thread and the reported user, with their other cases."""
    roles: dict[str, str] = {}
    holds: dict[str, str] = {}
    if find_thread(case) is not None:
        cached = snapshots.load_thread(case.thread_id)
        roles = {user_id: person.role for user_id, person in cached.people.items()}
        holds = {
            user_id: person.sending_hold["reason"]
            for user_id, person in cached.people.items()
            if person.sending_hold
        }
    if case.person_id:
        roles.setdefault(case.person_id, "")
    users = User.objects.filter(pk__in=roles)
    past = Case.objects.filter(person__in=users).exclude(pk=case.pk).order_by("-opened_at")
    return [
        CasePerson(
            user,
            roles[user.id],
            [one for one in past if one.person_id == user.id],
            holds.get(user.id, ""),
        )
        for user in users
    ]


def list_activity(case: Case) -> list[dict[str, Any]]:
    """The audit entries of the case as sentences, in one query."""
    entries = with_names(AuditEntry.objects.filter(case=case.id)).order_by("number")
    return [{"entry": entry, "text": describe(entry)} for entry in entries]


def list_audit(case: Case) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(case=case.id))
