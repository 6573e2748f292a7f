"""Events of a payment provider, repeated and in any order: ledger, receipts and balance agree."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import IntegrityError, connections, transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contracts.documents.receipts import receipt_foot, receipt_rows
from contracts.ledger.events import receive_event, start_payment
from contracts.ledger.provider import Notification, PaymentProvider
from contracts.models import LedgerEntry, PaymentIntent, ProviderEvent, Receipt
from contracts.models.provider import (
    DISPUTE_OPENED,
    DISPUTE_REINSTATED,
    DISPUTE_WITHDRAWN,
    PAYMENT_FAILED,
    PAYMENT_SUCCEEDED,
    PAYOUT_PAID,
)
from contracts.queries import get_balance
from core.refusals import Refusal
from projects.actions.bookings import reverse_payment
from tests.contracts.conftest import book, pay
from tests.contracts.payment_provider import NOON, TestProvider, pay_online
from tests.threads.conftest import make_person, messages_of, start

PRICE = 120_000


@pytest.fixture
def provider() -> PaymentProvider:
    return TestProvider()


def begin(leg, provider, cents=PRICE, key=""):
    made, _ = start_payment(
        leg.buyer, provider, leg_id=leg.id, cents=cents, key=key or str(uuid4())
    )
    return made.reference


def deliver_all(provider):
    for each in provider.sent:
        receive_event(provider.name, each)


def figures(leg):
    rows = LedgerEntry.objects.filter(leg=leg).order_by("key")
    return sorted((row.kind, row.amount_cents) for row in rows), get_balance(leg).paid_cents


def test_an_intent_alone_is_not_a_payment(leg, provider):
    reference = begin(leg, provider)
    provider.send(PAYMENT_FAILED, reference)
    provider.send(DISPUTE_OPENED, reference, about="dsp_1")
    provider.send(PAYOUT_PAID, reference, about="po_1")
    deliver_all(provider)
    assert figures(leg) == ([], 0)
    assert not Receipt.objects.filter(leg=leg).exists()
    assert ProviderEvent.objects.filter(intent_reference=reference).count() == 3


def test_a_confirmed_payment_has_an_entry_a_receipt_and_a_message(leg, thread):
    pay_online(leg, 40_000)
    (entry,) = LedgerEntry.objects.filter(leg=leg)
    assert (entry.kind, entry.method, entry.recorded_by, entry.paid_on) == (
        *("payment", "online", None),
        NOON.date(),
    )
    rows = receipt_rows(entry.receipt)
    assert (rows["Amount"], rows["Method"]) == ("EUR 400.00", "Online payment")
    assert receipt_foot(entry.receipt) == "The payment provider confirmed this."
    assert messages_of(thread)[-1].body == (
        "The payment provider confirmed a payment of EUR 400.00. EUR 800.00 is outstanding. "
        "Receipt 1 is in the Expenses tab."
    )


def test_an_event_is_recorded_once_also_under_a_second_id(leg, provider):
    reference = begin(leg, provider)
    provider.send(PAYMENT_SUCCEEDED, reference)
    provider.send(PAYMENT_SUCCEEDED, reference)
    deliver_all(provider)
    deliver_all(provider)
    assert figures(leg) == ([("payment", PRICE)], PRICE)


def test_an_event_before_its_intent_is_recorded_when_that_is_stored(leg, provider):
    provider.amounts["pay_early"] = PRICE, "EUR"
    provider.create_intent = lambda **_: "pay_early"
    provider.send(PAYMENT_SUCCEEDED, "pay_early")
    deliver_all(provider)
    assert figures(leg) == ([], 0)
    begin(leg, provider)
    assert figures(leg) == ([("payment", PRICE)], PRICE)


@pytest.mark.parametrize("change", [{"currency": "USD"}, {"cents": PRICE + 1}])
def test_an_event_that_contradicts_its_intent_is_stored_and_not_recorded(leg, provider, change):
    reference = begin(leg, provider)
    provider.send(PAYMENT_SUCCEEDED, reference, **change)
    deliver_all(provider)
    assert figures(leg) == ([], 0)
    assert ProviderEvent.objects.filter(intent_reference=reference).exists()


def test_an_event_id_with_other_content_is_refused(leg, provider):
    reference = begin(leg, provider)
    provider.send(PAYMENT_SUCCEEDED, reference, 1, id="evt_same")
    provider.send(PAYMENT_SUCCEEDED, reference, 2, id="evt_same")
    receive_event(provider.name, provider.sent[0])
    with pytest.raises(Refusal, match="CLIENT_ID_REUSED"):
        receive_event(provider.name, provider.sent[1])
    assert figures(leg) == ([("payment", 1)], 1)


def test_only_the_buyer_starts_a_payment_of_at_most_the_outstanding_amount(leg, provider, stranger):
    for user, cents in (
        *((leg.seller, PRICE), (stranger, PRICE)),
        *((leg.buyer, PRICE + 1), (leg.buyer, 0)),
    ):
        with pytest.raises(Refusal):
            start_payment(user, provider, leg_id=leg.id, cents=cents, key="1")
    assert not PaymentIntent.objects.filter(leg=leg).exists()
    assert begin(leg, provider, key="1") == begin(leg, provider, key="1")
    with pytest.raises(Refusal, match="CLIENT_ID_REUSED"):
        begin(leg, provider, 5, key="1")


def test_a_confirmed_payment_is_not_reversed_by_the_seller(leg, seller):
    pay_online(leg, 40_000)
    receipt = Receipt.objects.get(leg=leg)
    with pytest.raises(Refusal, match="confirmed"):
        reverse_payment(seller, receipt_id=receipt.id, key="1")


@pytest.mark.storage
@pytest.mark.parametrize("more", [{}, {"method": "online"}])
def test_an_entry_needs_a_person_or_an_event(leg, seller, more):
    fields = {
        "leg": leg, "kind": "payment", "amount_cents": 5, "currency": "EUR",
        "recorded_at": timezone.now(), "paid_on": timezone.now().date(), "method": "cash",
    }  # fmt: skip
    with pytest.raises(IntegrityError), transaction.atomic():
        LedgerEntry.objects.create(key="a", **(fields | more))
    if more:
        with pytest.raises(IntegrityError), transaction.atomic():
            LedgerEntry.objects.create(key="b", recorded_by=seller, **(fields | more))


def test_a_malformed_event_is_refused():
    for change in ({"type": "other"}, {"cents": 0}, {"cents": -1}, {"id": ""}, {"intent": ""}):
        fields = {
            "id": "evt", "type": PAYMENT_SUCCEEDED, "intent": "pay", "about": "", "cents": 1,
            "currency": "EUR", "occurred_at": NOON,
        }  # fmt: skip
        with pytest.raises(Refusal):
            Notification(**(fields | change))


# --- Histories in any order


@st.composite
def histories(draw):
    """Refunds and disputes that return at most what was paid, and a delivery order that contains
    every event at least once."""
    parts = draw(st.lists(st.integers(1, 30_000), max_size=4))
    kinds = [draw(st.sampled_from(["refund", "lost", "won"])) for _ in parts]
    return list(zip(kinds, parts, strict=True)), draw(st.randoms(use_true_random=False))


def expected(parts):
    entries, paid = [("payment", PRICE)], PRICE
    for kind, cents in parts:
        entries.append(("repayment", cents))
        if kind == "won":
            entries.append(("reversal", cents))
        else:
            paid -= cents
    return sorted(entries), paid


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(histories())
def test_events_in_any_order_and_number_lead_to_the_same_ledger(thread, buyer, seller, history):
    parts, random = history
    with transaction.atomic():
        leg = book(thread, buyer, seller)
        provider = TestProvider()
        reference = begin(leg, provider)
        provider.send(PAYMENT_FAILED, reference)
        provider.send(PAYMENT_SUCCEEDED, reference)
        for number, (kind, cents) in enumerate(parts):
            if kind == "refund":
                provider.refund(key=str(number), intent=reference, cents=cents)
                continue
            provider.send(DISPUTE_OPENED, reference, cents, about=f"dsp_{number}")
            provider.send(DISPUTE_WITHDRAWN, reference, cents, about=f"dsp_{number}")
            if kind == "won":
                provider.send(DISPUTE_REINSTATED, reference, cents, about=f"dsp_{number}")
        provider.pay_out(key="p", intent=reference, cents=1)
        order = provider.sent + random.choices(provider.sent, k=len(provider.sent))
        random.shuffle(order)
        for each in order:
            before = list(LedgerEntry.objects.filter(leg=leg).order_by("id").values())
            receive_event(provider.name, each)
            after = list(LedgerEntry.objects.filter(leg=leg).order_by("id").values())
            assert after[: len(before)] == before
            assert get_balance(leg).paid_cents >= 0
        assert figures(leg) == expected(parts)
        receipts = Receipt.objects.filter(leg=leg).order_by("number")
        numbers = [each.number for each in receipts]
        assert numbers == list(range(numbers[0], numbers[0] + len(expected(parts)[0])))
        assert all(each.entry.event_id for each in receipts.select_related("entry"))
        transaction.set_rollback(True)


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_concurrent_events_are_recorded_once_with_receipts_without_gaps():
    buyer, seller = make_person("Bea"), make_person("Sam")
    leg = book(start(buyer, seller), buyer, seller)
    provider = TestProvider()
    reference = begin(leg, provider, 40_000)
    provider.send(PAYMENT_SUCCEEDED, reference)
    provider.refund(key="1", intent=reference, cents=10_000)
    pay(leg, 5_000)

    def deliver(number: int) -> None:
        try:
            receive_event(provider.name, provider.sent[number % 2])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(deliver, range(8)))
    deliver_all(provider)
    assert figures(leg) == (
        [("payment", 5_000), ("payment", 40_000), ("repayment", 10_000)],
        35_000,
    )
    numbers = Receipt.objects.filter(seller=seller).order_by("number")
    assert list(numbers.values_list("number", flat=True)) == [1, 2, 3]
