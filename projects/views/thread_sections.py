"""The thread page section of a booking: offers, proposals and the panel."""

from typing import Any

from accounts.models import User
from contracts.cards.card_type import BUYER, EITHER, SELLER
from contracts.cards.superseding import OFFER
from contracts.cards.types import TYPES
from projects.actions.panel import has_panel
from projects.panel.rendering import (
    get_shot_progress,
    list_tab_links,
    make_tab_view,
)
from threads.queries import OpenedThread


def project_section(
    user: User, opened: OpenedThread, can_write: bool, current_tab: str
) -> dict[str, Any]:
    return {
        "can_offer": can_write and _can_offer(user, opened),
        "proposals": _proposals(user, opened) if can_write else [],
        "panel": _panel(user, opened, current_tab),
        "progress": get_shot_progress(opened.cached),
    }


def _can_offer(user: User, opened: OpenedThread) -> bool:
    """Offers are made in threads of one buyer and one seller."""
    thread = opened.cached.thread
    is_of_two = thread.group_id is None or len(thread.parties) == 2
    return is_of_two and user.id in (thread.buyer_id, thread.seller_id)


def _proposals(user: User, opened: OpenedThread) -> list[dict[str, Any]]:
    """Card types that the user's role can propose about a booking. The status is checked when one
    is proposed."""
    thread = opened.cached.thread
    is_of_two = thread.is_project and len(thread.parties) == 2
    if not is_of_two or user.id not in (thread.buyer_id, thread.seller_id):
        return []
    role = BUYER if user.id == thread.buyer_id else SELLER
    return [
        {"type": kind.name, "label": kind.propose_label, "icon": kind.icon}
        for kind in TYPES.values()
        if kind.by in (role, EITHER) and kind.name != OFFER
    ]


def _panel(user: User, opened: OpenedThread, current: str) -> dict[str, Any] | None:
    if not has_panel(opened.cached, user.id):
        return None
    tabs = list_tab_links(opened.cached, current or "brief")
    for tab in tabs:
        tab |= make_tab_view(opened.cached, tab["name"], whole=tab["name"] == current)
    return {"tabs": tabs}
