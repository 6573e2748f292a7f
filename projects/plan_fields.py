"""The fields of a payment plan in the form of an offer."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from django import forms

from contracts.fields import MAX_MOMENT_CHARS
from contracts.plans import (
    MAX_INSTALMENTS,
    MAX_YEAR,
    MILESTONES,
    SIGNED,
    Instalment,
    Plan,
    add_months,
    make_plan,
    split_evenly,
)
from projects.amount_field import AmountField, AmountForm

DEPOSIT, ONCE, MONTHLY, CUSTOM = "deposit", "once", "monthly", "custom"
PRESETS = {
    DEPOSIT: "Deposit and balance",
    ONCE: "Everything at once",
    MONTHLY: "Instalments",
    CUSTOM: "Custom",
}
ON_DATE = "date"
DUE_CHOICES = [
    ("", "Choose"),
    *((name, label[0].upper() + label[1:]) for name, label in MILESTONES.items()),
    (ON_DATE, "On a date"),
]
ROWS = range(MAX_INSTALMENTS)
REQUIRED = "This field is required."


class DayField(forms.DateField):
    """A date; the length of its text is limited before it is parsed."""

    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")

    def to_python(self, value: Any) -> date | None:
        if isinstance(value, str) and len(value) > MAX_MOMENT_CHARS:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        day = super().to_python(value)
        if day and not 2000 <= day.year <= MAX_YEAR:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        return day


def _row_fields(number: int) -> dict[str, forms.Field]:
    return {
        f"part{number}_cents": AmountField(label=f"Payment {number + 1}", required=False),
        f"part{number}_due": forms.ChoiceField(label="Due", choices=DUE_CHOICES, required=False),
        f"part{number}_on": DayField(label="Date", required=False),
    }


class _Rows(AmountForm):
    """The rows of a custom plan."""


for _number in ROWS:
    _Rows.base_fields |= _row_fields(_number)


class PlanFields(_Rows):
    """Presets and the rows of a custom plan. An empty amount in its last row is the remainder."""

    preset = forms.ChoiceField(
        label="Payment plan", choices=list(PRESETS.items()), required=False, initial=DEPOSIT
    )
    count = forms.IntegerField(
        label="Number of instalments",
        required=False,
        min_value=2,
        max_value=MAX_INSTALMENTS - 1,
        initial=3,
    )
    first_due = DayField(label="First instalment due", required=False)

    def rows(self) -> Iterator[dict[str, Any]]:
        """For the template."""
        for number in ROWS:
            yield {name: self[f"part{number}_{name}"] for name in ("cents", "due", "on")}

    def pop_plan_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """Removes the fields of the plan from cleaned data and returns them."""
        names = [*_Rows.base_fields, "preset", "count", "first_due"]
        return {name: data.pop(name, None) for name in names}

    def make_plan(self, data: dict[str, Any], price: int, deposit: int) -> Plan | None:
        """None for the usual plan. Errors are added to the fields."""
        preset = data.get("preset") or DEPOSIT
        if preset == DEPOSIT or not price:
            return None
        if preset == ONCE:
            return make_plan([Instalment(price, SIGNED)])
        if preset == MONTHLY:
            return self._make_monthly(data, price, deposit)
        return self._make_custom(data, price)

    def _make_monthly(self, data: dict[str, Any], price: int, deposit: int) -> Plan | None:
        first, count = data.get("first_due"), data.get("count")
        if not first:
            self.add_error("first_due", REQUIRED)
        if not count:
            self.add_error("count", REQUIRED)
        if not (first and count):
            return None
        amounts = split_evenly(price - deposit, count)
        parts = [
            Instalment(cents, add_months(first, number).isoformat())
            for number, cents in enumerate(amounts)
        ]
        planned = [Instalment(deposit, SIGNED), *parts]
        return make_plan([part for part in planned if part.cents])

    def _make_custom(self, data: dict[str, Any], price: int) -> Plan | None:
        filled = [n for n in ROWS if data.get(f"part{n}_due") or data.get(f"part{n}_cents")]
        if not filled:
            self.add_error("part0_due", REQUIRED)
            return None
        amounts = {number: data.get(f"part{number}_cents") for number in filled}
        if amounts[filled[-1]] is None:
            amounts[filled[-1]] = price - sum(cents or 0 for cents in amounts.values())
        dues = {number: self._due(data, number) for number in filled}
        for number, cents in amounts.items():
            if cents is None or cents <= 0:
                self.add_error(f"part{number}_cents", "Enter an amount above zero.")
        total = sum(cents or 0 for cents in amounts.values())
        if total != price:
            self.add_error("preset", "The payments don't add up to the price.")
        if self.errors:
            return None
        return make_plan([Instalment(amounts[n] or 0, dues[n]) for n in filled])

    def _due(self, data: dict[str, Any], number: int) -> str:
        due, day = data.get(f"part{number}_due") or "", data.get(f"part{number}_on")
        if not due:
            self.add_error(f"part{number}_due", REQUIRED)
        if due != ON_DATE:
            return due
        if not day:
            self.add_error(f"part{number}_on", REQUIRED)
        return day.isoformat() if day else ""


def plan_initial(plan: Plan | None) -> dict[str, Any]:
    """Initial values of the fields for an agreed plan."""
    if plan is None:
        return {"preset": DEPOSIT}
    initial: dict[str, Any] = {"preset": CUSTOM}
    for number, part in enumerate(plan):
        is_milestone = part["due"] in MILESTONES
        initial |= {
            f"part{number}_cents": part["cents"],
            f"part{number}_due": part["due"] if is_milestone else ON_DATE,
            f"part{number}_on": None if is_milestone else date.fromisoformat(part["due"]),
        }
    return initial
