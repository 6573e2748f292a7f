"""Files in a project panel: who may see them, and what a crash left open about them."""

from typing import Any

from accounts.models import User
from files.cleanup import list_unsettled_tab_uses
from files.models import File, TabUse
from files.tab_uses import release_from_tab, settle_in_tab
from projects.panel.large_tabs import read_full_snapshot
from threads.cleanup import UNSETTLED
from threads.dynamodb import keys
from threads.models import TabSnapshot, Thread


def settle_pins() -> int:
    """Files reserved for a pin belong to it if it was stored, and are free again if it was not."""
    pins = list_unsettled_tab_uses(UNSETTLED)
    for pin in pins:
        if not settle_pin(pin.file, pin):
            release_from_tab(pin)
    return len(pins)


def can_view_in_panel(user: User, thread: Thread, file: File) -> bool:
    use = getattr(file, "tab_use", None)
    if use is None or not thread.is_project or user.id not in thread.parties:
        return False
    return settle_pin(file, use)


def settle_pin(file: File, use: TabUse) -> bool:
    """Whether its pin is there, if a crash has left that open."""
    if use.settled_at:
        return True
    tab = TabSnapshot.find(keys.thread_pk(file.thread_id), keys.tab_sk(use.tab))
    is_there = tab is not None and any(
        _shows(item, use) for item in read_full_snapshot(tab)["items"]
    )
    if is_there:
        settle_in_tab(use.part, thread_id=file.thread_id)
    return is_there


def _shows(pin: dict[str, Any], use: TabUse) -> bool:
    """A pin may still be the link that its picture was fetched from."""
    return pin["id"] == use.part and pin.get("picture", {}).get("id") == use.file_id
