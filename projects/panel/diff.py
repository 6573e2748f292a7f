"""The changed parts between two versions of an editable tab."""

from typing import Any

Snapshot = dict[str, Any]
ORDER = "order"


def diff(before: Snapshot, after: Snapshot) -> list[Snapshot]:
    """Lists one entry for each changed part, with its changed values before and after.

    `None` on one side means that the part did not exist there.
    """
    old, new = _parts(before), _parts(after)
    changed = [part for part in old | new if old.get(part) != new.get(part)]
    return [_entry(part, old.get(part), new.get(part)) for part in changed] + _reordered(old, new)


def _parts(snapshot: Snapshot) -> dict[str, Snapshot]:
    """The fields of a brief by name; the items of the other tabs by id."""
    if "fields" in snapshot:
        return dict(snapshot["fields"])
    return {item["id"]: item for item in snapshot.get("items", [])}


def _entry(part: str, old: Snapshot | None, new: Snapshot | None) -> Snapshot:
    if old is None or new is None:
        return {"part": part, "before": old, "after": new}
    changed = [name for name in old | new if old.get(name) != new.get(name)]
    return {
        "part": part,
        "before": {name: old[name] for name in changed if name in old},
        "after": {name: new[name] for name in changed if name in new},
    }


def _reordered(old: dict[str, Snapshot], new: dict[str, Snapshot]) -> list[Snapshot]:
    """The order of the items, if the items in both versions were reordered."""
    kept = [part for part in old if part in new], [part for part in new if part in old]
    if kept[0] == kept[1]:
        return []
    return [{"part": ORDER, "before": list(old), "after": list(new)}]
