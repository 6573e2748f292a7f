"""Terms of a leg, on their way from a form through an offer to a leg: checked, and plain enough to
be kept as JSON."""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from contracts.models.bookings import CANCELLATION
from contracts.models.fields import MAX_CENTS
from core.refusals import Refusal

MAX_LEGS = 10


@dataclass(frozen=True)
class Terms:
    service: str
    starts_at: datetime
    ends_at: datetime
    time_zone: str
    place: str
    price_cents: int
    deposit_cents: int
    cancellation: str

    @classmethod
    def read(cls, kept: dict[str, Any]) -> "Terms":
        times = {name: datetime.fromisoformat(kept[name]) for name in ("starts_at", "ends_at")}
        return cls(**{field.name: kept[field.name] for field in fields(cls)} | times)

    def kept(self) -> dict[str, Any]:
        times = {"starts_at": self.starts_at.isoformat(), "ends_at": self.ends_at.isoformat()}
        return asdict(self) | times

    @property
    def times(self) -> tuple[datetime, datetime]:
        return self.starts_at, self.ends_at

    def check(self) -> None:
        for is_wrong, sentence in self._wrong():
            if is_wrong:
                raise Refusal("OFFER_INVALID", sentence)

    def _wrong(self) -> list[tuple[bool, str]]:
        return [
            (not self.service.strip(), "Say what the service is."),
            (not self.place.strip(), "Say where it takes place."),
            (self.ends_at <= self.starts_at, "The end has to come after the start."),
            (self.time_zone not in available_timezones(), "That is not a time zone."),
            (not 0 <= self.price_cents <= MAX_CENTS, "The price is not one we can write down."),
            (
                not 0 <= self.deposit_cents <= self.price_cents,
                "The deposit cannot be more than the price.",
            ),
            (self.cancellation not in CANCELLATION, "Choose the cancellation terms."),
        ]


def hash_terms(title: str, currency: str, terms: list[Terms]) -> str:
    """Names exactly these terms: what was shown to whoever confirms them."""
    kept = json.dumps([title, currency, [each.kept() for each in terms]], sort_keys=True)
    return hashlib.sha256(kept.encode()).hexdigest()
