"""The page of a user's payments: what is owed and due, and what was paid by month."""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from accounts.http import AuthenticatedRequest
from accounts.models import User
from contracts.fields import format_day
from contracts.instalments import Account, DueInstalment
from contracts.money import format_amount
from contracts.payment_totals import list_open_accounts, sum_paid, sum_received
from contracts.status import RECORD_PAYMENT, is_allowed
from core.locales import locale_of
from projects.panel.rendering import DUE_LABELS
from projects.payment_chart import make_charts

OWED, OWE = "owed", "owe"


@require_safe
@login_required
def payments(request: AuthenticatedRequest) -> HttpResponse:
    user, locale, today = request.user, locale_of(request), timezone.localdate()
    accounts, more = list_open_accounts(user)
    by_direction: dict[str, list[Account]] = {OWED: [], OWE: []}
    for account in accounts:
        by_direction[_direction(account, user)].append(account)
    context = {
        "owed": _section(by_direction[OWED], user, locale),
        "owe": _section(by_direction[OWE], user, locale),
        "received": make_charts(sum_received(user, today), today, locale),
        "paid": make_charts(sum_paid(user, today), today, locale),
        "more": more,
    }
    return render(request, "projects/payments.html", context)


def _direction(account: Account, user: User) -> str:
    """A negative balance has to be repaid by the seller."""
    is_seller = account.leg.seller_id == user.id
    return OWED if is_seller == (account.open_cents > 0) else OWE


def _section(accounts: list[Account], user: User, locale: str) -> dict[str, Any]:
    rows = [_row(account, user, locale) for account in accounts]
    # Overdue first, then by due date; bookings without a due date last.
    rows.sort(key=lambda row: (row["sort"], row["leg"].starts_at))
    return {"totals": _totals(accounts, locale), "rows": rows}


def _totals(accounts: Iterable[Account], locale: str) -> list[dict[str, str]]:
    """Per currency, because amounts of different currencies are never added."""
    sums: dict[str, list[int]] = {}
    for account in accounts:
        is_repayment = account.open_cents < 0
        due = -account.open_cents if is_repayment else account.due_cents
        parts = (abs(account.open_cents), due, 0 if is_repayment else account.overdue_cents)
        total = sums.setdefault(account.leg.currency, [0, 0, 0])
        sums[account.leg.currency] = [a + b for a, b in zip(total, parts, strict=True)]
    return [
        {
            name: format_amount(cents, code, locale=locale) if cents or name == "open" else ""
            for name, cents in zip(("open", "due", "overdue"), sums[code], strict=True)
        }
        for code in sorted(sums)
    ]


def _row(account: Account, user: User, locale: str) -> dict[str, Any]:
    leg = account.leg
    is_seller, is_repayment = leg.seller_id == user.id, account.open_cents < 0
    part = None if is_repayment else _next(account)
    return {
        "leg": leg,
        "other": (leg.buyer if is_seller else leg.seller).display_name,
        "open": format_amount(abs(account.open_cents), leg.currency, locale=locale),
        "is_repayment": is_repayment,
        "may_record": is_seller and is_allowed(leg.status, RECORD_PAYMENT),
        "next": _describe_next(account, part, locale) if part else "",
        "state": _state(account),
        "sort": _sort_key(account, part),
    }


def _next(account: Account) -> DueInstalment | None:
    unpaid = [part for part in account.instalments if part.open_cents > 0]
    return min(unpaid, key=_due_order, default=None)


def _due_order(part: DueInstalment) -> tuple[bool, str]:
    return part.due_on is None, part.due_on.isoformat() if part.due_on else ""


def _describe_next(account: Account, part: DueInstalment, locale: str) -> str:
    amount = format_amount(part.open_cents, account.leg.currency, locale=locale)
    if part.due_on:
        return f"{amount} on {format_day(part.due_on)}"
    label = DUE_LABELS[part.due]
    return f"{amount} {label[0].lower()}{label[1:]}"


def _state(account: Account) -> str:
    if account.open_cents < 0:
        return "repay"
    if account.overdue_cents:
        return "overdue"
    return "due" if account.due_cents else ""


def _sort_key(account: Account, part: DueInstalment | None) -> tuple[int, str]:
    rank = {"overdue": 0, "repay": 1, "due": 1, "": 2}[_state(account)]
    return rank, part.due_on.isoformat() if part and part.due_on else "9999"
