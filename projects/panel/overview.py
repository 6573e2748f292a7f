"""The snapshot of the overview tab: for each booking its stages, its next step, terms and amounts.

It holds what the records say. What depends on the clock is decided when it is shown.
"""

from collections.abc import Iterable
from typing import Any

from contracts.next_step import CONTRACT, BookingRecords, NextStep, find_next_step, list_stages
from threads.dynamodb import keys

Snapshot = dict[str, Any]


def make_overview(bookings: Iterable[BookingRecords], *, group_id: str = "") -> Snapshot:
    """`group_id` is the group of several sellers, who see no terms of each other."""
    shown: Snapshot = {"bookings": [_booking(each, not group_id) for each in bookings]}
    return shown | {"group": group_id} if group_id else shown


def _booking(records: BookingRecords, is_private: bool) -> Snapshot:
    leg = records.leg
    stages = list_stages(records, is_private=is_private)
    shown: Snapshot = {
        "leg": leg.id,
        "service": leg.service,
        "buyer": leg.buyer_id,
        "seller": leg.seller_id,
        "status": leg.status,
        "stages": [{"name": stage.name, "done": stage.is_done} for stage in stages],
    }
    step = find_next_step(records)
    if not is_private:
        # Others may see who has not signed, as in the docs tab.
        is_shown = step is not None and step.kind == CONTRACT
        return shown | {"next": _step(step, "")} if step and is_shown else shown
    if step:
        shown["next"] = _step(step, step.record_id)
    balance = records.balance
    return shown | {
        "startsAt": keys.iso(leg.starts_at),
        "endsAt": keys.iso(leg.ends_at),
        "zone": leg.time_zone,
        "place": leg.place,
        "currency": leg.currency,
        "total": balance.total_cents,
        "paid": balance.paid_cents,
        "open": balance.open_cents,
        "openCards": sorted({card.type for card in records.open_cards}),
    }


def _step(step: NextStep, record_id: str) -> Snapshot:
    shown: Snapshot = {"kind": step.kind, "users": list(step.user_ids), "record": record_id}
    if step.cents:
        shown["cents"] = step.cents
    if step.not_before:
        shown["notBefore"] = keys.iso(step.not_before)
    return shown
