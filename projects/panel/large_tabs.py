"""Tabs that are too large to be read with every opening of their thread.

What such a tab holds is an item of its own, under the tab's version, which only the tab reads. With
the thread comes what is needed before anybody looks at it.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from core.refusals import Refusal
from threads.dynamodb import keys
from threads.models import TabEdit, TabSnapshot

Snapshot = dict[str, Any]
# What an item of a thread may weigh, since whoever opens the thread reads all of it.
MAX_INLINE_BYTES = 24 * 1024
MAX_READS = 4


def measure_bytes(snapshot: Snapshot) -> int:
    return len(_written_down(snapshot))


def _written_down(snapshot: Snapshot) -> bytes:
    return json.dumps(snapshot, ensure_ascii=False, sort_keys=True).encode()


def make_inline_snapshot(name: str, whole: Snapshot) -> Snapshot:
    """As the thread carries it: all of it, or what a page says of a tab that it does not show."""
    if measure_bytes(whole) <= MAX_INLINE_BYTES:
        return whole
    digest = hashlib.sha256(_written_down(whole)).hexdigest()
    told = INDICATORS[name](whole) if name in INDICATORS else None
    return {"large": True, "digest": digest, "told": told}


def is_large(tab: TabSnapshot) -> bool:
    return bool(tab.snapshot.get("large"))


def read_full_snapshot(tab: TabSnapshot) -> Snapshot:
    """One request more if it is large; none otherwise."""
    found: TabSnapshot | None = tab
    for _ in range(MAX_READS):
        if found is None or not is_large(found):
            break
        item = TabEdit.find(found.pk, keys.edit_sk(found.name, found.version))
        if item is not None and item.snapshot is not None:
            return item.snapshot
        # Somebody changed it since the thread was read.
        found = TabSnapshot.find(tab.pk, tab.sk)
    if found is None or is_large(found):
        raise Refusal("TRY_AGAIN")
    return found.snapshot


def get_tab_indicator(tab: TabSnapshot) -> Any:
    """What stands in the header of the thread, or on the tab."""
    return tab.snapshot["told"] if is_large(tab) else INDICATORS[tab.name](tab.snapshot)


def percent_done(snapshot: Snapshot) -> int | None:
    """Of a shot list; None while there is nothing to do."""
    items = snapshot.get("items", [])
    if not items:
        return None
    return int(100 * sum(bool(item["done"]) for item in items) / len(items))


def count_pending(snapshot: Snapshot) -> int:
    waiting = [card for card in snapshot.get("cards", []) if card["isOpen"]]
    listed = len(snapshot["offers"]) + len(snapshot["signing"]) + len(waiting)
    return listed + count_unlisted(snapshot)


def count_unlisted(snapshot: Snapshot) -> int:
    """Those that wait and are not listed."""
    more = snapshot.get("more", {})
    return sum(more.get(name, 0) for name in ("offers", "signing", "cards"))


INDICATORS: dict[str, Callable[[Snapshot], int | None]] = {
    "shotlist": percent_done,
    "actions": count_pending,
}
