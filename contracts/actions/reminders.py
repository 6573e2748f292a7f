"""Reminds both parties of payments that are due, and again when they are overdue."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from django.db import transaction
from django.utils import timezone

from contracts.actions.revisions import record_leg_change
from contracts.fields import format_day
from contracts.instalments import Account, DueInstalment, list_accounts
from contracts.models import ClockStop, Dossier, Leg, PaymentReminder
from contracts.models.money import DUE, OVERDUE
from contracts.money import format_amount
from contracts.plans import DAY, MILESTONES
from core.outbox.models import OutboxEntry
from core.time_zones import zone_of

# At the place of the booking.
HOUR = time(9)
PAUSED_FOR = timedelta(hours=1)


def list_threads_to_check() -> list[str]:
    """There is no limit, because threads that fail must not hide the others."""
    due = Dossier.objects.filter(reminders_at__lte=timezone.now()).order_by("reminders_at")
    return list(due.values_list("pk", flat=True))


@transaction.atomic
def remind(thread_id: str) -> list[OutboxEntry]:
    """Sends the reminders of a thread that are due. The row is locked, so that several workers do
    not send one twice."""
    now = timezone.now()
    locked = Dossier.objects.select_for_update(of=("self",), skip_locked=True)
    if not list(locked.filter(pk=thread_id, reminders_at__lte=now).values_list("pk")):
        return []
    if ClockStop.objects.filter(thread_id=thread_id).exists():
        Dossier.objects.filter(pk=thread_id).update(reminders_at=now + PAUSED_FOR)
        return []
    legs = Leg.objects.filter(thread_id=thread_id).select_related("buyer", "group")
    accounts = list_accounts(list(legs.order_by("id")), at=now)
    entries = [entry for account in accounts for entry in _remind(account, now)]
    later = [moment for account in accounts for moment in _moments(account) if moment > now]
    Dossier.objects.filter(pk=thread_id).update(reminders_at=min(later, default=None))
    return entries


def _remind(account: Account, now: datetime) -> list[OutboxEntry]:
    """One message for all instalments of a booking that became due or overdue."""
    found: dict[str, list[DueInstalment]] = {DUE: [], OVERDUE: []}
    for number, part in _open_instalments(account):
        due_at, overdue_at = _reminder_times(account, part)
        kind = OVERDUE if overdue_at <= now else DUE
        if due_at <= now and _is_first(account.leg, kind, f"{part.due_on}:{number}"):
            found[kind].append(part)
    return [
        entry
        for kind, parts in found.items()
        if parts
        for entry in record_leg_change(
            account.leg,
            by=account.leg.buyer,
            key=f"{account.leg.id}:{kind}:{now:%Y-%m-%dT%H:%M:%S}",
            text=_text(account.leg, kind, parts),
        )
    ]


def _open_instalments(account: Account) -> Iterator[tuple[int, DueInstalment]]:
    if account.is_payable:
        for number, part in enumerate(account.instalments):
            if part.open_cents > 0 and part.due_on:
                yield number, part


def _moments(account: Account) -> Iterator[datetime]:
    for _, part in _open_instalments(account):
        yield from _reminder_times(account, part)


def _reminder_times(account: Account, part: DueInstalment) -> tuple[datetime, datetime]:
    """On the agreed day; a day after a milestone, whose own message says what is due."""
    assert part.due_on is not None
    assert part.overdue_on is not None
    is_agreed_day = part.due == DAY or _is_date(part.due)
    first = part.due_on if is_agreed_day else part.due_on + timedelta(days=1)
    return _moment(account.leg, first), _moment(account.leg, part.overdue_on)


def _is_date(due: str) -> bool:
    return due not in MILESTONES and due[:1].isdecimal()


def _moment(leg: Leg, day: date) -> datetime:
    return datetime.combine(day, HOUR, zone_of(leg.time_zone))


def _is_first(leg: Leg, kind: str, instalment: str) -> bool:
    return PaymentReminder.objects.get_or_create(leg=leg, kind=kind, instalment=instalment)[1]


def _text(leg: Leg, kind: str, parts: list[DueInstalment]) -> str:
    total = format_amount(sum(part.open_cents for part in parts), leg.currency)
    if kind == DUE:
        return f"Payment due: {total} for {leg.service}."
    since = min(part.due_on for part in parts if part.due_on)
    return f"Payment overdue: {total} for {leg.service} was due on {format_day(since)}."
