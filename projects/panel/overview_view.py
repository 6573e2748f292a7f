"""The overview tab as it is shown, and the next step in the header of the thread."""

from typing import Any
from urllib.parse import quote

from django.urls import reverse
from django.utils import timezone

from contracts.cards.card_type import BookingState
from contracts.fields import format_day, format_times
from contracts.models.bookings import BOOKED, CANCELLED, COMPLETED, ON_HOLD
from contracts.money import format_amount
from contracts.next_step import (
    AGREED,
    BALANCE,
    COMPLETION,
    CONTRACT,
    DAY,
    DEPOSIT,
    PAID,
    PAYMENT_KINDS,
    PROOFS,
    REPAYMENT,
    REVIEW,
    SIGNED,
    describe_others_step,
    describe_own_step,
    kind_of_pending,
)
from core.time_zones import local_time, zone_of
from projects.panel.large_tabs import is_large
from threads.cache import CachedThread
from threads.dynamodb import keys

Snapshot = dict[str, Any]

MAP_SEARCH = "https://www.openstreetmap.org/search?query="
STATUS_LABELS = {
    BOOKED: ("Booked", "accent"),
    ON_HOLD: ("In dispute", "danger"),
    COMPLETED: ("Completed", "ok"),
    CANCELLED: ("Cancelled", ""),
}
STAGE_LABELS = {
    AGREED: "Agreed",
    SIGNED: "Signed",
    DEPOSIT: "Deposit",
    DAY: "The day",
    PROOFS: "Proofs",
    COMPLETED: "Completed",
    PAID: "Paid",
    CANCELLED: "Cancelled",
}
REVIEW_TEXT = "Our safety team is reviewing this"
DIALOG = {"is_dialog": True}


def view_overview(snapshot: Snapshot, cached: CachedThread) -> dict[str, Any]:
    bookings = [_view_booking(each, cached) for each in snapshot.get("bookings", [])]
    return {
        "bookings": bookings,
        "several": len(bookings) > 1,
        "group": snapshot.get("group", ""),
        "more": snapshot.get("more", {}),
    }


def _view_booking(booking: Snapshot, cached: CachedThread) -> dict[str, Any]:
    label, tone = STATUS_LABELS[booking["status"]]
    shown = {
        "leg": booking["leg"],
        "service": booking["service"],
        "label": label,
        "tone": tone,
        "seller_name": cached.get_person(booking["seller"])["name"],
        "stages": _view_stages(booking),
        "step": _view_step(booking, cached),
        "is_on_hold": booking["status"] == ON_HOLD,
    }
    return shown | _view_terms(booking) if "startsAt" in booking else shown


def _view_stages(booking: Snapshot) -> list[dict[str, Any]]:
    """The first stage that is not reached is the current one."""
    shown, is_current = [], booking["status"] != ON_HOLD
    for stage in booking["stages"]:
        is_done = has_ended(booking) if stage["done"] is None else stage["done"]
        state = "done" if is_done else "current" if is_current else "ahead"
        is_current = is_current and is_done
        shown.append({"label": STAGE_LABELS[stage["name"]], "name": stage["name"], "state": state})
    return shown


def has_ended(booking: Snapshot) -> bool:
    return bool(keys.parse_iso(booking["endsAt"]) <= timezone.now())


def _view_terms(booking: Snapshot) -> dict[str, Any]:
    def money(cents: int) -> str:
        return format_amount(cents, booking["currency"])

    starts = keys.parse_iso(booking["startsAt"])
    return {
        "times": format_times(booking["startsAt"], booking["endsAt"], booking["zone"]),
        "starts": starts,
        # The local time there, to be compared with the viewer's.
        "local": f"{local_time(starts, zone_of(booking['zone'])):%Y-%m-%d %H:%M}",
        "place": booking["place"],
        "map_url": MAP_SEARCH + quote(booking["place"], safe=""),
        "total": money(booking["total"]),
        "paid": money(booking["paid"]),
        "open": money(abs(booking["open"])),
        "owes_back": booking["open"] < 0,
    }


def _view_step(booking: Snapshot, cached: CachedThread) -> dict[str, Any] | None:
    """The texts for the user who has to act and for others, with a button for each of them."""
    step = booking.get("next")
    if step is None:
        return None
    if step["kind"] == REVIEW:
        return _plain(REVIEW_TEXT)
    if "notBefore" in step and keys.parse_iso(step["notBefore"]) > timezone.now():
        starts = local_time(keys.parse_iso(booking["startsAt"]), zone_of(booking["zone"]))
        return _plain(f"Everything is set for {format_day(starts)}")
    names = " and ".join(cached.get_person(user_id)["name"] for user_id in step["users"])
    return {
        "users": step["users"],
        "own": describe_own_step(step["kind"]),
        "others": describe_others_step(step["kind"], names),
        "amount": format_amount(step["cents"], booking["currency"]) if "cents" in step else "",
        "buttons": _buttons(step, booking, cached.thread.id),
    }


def _plain(text: str) -> dict[str, Any]:
    """Nobody has to act."""
    return {"users": [], "own": text, "others": text, "amount": "", "buttons": []}


def _buttons(step: Snapshot, booking: Snapshot, thread_id: str) -> list[dict[str, Any]]:
    kind, record = step["kind"], step["record"]
    if not record:
        return []
    if kind in PAYMENT_KINDS:
        return _payment_buttons(kind, booking, thread_id)
    button = {"users": step["users"], "is_dialog": False, "label": "Review"}
    if kind == COMPLETION:
        url = reverse("projects:card_new", args=[thread_id, "complete"])
        return [button | {"label": "Mark as completed", "url": f"{url}?leg={record}"} | DIALOG]
    if kind == CONTRACT:
        url = reverse("projects:contract", args=[record])
        return [button | {"label": "Review and sign", "url": url}]
    return [button | {"url": reverse("projects:card", args=[record])}]


def _payment_buttons(kind: str, booking: Snapshot, thread_id: str) -> list[dict[str, Any]]:
    """Only the seller records payments and repayments."""
    url = reverse("projects:payment", args=[booking["leg"]])
    label = "Record a repayment" if kind == REPAYMENT else "Record a payment"
    buttons = [{"users": [booking["seller"]], "is_dialog": False, "label": label, "url": url}]
    if kind in (DEPOSIT, BALANCE):
        url = reverse("projects:panel_tab", args=[thread_id, "expenses"])
        due = {"users": [booking["buyer"]], "is_dialog": False, "label": "See what's due"}
        buttons.append(due | {"url": url, "tab": "expenses"})
    return buttons


# --- The whole thread: what can be proposed, and the next step in its header


def list_booking_states(cached: CachedThread) -> list[BookingState]:
    """The bookings of a thread, as far as they decide what can be proposed."""
    tab = cached.tabs.get("overview")
    if tab is None or is_large(tab):
        # The status is checked when a card is proposed.
        return [BookingState(BOOKED, is_in_force=True)] if cached.thread.is_project else []
    return [_state(each) for each in tab.snapshot["bookings"] if "endsAt" in each]


def _state(booking: Snapshot) -> BookingState:
    done = {stage["name"] for stage in booking["stages"] if stage["done"]}
    return BookingState(
        booking["status"],
        frozenset(booking["openCards"]),
        is_in_force=SIGNED in done,
        has_ended=has_ended(booking),
        has_approved_proofs=PROOFS in done,
    )


def find_thread_step(cached: CachedThread, user_id: str) -> dict[str, Any] | None:
    """The viewer's own step first, then one of another user, then what staff or the calendar
    decide. Before a booking it is the first pending action."""
    tab = cached.tabs.get("overview")
    if tab is None or is_large(tab):
        return _find_pending_step(cached, user_id)
    views = [_view_step(each, cached) for each in tab.snapshot["bookings"]]
    found = [step for step in views if step]
    if not found:
        return None
    step = min(found, key=lambda step: (user_id not in step["users"], not step["users"]))
    return _for_viewer(step, user_id)


def _for_viewer(step: dict[str, Any], user_id: str) -> dict[str, Any]:
    is_mine = user_id in step["users"]
    buttons = [button for button in step["buttons"] if user_id in button["users"]]
    return {
        "text": step["own"] if is_mine else step["others"],
        "is_mine": is_mine,
        "button": buttons[0] if buttons and is_mine else None,
    }


def _find_pending_step(cached: CachedThread, user_id: str) -> dict[str, Any] | None:
    waits = cached.thread.waits or []
    if not waits:
        return None
    first = next((each for each in waits if each["user"] == user_id), waits[0])
    kind = kind_of_pending(first["type"], is_buyer=first["user"] == cached.thread.buyer_id)
    name = cached.get_person(first["user"])["name"]
    is_mine = first["user"] == user_id
    text = describe_own_step(kind) if is_mine else describe_others_step(kind, name)
    return {"text": text, "is_mine": is_mine, "button": None}
