"""The terms of an offer for display, with the earlier value of each term that changed."""

from typing import Any

from contracts.fields import format_times
from contracts.models.bookings import CANCELLATION
from contracts.money import format_amount
from contracts.plans import describe_plan, list_instalments

Payload = dict[str, Any]
# Terms that are shown together.
TIMES = ("starts_at", "ends_at", "time_zone")


def total_of(payload: Payload) -> int:
    return sum(part["price_cents"] for part in payload["terms"])


def compare_terms(before: Payload, after: Payload) -> Payload:
    """The earlier values of the terms that changed, by part; None for a part that is new."""
    old, new = before["terms"], after["terms"]
    pairs = zip(old, new, strict=False)
    parts: list[Payload | None] = [
        {name: one.get(name) for name in one | other if one.get(name) != other.get(name)}
        for one, other in pairs
    ]
    parts += [None] * (len(new) - len(old))
    compared: Payload = {"parts": parts, "removed": [part["service"] for part in old[len(new) :]]}
    for name in ("title", "currency"):
        if before[name] != after[name]:
            compared[name] = before[name]
    if (total_of(before), before["currency"]) != (total_of(after), after["currency"]):
        compared["total"] = format_amount(total_of(before), before["currency"])
    return compared


def show_offer(payload: Payload) -> dict[str, Any]:
    """Values for the template: per part the rows of (label, value, earlier value)."""
    old: Payload = payload.get("old") or {}
    olds = old.get("parts") or [{}] * len(payload["terms"])
    currency: str = payload["currency"]
    old_currency: str = old.get("currency") or currency
    parts = [
        _show_part(part, earlier, currency, old_currency)
        for part, earlier in zip(payload["terms"], olds, strict=True)
    ]
    return {
        "parts": parts,
        "total": format_amount(total_of(payload), payload["currency"]),
        "old_total": old.get("total", ""),
        "old_title": old.get("title", ""),
        "removed": old.get("removed", []),
        "is_changed": bool(old),
    }


def _show_part(part: Payload, old: Payload | None, currency: str, old_currency: str) -> Payload:
    was = old or {}

    def row(name: str, old_text: str = "") -> Payload:
        return {"label": LABELS[name], "value": _format(name, part, currency), "old": old_text}

    def changed(name: str) -> Payload:
        money = name.endswith("_cents") and old is not None and old_currency != currency
        if name not in was and not money:
            return row(name)
        return row(name, _format(name, part | was, old_currency))

    when = {"label": "When", "value": _times(part), "old": ""}
    if any(name in was for name in TIMES):
        when["old"] = _times(part | was)
    return {
        "service": part["service"],
        "old_service": was.get("service", ""),
        "is_new": old is None,
        "when": when | {name: part[name] for name in TIMES},
        "rows": [changed(name) for name in _row_names(part, was)],
        "cancellation": changed("cancellation"),
    }


def _row_names(part: Payload, was: Payload) -> list[str]:
    """The usual payment plan is not shown."""
    names = ["place", "price_cents", "deposit_cents"]
    return [*names, "plan"] if part.get("plan") or was.get("plan") else names


LABELS = {
    "place": "Where",
    "price_cents": "Price",
    "deposit_cents": "Deposit",
    "plan": "Payment plan",
    "cancellation": "Cancellation policy",
}


def _times(part: Payload) -> str:
    return format_times(part["starts_at"], part["ends_at"], part["time_zone"])


def _format(name: str, part: Payload, currency: str) -> str:
    if name.endswith("_cents"):
        return format_amount(part[name], currency)
    if name == "plan":
        parts = list_instalments(part.get("plan"), part["price_cents"], part["deposit_cents"])
        return describe_plan(parts, currency)
    if name == "cancellation":
        return CANCELLATION[part[name]]
    return str(part[name])
