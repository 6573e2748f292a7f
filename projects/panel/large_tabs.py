"""Tabs that are too large to be read whenever their thread is opened.

The content of such a tab is a separate item under the tab's version, read only to show the tab. The
snapshot in the thread holds just the indicator that the page shows.
"""

import hashlib
import json
from collections.abc import Callable
from typing import Any

from core.refusals import Refusal
from threads.dynamodb import keys
from threads.models import TabEdit, TabSnapshot

Snapshot = dict[str, Any]
# Size limit of an inline snapshot, which is read whenever the thread is opened.
MAX_INLINE_BYTES = 24 * 1024
MAX_READS = 4


def measure_bytes(snapshot: Snapshot) -> int:
    return len(_written_down(snapshot))


def _written_down(snapshot: Snapshot) -> bytes:
    return json.dumps(snapshot, ensure_ascii=False, sort_keys=True).encode()


def make_inline_snapshot(name: str, whole: Snapshot) -> Snapshot:
    """The snapshot stored with the thread: complete, or just the indicator of a large tab."""
    if measure_bytes(whole) <= MAX_INLINE_BYTES:
        return whole
    digest = hashlib.sha256(_written_down(whole)).hexdigest()
    told = INDICATORS[name](whole) if name in INDICATORS else None
    return {"large": True, "digest": digest, "told": told}


def is_large(tab: TabSnapshot) -> bool:
    return bool(tab.snapshot.get("large"))


def read_full_snapshot(tab: TabSnapshot) -> Snapshot:
    """Returns the complete snapshot; a large tab costs one more read."""
    found: TabSnapshot | None = tab
    for _ in range(MAX_READS):
        if found is None or not is_large(found):
            break
        item = TabEdit.find(found.pk, keys.edit_sk(found.name, found.version))
        if item is not None and item.snapshot is not None:
            return item.snapshot
        # The tab changed since the thread was read.
        found = TabSnapshot.find(tab.pk, tab.sk)
    if found is None or is_large(found):
        raise Refusal("TRY_AGAIN")
    return found.snapshot


def percent_done(snapshot: Snapshot) -> int | None:
    """The progress of a shot list; None if it is empty."""
    items = snapshot.get("items", [])
    if not items:
        return None
    return int(100 * sum(bool(item["done"]) for item in items) / len(items))


def count_pending(snapshot: Snapshot) -> int:
    waiting = [card for card in snapshot.get("cards", []) if card["isOpen"]]
    listed = len(snapshot["offers"]) + len(snapshot["signing"]) + len(waiting)
    listed += len(snapshot.get("payments", []))
    return listed + count_unlisted(snapshot)


def count_unlisted(snapshot: Snapshot) -> int:
    """Pending actions that the tab counts but does not list."""
    more = snapshot.get("more", {})
    return sum(more.get(name, 0) for name in ("offers", "signing", "payments", "cards"))


INDICATORS: dict[str, Callable[[Snapshot], int | None]] = {
    "shotlist": percent_done,
    "actions": count_pending,
}
