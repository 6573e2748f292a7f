"""What a user owes and is owed over all bookings, and what was paid by month."""

from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import (
    BigIntegerField,
    Case,
    Count,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce, TruncDate, TruncMonth

from accounts.models import User
from contracts.instalments import Account, list_accounts
from contracts.models import Amendment, LedgerEntry, Leg
from contracts.models.money import PAYMENT, REPAYMENT, REVERSAL
from contracts.plans import add_months

# Further ones are counted, but neither listed nor summed.
MAX_OPEN = 200
MONTHS = 12


@dataclass(frozen=True)
class MonthSum:
    month: date
    currency: str
    cents: int


def list_open_accounts(user: User, *, at: datetime | None = None) -> tuple[list[Account], int]:
    """Bookings of this user that are not settled, by start, and the number of those left out."""
    legs = _open_legs(user)
    found = list(legs.select_related("buyer", "seller").order_by("starts_at", "id")[: MAX_OPEN + 1])
    more = legs.aggregate(count=Count("id"))["count"] - MAX_OPEN if len(found) > MAX_OPEN else 0
    return list_accounts(found[:MAX_OPEN], at=at), more


def _open_legs(user: User) -> QuerySet[Leg]:
    mine = Leg.objects.filter(Q(buyer=user) | Q(seller=user))
    amended = _sum_of(Amendment.objects.filter(leg=OuterRef("pk")), F("amount_cents"))
    paid = _sum_of(LedgerEntry.objects.filter(leg=OuterRef("pk")), _signed())
    unpaid = ExpressionWrapper(F("price_cents") + amended - paid, BigIntegerField())
    return mine.annotate(unpaid=unpaid).exclude(unpaid=0)


def _sum_of(rows: QuerySet, amount: object) -> Coalesce:
    sums = rows.order_by().values("leg").annotate(sum=Sum(amount)).values("sum")
    return Coalesce(
        Subquery(sums, output_field=BigIntegerField()), Value(0), output_field=BigIntegerField()
    )


def _signed() -> Case:
    """Payments are positive, repayments negative; a reversal has the opposite sign of its entry."""
    is_less = Q(kind=REPAYMENT) | Q(kind=REVERSAL, reverses__kind=PAYMENT)
    less = When(is_less, then=F("amount_cents") * Value(-1))
    return Case(less, default=F("amount_cents"), output_field=BigIntegerField())


def list_months(today: date) -> list[date]:
    """The first days of the last months, oldest first."""
    return [add_months(today.replace(day=1), -number) for number in range(MONTHS - 1, -1, -1)]


def sum_received(user: User, today: date) -> list[MonthSum]:
    return _sum_by_month(LedgerEntry.objects.filter(leg__seller=user), today)


def sum_paid(user: User, today: date) -> list[MonthSum]:
    return _sum_by_month(LedgerEntry.objects.filter(leg__buyer=user), today)


def _sum_by_month(entries: QuerySet[LedgerEntry], today: date) -> list[MonthSum]:
    """By the date of the payment; a reversal counts in the month of what it reverses."""
    day = Coalesce("paid_on", "reverses__paid_on", TruncDate("recorded_at"))
    recent = entries.annotate(day=day).filter(day__gte=list_months(today)[0])
    sums = recent.order_by().values_list(TruncMonth("day"), "currency")
    return [MonthSum(*row) for row in sums.annotate(cents=Sum(_signed()))]
