"""Size limit of tabs derived from records: the newest records are listed, the others counted.

`more` next to a list counts its unlisted entries. Totals include all records.
"""

from collections.abc import Iterator
from typing import Any

from projects.panel.large_tabs import measure_bytes

Snapshot = dict[str, Any]
# DynamoDB refuses items above 400 KB.
MAX_RECORDED_BYTES = 100 * 1024
# Records of one kind that are read for a tab.
MAX_LISTED = 100
# Order of the lists, which decides the end that is trimmed.
OLDEST_FIRST = {"manifests", "proofs", "amendments", "receipts"}
NEWEST_FIRST = {
    *("approved", "bookings", "documents", "earlier", "legs", "offers", "signing", "payments"),
    *("closed", "cards"),
}


def trim(snapshot: Snapshot) -> Snapshot:
    """Halves the largest list until the tab fits; the same records always give the same tab."""
    while measure_bytes(snapshot) > MAX_RECORDED_BYTES:
        lists = [each for each in _lists(snapshot) if each[0][each[1]]]
        if not lists:
            raise ValueError("a tab without records exceeds its size limit")
        _halve(*max(lists, key=_own_bytes))
    return snapshot


def _own_bytes(place: tuple[Snapshot, str]) -> int:
    """The size of a list without its nested lists."""
    holder, name = place
    inner = [each for entry in holder[name] if isinstance(entry, dict) for each in _lists(entry)]
    return _bytes(holder[name]) - sum(_bytes(within[inside]) for within, inside in inner)


def _bytes(entries: list[Any]) -> int:
    return measure_bytes({"": entries})


def count_more(holder: Snapshot, name: str, hidden: int) -> None:
    if hidden:
        more = holder.setdefault("more", {})
        more[name] = more.get(name, 0) + hidden


def _halve(holder: Snapshot, name: str) -> None:
    entries = holder[name]
    kept = len(entries) // 2
    cut = len(entries) - kept
    if name in OLDEST_FIRST:
        dropped, holder[name] = entries[:cut], entries[cut:]
    else:
        holder[name], dropped = entries[:kept], entries[kept:]
    # Closed cards are not counted.
    count_more(holder, name, sum(_counts(each) for each in dropped))


def _counts(entry: Any) -> bool:
    return not isinstance(entry, dict) or bool(entry.get("isOpen", True))


def _lists(holder: Snapshot) -> Iterator[tuple[Snapshot, str]]:
    for name, value in holder.items():
        if name in OLDEST_FIRST | NEWEST_FIRST:
            yield holder, name
            for entry in value:
                if isinstance(entry, dict):
                    yield from _lists(entry)
