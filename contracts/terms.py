"""Terms of a leg: validated, and stored as JSON in an offer until it is accepted."""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from contracts.models.bookings import CANCELLATION
from contracts.models.fields import MAX_CENTS
from contracts.plans import Plan, check_plan
from contracts.refusals import AMOUNT_TOO_LARGE, DEPOSIT_TOO_LARGE, END_BEFORE_START
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
    # See contracts/plans.py.
    plan: Plan | None = None

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Terms":
        times = {name: datetime.fromisoformat(stored[name]) for name in ("starts_at", "ends_at")}
        names = [field.name for field in fields(cls) if field.name != "plan"]
        # Offers without a plan do not store one.
        return cls(**{name: stored[name] for name in names} | times, plan=stored.get("plan"))

    def to_json(self) -> dict[str, Any]:
        times = {"starts_at": self.starts_at.isoformat(), "ends_at": self.ends_at.isoformat()}
        stored = asdict(self) | times
        if self.plan is None:
            del stored["plan"]
        return stored

    @property
    def times(self) -> tuple[datetime, datetime]:
        return self.starts_at, self.ends_at

    def check(self) -> None:
        for is_wrong, sentence in self._rules():
            if is_wrong:
                raise Refusal("OFFER_INVALID", sentence)
        check_plan(self.plan, self.price_cents)

    def _rules(self) -> list[tuple[bool, str]]:
        return [
            (not self.service.strip(), "Enter the service."),
            (not self.place.strip(), "Enter the place."),
            (self.ends_at <= self.starts_at, END_BEFORE_START),
            (self.time_zone not in available_timezones(), "Choose a valid time zone."),
            (not 0 <= self.price_cents <= MAX_CENTS, AMOUNT_TOO_LARGE),
            (
                not 0 <= self.deposit_cents <= self.price_cents,
                DEPOSIT_TOO_LARGE,
            ),
            (self.cancellation not in CANCELLATION, "Choose a cancellation policy."),
        ]


def hash_terms(
    title: str, currency: str, terms: list[Terms], valid_until: datetime | None = None
) -> str:
    """A hash of the terms, which confirms that exactly these were reviewed."""
    parts = [each.to_json() for each in terms]
    until = valid_until.isoformat() if valid_until else ""
    content = json.dumps([title, currency, parts, until], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
