"""What a payment provider has to implement, and the events that it sends."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from contracts.models.provider import EVENT_TYPES
from core.refusals import Refusal


@dataclass(frozen=True)
class Notification:
    """One event of a provider, after its signature was verified.

    `intent` is the provider's id of the payment; `about` is its id of the refund, dispute or
    payout, and empty for events of the payment itself.
    """

    id: str
    type: str
    intent: str
    about: str
    cents: int
    currency: str
    occurred_at: datetime

    def __post_init__(self) -> None:
        if self.type not in EVENT_TYPES or self.cents <= 0 or not (self.id and self.intent):
            raise Refusal("BAD_FRAME")


class PaymentProvider(Protocol):
    """All calls are idempotent by `key`. None of them changes the ledger: only events do."""

    name: str

    def create_intent(self, *, key: str, leg_id: str, cents: int, currency: str) -> str:
        """Prepares a payment by the buyer and returns its id."""
        ...

    def refund(self, *, key: str, intent: str, cents: int) -> str:
        """Returns money to the buyer. `refund_succeeded` confirms it."""
        ...

    def pay_out(self, *, key: str, intent: str, cents: int) -> str:
        """Transfers money to the seller. `payout_paid` confirms it."""
        ...

    def read_webhook(self, body: bytes, headers: Mapping[str, str]) -> Notification:
        """Verifies the signature and refuses anything that the provider did not send."""
        ...
