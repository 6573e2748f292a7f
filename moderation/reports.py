"""How a case comes to be: by a report, or by what the service itself noticed."""

from typing import Any

from django.db import IntegrityError, transaction

from accounts.models import User
from contracts.cards import deadlines
from contracts.cards.types import TYPES
from contracts.models import Card
from core.outbox.models import OutboxEntry
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from moderation import evidence
from moderation.case_evidence import copy_evidence, hash_content
from moderation.models import Case, Report
from threads.actions.holds import hold_author, release_case
from threads.actions.staff import lift_soft_block, soft_block_thread
from threads.dynamodb import keys
from threads.models import Thread

Reason = Report.Reason
PRIORITIES = {
    Reason.DANGER: Case.Priority.HIGH,
    Reason.FRAUD: Case.Priority.HIGH,
    Reason.SEXUAL: Case.Priority.HIGH,
    Reason.SPAM: Case.Priority.LOW,
}
# Of the holds on whole threads that a blocked message caused in earlier versions.
FORMER_HOLD_REASON = "Contact details or payment outside, before a booking"
# Of two who open the same case at once one is refused by the constraint, and then joins.
ATTEMPTS = 3
# By one person, while the case is open.
MAX_REPORTS_PER_CASE = 10


def report_thread(
    reporter: User, *, thread_id: str, message_id: str = "", reason: str, comment: str
) -> Case:
    """By somebody of the thread, about one message or all of it. Hides nothing from them."""
    check_rate_limit("report", reporter.id)
    shown = evidence.collect_evidence(reporter, thread_id, message_id)
    return _file(
        about=Case.About.MESSAGE if message_id else Case.About.THREAD,
        thread_id=thread_id,
        person_id=_whom(shown, reporter),
        reporter=reporter,
        reason=reason,
        comment=comment,
        message_id=message_id,
        shown=shown,
    )


def report_person(reporter: User, *, person: User, reason: str, comment: str) -> Case:
    if reporter == person:
        raise Refusal("ACTION_FORBIDDEN", "You cannot report yourself.")
    check_rate_limit("report", reporter.id)
    fields = ("display_name", "handle", "headline", "about", "city", "avatar")
    return _file(
        about=Case.About.PERSON,
        thread_id="",
        person_id=person.id,
        reporter=reporter,
        reason=reason,
        comment=comment,
        message_id="",
        shown={"profile": {name: getattr(person, name) for name in fields}},
    )


def open_from_outbox(entry: OutboxEntry) -> None:
    """Payload: about, reason, and of thread, person, message, card, reporter, comment, shown,
    is_urgent what there is. With `hold`, a reason, the person's sending is held under the case, if
    it is about circumvention; otherwise the thread is put on hold."""
    payload = entry.payload
    if "case" in payload:
        return
    person = User.objects.filter(pk=payload.get("person")).first()
    reporter = User.objects.filter(pk=payload.get("reporter")).first()
    if reporter and "card" in payload:
        payload = payload | _around_card(reporter, payload["card"])
    case = _file(
        about=payload["about"],
        thread_id=payload.get("thread", ""),
        person_id=person.id if person else None,
        reporter=reporter,
        reason=payload["reason"],
        comment=payload.get("comment", ""),
        message_id=payload.get("message", ""),
        shown=payload.get("shown", {}),
        key=f"outbox {entry.pk}",
        is_urgent=payload.get("is_urgent", False),
    )
    if payload.get("hold") and case.is_open:
        _hold(case, payload)
    # What was said is with the case now, and needs to be nowhere else.
    OutboxEntry.objects.filter(pk=entry.pk).update(payload={"case": case.id})


def _hold(case: Case, payload: dict[str, Any]) -> None:
    thread_id, reason = case.thread_id, payload["hold"]
    if payload["about"] != Case.About.CIRCUMVENTION:
        soft_block_thread(thread_id=thread_id, reason=reason, case_id=case.id)
        return
    hold_author(thread_id=thread_id, user_id=payload["person"], reason=reason, case_id=case.id)
    if not Case.objects.get(pk=case.pk).is_open:
        # It was resolved meanwhile, and its release may have come before the hold.
        release_case(thread_id=thread_id, case_id=case.id)


def release_from_outbox(entry: OutboxEntry) -> None:
    """Payload: case. A case that was reopened meanwhile keeps its holds."""
    case = Case.objects.get(pk=entry.payload["case"])
    if not case.is_open:
        release_case(thread_id=case.thread_id, case_id=case.id)


def convert_hold_from_outbox(entry: OutboxEntry) -> None:
    """Payload: case. A thread that was put on hold for one author's message before holds of
    authors existed becomes such a hold; one that staff or a card put on hold stays as it is."""
    case = Case.objects.get(pk=entry.payload["case"])
    thread = Thread.find(keys.thread_pk(case.thread_id), keys.THREAD)
    before = {"reason": FORMER_HOLD_REASON, "case": case.id}
    if not case.is_open or thread is None or thread.soft_block != before:
        return
    assert case.person_id is not None
    author, reason = case.person_id, f"{FORMER_HOLD_REASON}."
    hold_author(thread_id=thread.id, user_id=author, reason=reason, case_id=case.id)
    cards = Card.objects.filter(thread_id=thread.id, is_open=True)
    if not any(TYPES[card.type].is_hold for card in cards):
        lift_soft_block(thread_id=thread.id, says="")


def _around_card(reporter: User, card_id: str) -> dict[str, Any]:
    """The card and what was said around it, as whoever opened it sees it."""
    card = Card.objects.get(pk=card_id)
    try:
        shown = evidence.collect_evidence(reporter, card.thread_id, card.message_id)
    except Refusal:
        # They have left meanwhile: what they said has to do.
        return {}
    return {"message": card.message_id, "shown": shown}


def _whom(shown: dict[str, Any], reporter: User) -> str | None:
    """The author of the message, or, between two, the other one."""
    for message in shown["messages"]:
        if message["id"] == shown["about"]:
            return message["author"] or None
    others = [person["id"] for person in shown["people"] if person["id"] != reporter.id]
    return others[0] if len(others) == 1 and not shown["about"] else None


def _file(
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
    said = [reporter.id if reporter else "", thread_id, person_id, message_id, reason, comment]
    usual = PRIORITIES.get(Reason(reason), Case.Priority.NORMAL)
    priority = Case.Priority.HIGH if is_urgent else usual
    done = Report.objects.filter(key=key).select_related("case").first() if key else None
    if done is not None:
        return done.case
    for _ in range(ATTEMPTS):
        try:
            with transaction.atomic():
                case = _open_or_join(about, thread_id, person_id, priority)
                seal = key or hash_content([case.id, *said])
                if not key and reporter:
                    _check_reports(case, reporter, seal)
                if not Report.objects.filter(key=seal).exists():
                    Report.objects.create(
                        key=seal,
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


def _check_reports(case: Case, reporter: User, seal: str) -> None:
    """Every report copies evidence, so one person may add only so many to a case."""
    theirs = Report.objects.filter(case=case, reporter=reporter).exclude(key=seal)
    if theirs.count() >= MAX_REPORTS_PER_CASE:
        raise Refusal(
            "ACTION_INVALID_STATE",
            f"You've already sent {MAX_REPORTS_PER_CASE} reports about this.",
            hint="Our safety team has them and will answer you.",
        )


def _open_or_join(about: str, thread_id: str, person_id: str | None, priority: int) -> Case:
    same = {"thread_id": thread_id} if thread_id else {"thread_id": "", "person_id": person_id}
    still_open = Case.objects.select_for_update().exclude(status=Case.Status.RESOLVED)
    case = still_open.filter(**same).first()
    if case is None:
        if thread_id:
            # While staff look at it no deadline runs against anybody.
            deadlines.pause_deadlines(thread_id, deadlines.CASE)
        return Case.objects.create(
            about=about, thread_id=thread_id, person_id=person_id, priority=priority
        )
    if priority < case.priority:
        Case.objects.filter(pk=case.pk).update(priority=priority)
    return case
