"""Outbox handlers for cases and holds that other apps request."""

from typing import Any

from accounts.models import User
from contracts.cards.types import TYPES
from contracts.models import Card
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from moderation.actions.reports import file_report
from moderation.evidence import snapshots
from moderation.models import Case
from threads.actions.holds import hold_author, release_case
from threads.actions.staff import lift_soft_block, soft_block_thread
from threads.dynamodb import keys
from threads.models import Thread

# Reason of the thread-wide holds that earlier versions placed after a blocked message.
FORMER_HOLD_REASON = "Contact details or payment outside, before a booking"


def open_case(entry: OutboxEntry) -> None:
    """Payload: about, reason; optionally thread, person, message, card, reporter, comment, shown,
    is_urgent and `hold`. `hold` is the reason for a hold under the case: a sending hold on the
    person if the case is about circumvention, otherwise a soft block of the thread."""
    payload = entry.payload
    if "case" in payload:
        return
    person = User.objects.filter(pk=payload.get("person")).first()
    reporter = User.objects.filter(pk=payload.get("reporter")).first()
    if reporter and "card" in payload:
        payload = payload | _card_evidence(reporter, payload["card"])
    case = file_report(
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
    # The evidence is stored with the case, so the copy in the entry is removed.
    OutboxEntry.objects.filter(pk=entry.pk).update(payload={"case": case.id})


def _hold(case: Case, payload: dict[str, Any]) -> None:
    thread_id, reason = case.thread_id, payload["hold"]
    if payload["about"] != Case.About.CIRCUMVENTION:
        soft_block_thread(thread_id=thread_id, reason=reason, case_id=case.id)
        return
    hold_author(thread_id=thread_id, user_id=payload["person"], reason=reason, case_id=case.id)
    if not Case.objects.get(pk=case.pk).is_open:
        # The case was resolved concurrently, and its release may have run before the hold.
        release_case(thread_id=thread_id, case_id=case.id)


def release_holds(entry: OutboxEntry) -> None:
    """Payload: case. A case that was reopened in the meantime keeps its holds."""
    case = Case.objects.get(pk=entry.payload["case"])
    if not case.is_open:
        release_case(thread_id=case.thread_id, case_id=case.id)


def convert_hold(entry: OutboxEntry) -> None:
    """Payload: case. Converts a thread-wide hold caused by one author's message, as placed by
    earlier versions, to a sending hold on the author. Holds by staff or cards are kept."""
    case = Case.objects.get(pk=entry.payload["case"])
    thread = Thread.find(keys.thread_pk(case.thread_id), keys.THREAD)
    former_hold = {"reason": FORMER_HOLD_REASON, "case": case.id}
    if not case.is_open or thread is None or thread.soft_block != former_hold:
        return
    assert case.person_id is not None
    author, reason = case.person_id, f"{FORMER_HOLD_REASON}."
    hold_author(thread_id=thread.id, user_id=author, reason=reason, case_id=case.id)
    cards = Card.objects.filter(thread_id=thread.id, is_open=True)
    if not any(TYPES[card.type].is_hold for card in cards):
        lift_soft_block(thread_id=thread.id, text="")


def _card_evidence(reporter: User, card_id: str) -> dict[str, Any]:
    """The card and the messages around it, as its author sees them."""
    card = Card.objects.get(pk=card_id)
    try:
        shown = snapshots.collect_evidence(reporter, card.thread_id, card.message_id)
    except Refusal:
        # The reporter has left the thread since, so only the payload is available.
        return {}
    return {"message": card.message_id, "shown": shown}
