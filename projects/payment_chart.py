"""A bar chart of amounts by month, as numbers for an SVG template."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from contracts.money import format_amount
from contracts.payment_totals import MonthSum, list_months

WIDTH, HEIGHT, LABEL_HEIGHT = 360, 120, 16
BAR_SHARE = 0.6


@dataclass(frozen=True)
class Bar:
    month: date
    amount: str
    x: float
    y: float
    width: float
    height: float
    middle: float


@dataclass(frozen=True)
class Chart:
    currency: str
    total: str
    bars: tuple[Bar, ...]
    width: int = WIDTH
    height: int = HEIGHT
    baseline: int = HEIGHT - LABEL_HEIGHT


def make_charts(sums: Sequence[MonthSum], today: date, locale: str) -> list[Chart]:
    """One chart for each currency: amounts of different currencies are never added."""
    by_currency: dict[str, dict[date, int]] = {}
    for each in sums:
        by_currency.setdefault(each.currency, {})[each.month] = each.cents
    return [
        _chart(currency, by_currency[currency], today, locale) for currency in sorted(by_currency)
    ]


def _chart(currency: str, cents_by_month: dict[date, int], today: date, locale: str) -> Chart:
    months = list_months(today)
    highest = max(1, *(cents_by_month.get(month, 0) for month in months))
    step = WIDTH / len(months)
    bars = []
    for number, month in enumerate(months):
        cents = cents_by_month.get(month, 0)
        height = round(max(cents, 0) / highest * (HEIGHT - LABEL_HEIGHT - 4), 1)
        x = round(number * step + step * (1 - BAR_SHARE) / 2, 1)
        amount = format_amount(cents, currency, locale=locale)
        y = round(HEIGHT - LABEL_HEIGHT - height, 1)
        middle = round(number * step + step / 2, 1)
        bars.append(Bar(month, amount, x, y, round(step * BAR_SHARE, 1), height, middle))
    total = format_amount(sum(cents_by_month.values()), currency, locale=locale)
    return Chart(currency, total, tuple(bars))
