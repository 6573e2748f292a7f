"""Labels of bookings in choice fields."""

from collections import Counter
from collections.abc import Sequence

from contracts.models import Leg
from contracts.models.bookings import BOOKED
from core.time_zones import local_time, zone_of

ID_CHARS = 4


def label_legs(legs: Sequence[Leg]) -> list[tuple[str, str]]:
    """Id and label of each leg. Identical labels get part of the id appended."""
    labels = [leg_label(leg) for leg in legs]
    seen = Counter(labels)
    return [
        (leg.id, label if seen[label] == 1 else f"{label} · {leg.id[-ID_CHARS:]}")
        for leg, label in zip(legs, labels, strict=True)
    ]


def leg_label(leg: Leg) -> str:
    """The service and the start in the booking's time zone."""
    starts = local_time(leg.starts_at, zone_of(leg.time_zone))
    label = f"{leg.service} · {starts:%a} {starts.day} {starts:%b %Y, %H:%M}"
    return label if leg.status == BOOKED else f"{label} · {leg.status.replace('_', ' ')}"
