"""Cases as staff see them. What a case is about is shown to its assignee while it is open, and to
nobody else; superusers are no exception."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from accounts.models import User
from contracts.cards.types import TYPES
from contracts.models import Card
from core.refusals import Refusal
from files.models import File
from moderation import evidence
from moderation.models import AuditEntry, Case
from moderation.roles import WORK
from threads.dynamodb import keys
from threads.models import Thread


@dataclass
class PersonView:
    user: User
    role: str
    cases: list[Case]
    # Why their sending in the conversation is held.
    hold: str = ""


def get_case(case_id: str) -> Case:
    case = Case.objects.select_related("person", "assignee").filter(pk=case_id).first()
    if case is None:
        raise Refusal("CASE_NOT_FOUND")
    return case


def access_case(staff: User, case_id: str) -> Case:
    """For working on it: open, and taken by this very person."""
    case = get_case(case_id)
    if not can_read(staff, case):
        raise Refusal("ACTION_FORBIDDEN", "Take this case first.")
    return case


def can_read(staff: User, case: Case) -> bool:
    """The evidence: the assignee, while the case is open."""
    return staff.has_perm(WORK) and case.assignee_id == staff.id and case.is_open


def find_open_twin(case: Case) -> Case | None:
    """Another case about the same conversation, or person, that is open."""
    of_thread = {"thread_id": case.thread_id}
    same = of_thread if case.thread_id else of_thread | {"person_id": case.person_id}
    others = Case.objects.exclude(pk=case.pk).exclude(status=Case.Status.RESOLVED)
    return others.filter(**same).first()


def find_thread(case: Case) -> Thread | None:
    if not case.thread_id:
        return None
    return Thread.find(keys.thread_pk(case.thread_id), keys.THREAD)


def list_kept_threads() -> QuerySet[Case, str]:
    """While a case is open, nothing of its thread is deleted: a hold has its case open."""
    still_open = Case.objects.exclude(status=Case.Status.RESOLVED)
    return still_open.exclude(thread_id="").values_list("thread_id", flat=True)


def is_on_hold(case: Case) -> bool:
    thread = find_thread(case)
    return bool(thread and (thread.soft_block or {}).get("case") == case.id)


def list_cards(case: Case) -> list[Card]:
    """Those of its conversation that wait for staff, of the types that this version knows."""
    found = Card.objects.filter(thread_id=case.thread_id, is_open=True, type__in=TYPES)
    ordered = found.order_by("created_at")
    return [card for card in ordered if TYPES[card.type].staff_transition(card.state)]


@dataclass
class CardView:
    id: str
    label: str
    what: str


def list_card_views(case: Case) -> list[CardView]:
    kinds = [(card, TYPES[card.type]) for card in list_cards(case)]
    return [CardView(card.id, kind.label, kind.summary(card.payload)) for card, kind in kinds]


def access_file(staff: User, case_id: str, file_id: str) -> tuple[Case, File]:
    """One of what was reported; or, for whoever read more for a reason, one of the thread. Also
    one that was removed since: it is kept as long as the case is open."""
    case = get_case(case_id)
    file = File.objects.filter(pk=file_id, state=File.State.READY).first()
    if not can_read(staff, case) or file is None or file.thread_id != case.thread_id:
        raise Refusal("CASE_NOT_FOUND")
    shown = {
        attached.get("id")
        for report in case.reports.all()
        for message in report.evidence.get("messages", [])
        for attached in message["attachments"]
    }
    if file_id not in shown and not _has_read_more(staff, case):
        raise Refusal("CASE_NOT_FOUND")
    return case, file


def _has_read_more(staff: User, case: Case) -> bool:
    read = AuditEntry.objects.filter(case=case.id, actor=staff.id, act="thread.read")
    return read.exists()


def list_evidence(case: Case) -> list[dict[str, Any]]:
    """What the reports show, each message once, as it was reported, with how it is now."""
    found: dict[str, dict[str, Any]] = {}
    reports = list(case.reports.all())
    reported = {report.message_id for report in reports}
    for report in reports:
        for message in report.evidence.get("messages", []):
            shown = found.setdefault(message["id"], message)
            shown["is_reported"] = message["id"] in reported
    if case.thread_id and found:
        now = evidence.read_messages(case.thread_id, list(found))
        for message_id, message in found.items():
            _bring_up_to_date(message, now.get(message_id))
    return sorted(found.values(), key=lambda message: message["seq"])


def _bring_up_to_date(message: dict[str, Any], now: Any) -> None:
    if now is None:
        message["is_redacted"] = True
        return
    message["hidden_at"] = now.hidden_at or ""
    message["removed_at"] = now.removed_at or ""
    message["flags"] = now.flags or {}
    if (now.body or "") != message["body"]:
        message["body_now"] = now.body or ""


def read_thread(case: Case, before: str) -> list[dict[str, Any]]:
    state = evidence.load_thread(case.thread_id)
    page = evidence.read_page(case.thread_id, before)
    return [evidence.describe_message(message, state) for message in page]


def list_people(case: Case) -> list[PersonView]:
    """Those of the thread, or the one whom it is about, with their other cases."""
    roles: dict[str, str] = {}
    holds: dict[str, str] = {}
    if find_thread(case) is not None:
        cached = evidence.load_thread(case.thread_id)
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
        PersonView(
            user,
            roles[user.id],
            [one for one in past if one.person_id == user.id],
            holds.get(user.id, ""),
        )
        for user in users
    ]


@dataclass
class Done:
    """An entry of the audit, with names for those who read it."""

    entry: AuditEntry
    who: str
    to: str


def list_done(case: Case) -> list[Done]:
    entries = list_audit(case)
    ids = {name for entry in entries for name in (entry.actor, entry.target)}
    people = {user.id: user.display_name for user in User.objects.filter(pk__in=ids)}
    called = people | {case.thread_id: "the conversation", case.id: "the case"}
    return [
        Done(entry, called.get(entry.actor, entry.actor), called.get(entry.target, entry.target))
        for entry in entries
    ]


def list_audit(case: Case) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(case=case.id))
