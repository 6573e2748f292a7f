"""The thread page section of a booking: offers, proposals and the panel."""

from typing import Any

from accounts.models import User
from contracts.cards.card_type import BUYER, SELLER, BookingState, CardType
from contracts.cards.proposals import explain_unavailable
from contracts.cards.superseding import OFFER
from contracts.cards.types import TYPES, cancel
from projects.actions.panel import has_panel
from projects.panel.overview_view import find_thread_step, list_booking_states
from projects.panel.rendering import (
    get_shot_progress,
    list_tab_links,
    make_tab_view,
)
from threads.queries import OpenedThread


def project_section(
    user: User, opened: OpenedThread, can_write: bool, current_tab: str
) -> dict[str, Any]:
    can_offer = can_write and _can_offer(user, opened)
    proposals = _proposals(user, opened) if can_write else []
    return {
        "can_offer": can_offer,
        "proposals": [each for each in proposals if not each["needs_staff"]],
        # Requests to staff are in the menu of the thread.
        "staff_proposals": [
            each for each in proposals if each["needs_staff"] and not each["reason"]
        ],
        "panel": _panel(user, opened, current_tab),
        "progress": get_shot_progress(opened.cached),
        "next_step": _next_step(user, opened),
    }


def _next_step(user: User, opened: OpenedThread) -> dict[str, Any] | None:
    if user.id not in opened.cached.thread.parties:
        return None
    return find_thread_step(opened.cached, user.id)


def _can_offer(user: User, opened: OpenedThread) -> bool:
    """Offers are made in threads of one buyer and one seller."""
    thread = opened.cached.thread
    is_of_two = thread.group_id is None or len(thread.parties) == 2
    return is_of_two and user.id in (thread.buyer_id, thread.seller_id)


def _proposals(user: User, opened: OpenedThread) -> list[dict[str, Any]]:
    """All card types, those that can be proposed first; the others say why they cannot."""
    if not _can_offer(user, opened):
        return []
    role = BUYER if user.id == opened.cached.thread.buyer_id else SELLER
    states = list_booking_states(opened.cached)
    found = [_proposal(kind, role, states) for kind in TYPES.values() if kind.name != OFFER]
    return sorted(found, key=lambda each: bool(each["reason"]))


def _proposal(kind: CardType, role: str, states: list[BookingState]) -> dict[str, Any]:
    return {
        "type": kind.name,
        "label": kind.propose_label,
        "description": kind.description,
        "icon": kind.icon,
        "is_destructive": kind.name == cancel.TYPE.name,
        "needs_staff": kind.needs_staff,
        "reason": explain_unavailable(kind, role, states),
    }


def _panel(user: User, opened: OpenedThread, current: str) -> dict[str, Any] | None:
    if not has_panel(opened.cached, user.id):
        return None
    tabs = list_tab_links(opened.cached, current or "overview")
    for tab in tabs:
        tab |= make_tab_view(opened.cached, tab["name"], whole=tab["name"] == current)
        if tab["name"] == "overview":
            # Without scripts nothing else hides the parts for the other user.
            tab["context"]["me"] = user.id
        if tab["name"] == "actions":
            tab["count"] = _count_own(user, opened)
    return {"tabs": tabs}


def _count_own(user: User, opened: OpenedThread) -> int:
    """What waits for the viewer, as in the filter of the inbox."""
    return sum(each["user"] == user.id for each in opened.cached.thread.waits or [])
