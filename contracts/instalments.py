"""What of a booking is paid, due and overdue: payments are allocated to the oldest due first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from django.db.models import Max, Q, Sum
from django.utils import timezone

from contracts.models import Amendment, Card, ContractVersion, LedgerEntry, Leg
from contracts.models.bookings import BOOKED, CANCELLED, COMPLETED
from contracts.models.documents import IN_FORCE
from contracts.models.money import PAYMENT, REPAYMENT, REVERSAL
from contracts.plans import COMPLETED as ON_COMPLETION
from contracts.plans import DAY, MILESTONES, PROOFS, SIGNED, Instalment, list_instalments
from core.time_zones import local_time, zone_of

OVERDUE_DAYS = 7
# Instalments that are not in the plan.
EXTRAS, AFTER_CANCELLATION = "extras", "cancelled"
# Cards whose acceptance is a milestone, and their final states.
MILESTONE_CARDS = {
    "proofs": ("approved",),
    "complete": ("accepted", "auto_accepted"),
    "cancel": ("accepted",),
}


@dataclass(frozen=True)
class DueInstalment:
    """`due_on` is None until its milestone is reached."""

    cents: int
    due: str
    due_on: date | None
    paid_cents: int = 0

    @property
    def open_cents(self) -> int:
        return self.cents - self.paid_cents

    @property
    def overdue_on(self) -> date | None:
        return self.due_on + timedelta(days=OVERDUE_DAYS) if self.due_on else None


@dataclass(frozen=True)
class Account:
    """The money of one leg at a time; `today` is the day at the place of the booking."""

    leg: Leg
    amended_cents: int
    paid_cents: int
    instalments: tuple[DueInstalment, ...]
    # Nothing is due before the contract is signed and during a dispute.
    is_payable: bool
    today: date

    @property
    def total_cents(self) -> int:
        return self.leg.price_cents + self.amended_cents

    @property
    def open_cents(self) -> int:
        return self.total_cents - self.paid_cents

    @property
    def due(self) -> list[DueInstalment]:
        if not self.is_payable:
            return []
        return [
            each
            for each in self.instalments
            if each.open_cents > 0 and each.due_on and each.due_on <= self.today
        ]

    @property
    def due_cents(self) -> int:
        return sum(each.open_cents for each in self.due)

    @property
    def overdue_cents(self) -> int:
        late = (each for each in self.due if each.overdue_on and each.overdue_on <= self.today)
        return sum(each.open_cents for each in late)


def list_accounts(legs: Sequence[Leg], *, at: datetime | None = None) -> list[Account]:
    """The number of queries does not depend on the number of legs."""
    at = at or timezone.now()
    amended, paid = _amended(legs), _paid(legs)
    reached = _milestones(legs)
    return [
        _account(leg, amended.get(leg.id, 0), paid.get(leg.id, 0), reached.get(leg.id, {}), at)
        for leg in legs
    ]


def _amended(legs: Sequence[Leg]) -> dict[str, int]:
    sums = Amendment.objects.filter(leg__in=legs).values_list("leg").annotate(Sum("amount_cents"))
    return dict(sums.order_by())


def _paid(legs: Sequence[Leg]) -> dict[str, int]:
    """Payments minus repayments; a reversal undoes its entry."""
    received = Q(kind=PAYMENT) | Q(kind=REVERSAL, reverses__kind=REPAYMENT)
    returned = Q(kind=REPAYMENT) | Q(kind=REVERSAL, reverses__kind=PAYMENT)
    sums = LedgerEntry.objects.filter(leg__in=legs).values_list("leg").order_by()
    found = sums.annotate(
        received=Sum("amount_cents", filter=received, default=0),
        returned=Sum("amount_cents", filter=returned, default=0),
    )
    return {leg_id: plus - minus for leg_id, plus, minus in found}


def _milestones(legs: Sequence[Leg]) -> dict[str, dict[str, datetime]]:
    """By leg and milestone or card type: when it was reached."""
    found: dict[str, dict[str, datetime]] = {leg.id: {} for leg in legs}
    signed = [leg for leg in legs if leg.status in (BOOKED, COMPLETED)]
    if signed:
        versions = ContractVersion.objects.filter(document__leg__in=signed, status=IN_FORCE)
        times = versions.values_list("document__leg").annotate(Max("signatures__signed_at"))
        for leg_id, moment in times.order_by():
            found[leg_id][SIGNED] = moment
    ended = [leg for leg in legs if leg.status in (COMPLETED, CANCELLED) or _awaits_proofs(leg)]
    if ended:
        is_reached = Q()
        for name, states in MILESTONE_CARDS.items():
            is_reached |= Q(type=name, state__in=states)
        cards = Card.objects.filter(is_reached, leg__in=ended).values_list("leg", "type")
        for leg_id, type_name, moment in cards.annotate(Max("steps__at")).order_by():
            found[leg_id][type_name] = moment
    return found


def _awaits_proofs(leg: Leg) -> bool:
    return any(part["due"] == PROOFS for part in leg.plan or ())


def _account(
    leg: Leg, amended: int, paid: int, reached: dict[str, datetime], at: datetime
) -> Account:
    zone = zone_of(leg.time_zone)
    today = local_time(at, zone).date()
    days = {name: local_time(moment, zone).date() for name, moment in reached.items()}
    days[DAY] = local_time(leg.starts_at, zone).date()
    if leg.status == COMPLETED:
        completed = days.get("complete", today)
        days |= {ON_COMPLETION: completed}
        days |= {name: days.get(name, completed) for name in (SIGNED, PROOFS)}
    is_payable = leg.status in (COMPLETED, CANCELLED) or (leg.status == BOOKED and SIGNED in days)
    parts = _allocate(_parts(leg, amended, days, today), paid)
    return Account(leg, amended, paid, tuple(parts), is_payable, today)


def _parts(leg: Leg, amended: int, days: dict[str, date], today: date) -> list[DueInstalment]:
    total = leg.price_cents + amended
    if leg.status == CANCELLED:
        ended = days.get("cancel", today)
        return [DueInstalment(total, AFTER_CANCELLATION, ended)] if total > 0 else []
    planned = list_instalments(leg.plan, leg.price_cents, leg.deposit_cents)
    parts = [DueInstalment(each.cents, each.due, _due_on(each, days)) for each in planned]
    if amended > 0:
        parts.append(DueInstalment(amended, EXTRAS, days.get(ON_COMPLETION)))
    return _reduce(parts, -amended) if amended < 0 else parts


def _due_on(instalment: Instalment, days: dict[str, date]) -> date | None:
    return days.get(instalment.due) if instalment.due in MILESTONES else instalment.due_date


def _reduce(parts: list[DueInstalment], cents: int) -> list[DueInstalment]:
    """A refund reduces the last payments first."""
    kept = []
    for part in reversed(parts):
        less = min(part.cents, cents)
        cents -= less
        kept.append(replace(part, cents=part.cents - less))
    return [part for part in reversed(kept) if part.cents]


def _allocate(parts: Sequence[DueInstalment], paid: int) -> Iterable[DueInstalment]:
    """In the order of the due dates; those without a date last."""
    order = sorted(range(len(parts)), key=lambda n: (parts[n].due_on or date.max, n))
    allocated = list(parts)
    for number in order:
        part = min(max(paid, 0), parts[number].cents)
        paid -= part
        allocated[number] = replace(parts[number], paid_cents=part)
    return allocated
