"""Rendering of tabs. Page and socket share one template, and its fragment is the same for all
viewers: the browser shows or hides the parts that carry a user's id."""

from collections.abc import Callable
from datetime import UTC, date
from typing import Any

from django.template.loader import get_template
from django.utils import timezone

from contracts.cards.types import TYPES
from contracts.instalments import AFTER_CANCELLATION, EXTRAS
from contracts.models.bookings import BOOKED, ON_HOLD
from contracts.models.documents import ISSUED
from contracts.models.money import METHOD_LABELS, PAYMENT, REPAYMENT, REVERSAL
from contracts.money import format_amount
from contracts.next_step import REPAYMENT as REPAYMENT_STEP
from contracts.next_step import describe_own_step
from contracts.plans import COMPLETED, DAY, PROOFS, SIGNED
from contracts.status import PROPOSE_CHANGE, RECORD_PAYMENT, SIGN, is_allowed
from projects.cards.rendering import UNKNOWN_ICON, UNKNOWN_LABEL, get_state_label
from projects.panel.editable_tabs import BRIEF_FIELDS, TEMPLATES
from projects.panel.large_tabs import (
    count_unlisted,
    is_large,
    percent_done,
    read_full_snapshot,
)
from projects.panel.overview_view import view_overview
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.models import TabSnapshot
from threads.models.tab import TAB_NAMES
from threads.rendering.attachments import view_in_tab

# When a payment is due that has no agreed date.
DUE_LABELS = {
    SIGNED: "When both have signed",
    DAY: "On the day",
    PROOFS: "When the proofs are approved",
    COMPLETED: "When completed",
    EXTRAS: "Extras, when completed",
    AFTER_CANCELLATION: "After the cancellation",
}
LABELS = {
    "overview": "Overview",
    "brief": "Brief",
    "moodboard": "Moodboard",
    "shotlist": "Shot list",
    "files": "Files",
    "docs": "Docs",
    "expenses": "Expenses",
    "actions": "Actions",
}


def render_tab(cached: CachedThread, name: str) -> str:
    """Renders in UTC; each browser formats the times in its own zone. A large tab is rendered as a
    placeholder, because it does not fit into a frame."""
    shown = make_tab_view(cached, name, whole=False)
    with timezone.override(UTC):
        return get_template(shown["template"]).render({"p": shown["context"]})


def make_tab_view(cached: CachedThread, name: str, *, whole: bool) -> dict[str, Any]:
    """Template and context of a tab. A large tab is read only if `whole`: one more request."""
    tab = cached.tabs.get(name)
    if tab is None or whole or not is_large(tab):
        return {
            "template": f"projects/panel/{name}.html",
            "context": make_tab_context(cached, name),
        }
    context = {
        "thread_id": cached.thread.id,
        "tab": name,
        "label": LABELS[name],
        "version": tab.version,
        "progress": _shot_progress(tab.snapshot),
    }
    return {"template": "projects/panel/large.html", "context": context}


def make_tab_context(cached: CachedThread, name: str) -> dict[str, Any]:
    tab = cached.tabs.get(name)
    snapshot = read_full_snapshot(tab) if tab else {}
    return {
        "thread_id": cached.thread.id,
        "tab": name,
        "is_there": tab is not None,
        "version": tab.version if tab else 0,
        "content": VIEWS[name](snapshot, cached),
        "people": [cached.get_person(user_id) for user_id in cached.thread.parties],
        "buyer": cached.thread.buyer_id,
        **_changed(tab, cached),
    }


def _changed(tab: TabSnapshot | None, cached: CachedThread) -> dict[str, Any]:
    if tab is None or not tab.version:
        return {}
    return {
        "changed_by": cached.get_person(tab.updated_by),
        "changed_at": keys.parse_iso(tab.updated_at),
    }


def get_shot_progress(cached: CachedThread) -> str:
    """The progress of the shot list, for the thread header."""
    tab = cached.tabs.get("shotlist")
    return _shot_progress(tab.snapshot) if tab else ""


def _shot_progress(snapshot: dict[str, Any]) -> str:
    """For example "3 of 19"; a large tab stores just the percentage."""
    if "told" in snapshot:
        return "" if snapshot["told"] is None else f"{snapshot['told']}%"
    items = snapshot.get("items", [])
    return f"{sum(bool(item['done']) for item in items)} of {len(items)}" if items else ""


def list_tab_links(cached: CachedThread, current: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "label": LABELS[name], "is_current": name == current} for name in TAB_NAMES
    ]


# --- Template contexts


def _brief(snapshot: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    fields = snapshot.get("fields", {})
    return {
        "fields": [
            _with_author(fields.get(name, {}), cached) | {"name": name, "label": label}
            for name, label in BRIEF_FIELDS.items()
        ]
    }


def _items(snapshot: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    items = [_with_author(item, cached) for item in snapshot.get("items", [])]
    for place, item in enumerate(items):
        item["place"] = place
        item["owner_name"] = cached.get_person(item["owner"])["name"] if item.get("owner") else ""
    return {"items": items}


def _moodboard(snapshot: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    shown = _items(snapshot, cached)
    shown["items"] = [_pin(item) for item in shown["items"]]
    return shown


def _pin(item: dict[str, Any]) -> dict[str, Any]:
    if "picture" not in item:
        return item | {"named": item["site"], "called": item["caption"] or item["site"]}
    view = view_in_tab(item["picture"])
    named = item.get("site") or view.name
    view.name = item["caption"] or named
    return item | {"view": view, "named": named, "called": view.name}


def _shotlist(snapshot: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    board = cached.tabs.get("moodboard")
    pins = [_pin(item) for item in (read_full_snapshot(board)["items"] if board else [])]
    shown = _items(snapshot, cached)
    for item in shown["items"]:
        item["pinned"] = next((pin for pin in pins if pin["id"] == item.get("pin")), None)
    more = {"percent": percent_done(snapshot), "progress": _shot_progress(snapshot)}
    return shown | more | {"templates": sorted(TEMPLATES), "pins": pins}


def _with_author(part: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    shown = {"text": "", "version": 0} | part
    if part.get("by"):
        shown |= {
            "author": cached.get_person(part["by"])["name"],
            "moment": keys.parse_iso(part["at"]),
        }
    return shown


def _files(snapshot: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    manifests = [
        each
        | {"author": cached.get_person(each["by"])["name"], "moment": keys.parse_iso(each["at"])}
        for each in snapshot.get("manifests", [])
    ]
    proofs = [
        each | {"view": view_in_tab(each), "author": cached.get_person(each["by"])["name"]}
        for each in snapshot.get("proofs", [])
    ]
    return {
        "manifests": manifests,
        "proofs": proofs,
        "approved": [_approved(each, cached) for each in snapshot.get("approved", [])],
        "sellers": snapshot.get("sellers", []),
        "more": snapshot.get("more", {}),
    }


def _approved(entry: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    return entry | {
        "author": cached.get_person(entry["by"])["name"],
        "moment": keys.parse_iso(entry["at"]),
        "pictures": [view_in_tab(each) for each in entry["pictures"]],
    }


def _docs(snapshot: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    documents = [_document(each, cached) for each in snapshot.get("documents", [])]
    return {"documents": documents, "more": snapshot.get("more", {})}


def _document(document: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    signed = {each["user"]: keys.parse_iso(each["at"]) for each in document["signatures"]}
    parties = [document["buyer"], document["seller"]]
    times = {
        name: keys.parse_iso(document[key])
        for name, key in (("starts", "startsAt"), ("ends", "endsAt"))
        if key in document
    }
    signers = [
        {"id": user_id, "name": cached.get_person(user_id)["name"], "at": signed.get(user_id)}
        for user_id in parties
    ]
    status = document.get("legStatus", BOOKED)
    may = {"sign": document["status"] == ISSUED and is_allowed(status, SIGN)}
    may["change"] = is_allowed(status, PROPOSE_CHANGE)
    return document | times | {"signers": signers, "may": may}


def _expenses(snapshot: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    legs = [_account(leg, cached) for leg in snapshot.get("legs", [])]
    totals = [
        {
            name: format_amount(total[name], total["currency"])
            for name in ("total", "paid", "due", "open")
            if name in total
        }
        for total in snapshot.get("totals", [])
    ]
    shown = {"legs": legs, "totals": totals, "several": len(legs) > 1}
    shown["more"] = snapshot.get("more", {})
    return shown | {"shared": snapshot.get("shared", False), "group": snapshot.get("group", "")}


def _account(leg: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    def money(cents: int) -> str:
        return format_amount(cents, leg["currency"])

    shown = {name: money(leg[name]) for name in ("price", "deposit", "total", "paid", "open")}
    # Snapshots made by earlier versions have no status.
    status = leg.get("status", BOOKED)
    may_record = is_allowed(status, RECORD_PAYMENT)
    return {
        **shown,
        "leg": leg["leg"],
        "service": leg["service"],
        "seller": leg["seller"],
        "due": money(leg["due"]) if leg.get("due") else "",
        "may_record": may_record and leg["open"] != 0,
        "is_on_hold": status == ON_HOLD,
        "owes_back": leg["open"] < 0,
        "owed": money(-leg["open"]),
        "amendments": [a | {"amount": money(a["cents"])} for a in leg["amendments"]],
        "receipts": [_receipt(each, money) for each in leg["receipts"]],
        "plan": [_instalment(each, money) for each in leg.get("plan", ())],
        "seller_name": cached.get_person(leg["seller"])["name"],
        "more": leg.get("more", {}),
    }


def _instalment(part: dict[str, Any], money: Callable[[int], str]) -> dict[str, Any]:
    open_cents = part["cents"] - part["paid"]
    return {
        "amount": money(part["cents"]),
        "when": DUE_LABELS.get(part["due"], ""),
        "due_on": date.fromisoformat(part["dueOn"]) if part["dueOn"] else None,
        "is_paid": open_cents <= 0,
        "paid": money(part["paid"]) if part["paid"] else "",
    }


def _receipt(receipt: dict[str, Any], money: Callable[[int], str]) -> dict[str, Any]:
    """The sign is a minus if the entry reduces the outstanding amount."""
    kind, reversed_kind = receipt["kind"], receipt.get("reversesKind")
    is_less = kind == PAYMENT or reversed_kind == REPAYMENT
    return receipt | {
        "amount": money(receipt["cents"]),
        "sign": "−" if is_less else "+",
        "title": {PAYMENT: "Receipt", REVERSAL: "Reversal receipt"}.get(kind, "Credit note"),
        "moment": keys.parse_iso(receipt["at"]),
        "paid_on": date.fromisoformat(receipt["paidOn"]) if "paidOn" in receipt else None,
        "method": METHOD_LABELS.get(receipt.get("method", ""), ""),
    }


def _actions(snapshot: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    def shown(entry: dict[str, Any]) -> dict[str, Any]:
        more: dict[str, Any] = {}
        if "cents" in entry:
            more["amount"] = format_amount(entry["cents"], entry["currency"])
            more["moment"] = keys.parse_iso(entry["at"])
            more["author"] = cached.get_person(entry["by"])["name"]
        return entry | more | {"waits_for": cached.get_person(entry["waitsFor"])["name"]}

    cards = [_card(card, cached) for card in snapshot.get("cards", [])]
    lists = {
        name: [shown(entry) for entry in snapshot.get(name, [])]
        for name in ("offers", "signing", "closed")
    }
    return lists | {
        "payments": [_payment(entry, cached) for entry in snapshot.get("payments", [])],
        "open_cards": [card for card in cards if card["isOpen"]],
        "closed_cards": [card for card in cards if not card["isOpen"]],
        "hidden": count_unlisted(snapshot),
    }


def _payment(entry: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    return entry | {
        "amount": format_amount(entry["due"], entry["currency"]),
        "what": describe_own_step(entry["kind"]),
        "is_repayment": entry["kind"] == REPAYMENT_STEP,
        "waits_for": cached.get_person(entry["waitsFor"])["name"],
    }


def _card(card: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    kind = TYPES.get(card["type"])
    return card | {
        "label": kind.label if kind else UNKNOWN_LABEL,
        "icon": kind.icon if kind else UNKNOWN_ICON,
        "word": get_state_label(card["state"]),
        "author": cached.get_person(card["by"])["name"],
        "waits_for": ", ".join(cached.get_person(user_id)["name"] for user_id in card["waitsFor"]),
        "moment": keys.parse_iso(card["at"]),
        "due": keys.parse_iso(card["dueAt"]) if card["dueAt"] else None,
    }


VIEWS = {
    "overview": view_overview,
    "brief": _brief,
    "moodboard": _moodboard,
    "shotlist": _shotlist,
    "files": _files,
    "docs": _docs,
    "expenses": _expenses,
    "actions": _actions,
}
