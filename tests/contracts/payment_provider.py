"""A payment provider for tests: it keeps the events that it would send."""

import itertools
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from contracts.ledger.events import receive_event, start_payment
from contracts.ledger.provider import Notification
from contracts.models import Leg, PaymentIntent
from contracts.models.provider import PAYMENT_SUCCEEDED, PAYOUT_PAID, REFUND_SUCCEEDED
from core.outbox.processing import process_now

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


class TestProvider:
    __test__ = False
    name = "test"

    def __init__(self) -> None:
        self.sent: list[Notification] = []
        self.amounts: dict[str, tuple[int, str]] = {}
        self._numbers = itertools.count(1)

    def create_intent(self, *, key: str, leg_id: str, cents: int, currency: str) -> str:
        reference = f"pay_{uuid4()}"
        self.amounts[reference] = cents, currency
        return reference

    def refund(self, *, key: str, intent: str, cents: int) -> str:
        return self.send(REFUND_SUCCEEDED, intent, cents, about=f"refund_{uuid4()}")

    def pay_out(self, *, key: str, intent: str, cents: int) -> str:
        return self.send(PAYOUT_PAID, intent, cents, about=f"payout_{uuid4()}")

    def read_webhook(self, body, headers) -> Notification:
        return self.sent[int(body)]

    def send(self, type_name: str, intent: str, cents: int = 0, *, about: str = "", **more) -> str:
        number = next(self._numbers)
        amount, currency = self.amounts[intent]
        fields = {"currency": currency, "id": f"evt_{uuid4()}"} | more
        at = NOON + timedelta(minutes=number)
        self.sent.append(
            Notification(
                type=type_name,
                intent=intent,
                about=about,
                cents=cents or amount,
                occurred_at=at,
                **fields,
            )
        )
        return about


def pay_online(leg: Leg, cents: int, outcome: str = PAYMENT_SUCCEEDED) -> PaymentIntent:
    """Starts an online payment and delivers its outcome."""
    provider = TestProvider()
    intent, _ = start_payment(leg.buyer, provider, leg_id=leg.id, cents=cents, key=str(uuid4()))
    provider.send(outcome, intent.reference)
    process_now(receive_event(provider.name, provider.sent[0]))
    return intent
