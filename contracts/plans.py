"""Payment plans: the parts of a price and when each is due.

A plan is stored as JSON with the terms. Its amounts always add up to the price. Terms without a
plan are due as a deposit when both have signed, and the rest when the work is completed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from contracts.money import format_amount
from core.refusals import Refusal

SIGNED, DAY, PROOFS, COMPLETED = "signed", "day", "proofs", "completed"
MILESTONES = {
    SIGNED: "when both have signed",
    DAY: "on the day of the booking",
    PROOFS: "when the proofs are approved",
    COMPLETED: "when the work is completed",
}
MAX_INSTALMENTS = 6
MAX_YEAR = 2100

Plan = list[dict[str, Any]]


@dataclass(frozen=True)
class Instalment:
    """`due` is a milestone or an ISO date."""

    cents: int
    due: str

    @property
    def due_date(self) -> date | None:
        """The agreed date; None for a milestone."""
        return None if self.due in MILESTONES else date.fromisoformat(self.due)


def make_plan(instalments: Sequence[Instalment]) -> Plan:
    return [{"cents": each.cents, "due": each.due} for each in instalments]


def list_instalments(plan: Plan | None, price: int, deposit: int) -> list[Instalment]:
    if plan is None:
        parts = [Instalment(deposit, SIGNED), Instalment(price - deposit, COMPLETED)]
        return [part for part in parts if part.cents]
    return [Instalment(part["cents"], part["due"]) for part in plan]


def split_evenly(cents: int, count: int) -> list[int]:
    """The last part contains what is left by the division."""
    part = cents // count
    return [part] * (count - 1) + [cents - part * (count - 1)]


def add_months(day: date, months: int) -> date:
    """The same day of a later month, or its last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    for number in (day.day, 30, 29):
        try:
            return date(year, month + 1, number)
        except ValueError:
            continue
    return date(year, month + 1, 28)


def check_plan(plan: Plan | None, price: int) -> None:
    for sentence in _errors(plan or [], price) if plan is not None else ():
        raise Refusal("OFFER_INVALID", sentence)


def _errors(plan: Plan, price: int) -> Iterator[str]:
    if not 1 <= len(plan) <= MAX_INSTALMENTS:
        yield f"A payment plan can have 1 to {MAX_INSTALMENTS} payments."
    if any(type(part["cents"]) is not int or part["cents"] <= 0 for part in plan):
        yield "Each payment needs an amount above zero."
    if not all(is_due_time(part["due"]) for part in plan):
        yield "Choose when each payment is due."
    if sum(part["cents"] for part in plan) != price:
        yield "The payments don't add up to the price."


def is_due_time(due: str) -> bool:
    try:
        return due in MILESTONES or 2000 <= date.fromisoformat(due).year <= MAX_YEAR
    except ValueError:
        return False


def describe_plan(instalments: Sequence[Instalment], currency: str, *, locale: str = "") -> str:
    """For a contract: "EUR 300.00 when both have signed; EUR 900.00 on 10 January 2027"."""
    parts = [
        f"{format_amount(each.cents, currency, locale=locale)} {describe_due(each.due)}"
        for each in instalments
    ]
    return "; ".join(parts) or "nothing"


def describe_due(due: str) -> str:
    if due in MILESTONES:
        return MILESTONES[due]
    day = date.fromisoformat(due)
    return f"on {day.day} {day:%B %Y}"
