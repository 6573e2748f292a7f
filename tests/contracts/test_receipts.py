"""Payments recorded by the seller, their receipts and reversals.

Receipts are numbered without gaps for each seller, also under concurrency.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import DatabaseError, connection, connections, transaction
from django.utils import timezone

from contracts.actions import payments
from contracts.documents.receipts import receipt_pdf, receipt_rows, receipt_title
from contracts.models import LedgerEntry, Receipt
from contracts.queries import access_receipt, get_balance
from core.refusals import Refusal
from projects.actions.bookings import reverse_payment
from projects.panel.rebuild import list_differences
from tests.contracts.conftest import book, in_week, pay, sign
from tests.threads.conftest import make_person, messages_of, start
from threads.queries import open_thread


def account_of(leg, user):
    return open_thread(user, leg.thread_id).cached.tabs["expenses"].snapshot["legs"][0]


def balance_figures(leg):
    balance = get_balance(leg)
    return balance.paid_cents, balance.due_cents, balance.open_cents


def test_a_partial_payment_and_then_the_rest(leg, thread, buyer, seller, delivered):
    first, second = pay(leg, 40_000), pay(leg)
    assert [(r.number, r.amount_cents) for r in (first, second)] == [(1, 40_000), (2, 80_000)]
    assert get_balance(leg).open_cents == 0
    account = account_of(leg, buyer)
    assert (account["total"], account["paid"], account["open"]) == (120_000, 120_000, 0)
    assert [each["number"] for each in account["receipts"]] == [1, 2]
    assert "Nothing is outstanding. Receipt 2" in messages_of(thread)[-1].body
    assert "expenses" in {event["tab"] for event in delivered.to(buyer, "panel.changed")}


def test_the_amount_due_follows_from_contract_and_payments(leg, buyer, seller):
    assert balance_figures(leg) == (0, 0, 120_000)
    sign(buyer, leg)
    sign(seller, leg)
    assert balance_figures(leg) == (0, 40_000, 120_000)
    pay(leg, 15_000)
    assert balance_figures(leg) == (15_000, 25_000, 105_000)
    leg.status = "completed"
    assert get_balance(leg).due_cents == 105_000
    leg.status = "on_hold"
    assert get_balance(leg).due_cents == 0


def test_date_and_method_are_on_the_receipt_and_shown_to_both(leg, thread, buyer, seller):
    day = timezone.now().date() - timedelta(days=3)
    receipt = pay(leg, 12_345, paid_on=day, method="cash")
    rows = receipt_rows(receipt)
    assert (rows["Amount"], rows["Method"]) == ("EUR 123.45", "Cash")
    assert rows["Paid on"] == f"{day:%a} {day.day} {day:%b %Y}"
    for user in (buyer, seller):
        (shown,) = account_of(leg, user)["receipts"]
        assert (shown["paidOn"], shown["method"]) == (day.isoformat(), "cash")
    assert f"EUR 123.45 (cash, {rows['Paid on']})" in messages_of(thread)[-1].body


@pytest.mark.storage
def test_a_repeated_payment_is_recorded_once(leg, seller):
    first = pay(leg, key="1")
    again = pay(leg, 120_000, key="1", kind="payment", outstanding=120_000)
    assert first == again
    assert LedgerEntry.objects.filter(leg=leg).count() == 1
    with pytest.raises(Refusal, match="CLIENT_ID_REUSED"):
        pay(leg, 1, key="1", kind="payment")


@pytest.mark.storage
def test_a_payment_is_refused_if_the_balance_changed_since_it_was_shown(leg):
    pay(leg, 40_000)
    with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
        pay(leg, 40_000, outstanding=120_000)
    assert leg.ledger.count() == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"cents": 120_001},
        {"cents": 0},
        {"cents": -5},
        {"kind": "repayment"},
        {"paid_on": timezone.now().date() + timedelta(days=2)},
        {"paid_on": timezone.now().date() - timedelta(days=800)},
    ],
    ids=["too much", "nothing", "negative", "repayment", "future", "long ago"],
)
def test_an_impossible_payment_is_refused(leg, wrong):
    with pytest.raises(Refusal, match="PAYMENT_INVALID"):
        pay(leg, **({"cents": 100} | wrong))
    assert not leg.ledger.exists()


@pytest.mark.parametrize("wrong", [{"method": "barter"}, {"kind": "reversal"}])
def test_an_unknown_method_or_kind_of_payment_is_refused(leg, wrong):
    with pytest.raises(Refusal, match="BAD_FRAME"):
        pay(leg, 100, **wrong)


def test_refunds_and_extras_are_part_of_the_balance(leg, seller):
    payments.add_amendment(seller, leg=leg, kind="extras", items=[], cents=10_000)
    pay(leg)
    payments.add_amendment(seller, leg=leg, kind="refund", items=[], cents=30_000)
    assert get_balance(leg).open_cents == -30_000
    pay(leg, 10_000)
    assert get_balance(leg).open_cents == -20_000
    pay(leg)
    balance = get_balance(leg)
    assert (balance.total_cents, balance.paid_cents, balance.open_cents) == (100_000, 100_000, 0)
    kinds = [r.kind for r in leg.receipts.order_by("number")]
    assert kinds == ["payment", "repayment", "repayment"]


def test_only_the_seller_records_and_reverses(leg, buyer, stranger):
    receipt = pay(leg, 100)
    for user, code in ((buyer, "ACTION_FORBIDDEN"), (stranger, "THREAD_NOT_FOUND")):
        with pytest.raises(Refusal, match=code):
            pay(leg, by=user)
        with pytest.raises(Refusal, match=code):
            reverse_payment(user, receipt_id=receipt.id, key="1")


# --- Reversals


def test_a_reversal_undoes_a_payment_and_both_stay_recorded(leg, thread, buyer, seller):
    first, second = pay(leg, 40_000), pay(leg, 30_000)
    reversal = reverse_payment(seller, receipt_id=first.id, key="r")
    assert (reversal.number, reversal.kind, reversal.amount_cents) == (3, "reversal", 40_000)
    assert balance_figures(leg)[::2] == (30_000, 90_000)
    body = messages_of(thread)[-1].body
    assert "a reversal of the payment of EUR 400.00 (receipt 1). EUR 900.00 is outstanding" in body
    for user in (buyer, seller):
        account = account_of(leg, user)
        assert (account["paid"], account["open"]) == (30_000, 90_000)
        assert account["receipts"][0]["reversedBy"] == 3
        assert account["receipts"][2]["reverses"] == 1
    assert receipt_title(reversal) == "Reversal receipt 3"
    assert receipt_rows(reversal)["Reverses"].startswith("Receipt 1")
    assert "reversal receipt 3" in receipt_rows(access_receipt(buyer, first.id))["Reversed"]
    assert receipt_pdf(access_receipt(buyer, first.id)) != receipt_pdf(second)
    assert leg.ledger.count() == 3
    assert not list(list_differences(thread))


@pytest.mark.storage
def test_an_entry_is_reversed_once_and_a_reversal_cannot_be_reversed(leg, seller):
    first = pay(leg, 40_000)
    reversal = reverse_payment(seller, receipt_id=first.id, key="r")
    assert reverse_payment(seller, receipt_id=first.id, key="r") == reversal
    for receipt in (first, reversal):
        with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
            reverse_payment(seller, receipt_id=receipt.id, key=f"again {receipt.id}")
    assert balance_figures(leg)[::2] == (0, 120_000)
    pay(leg, 40_000)
    assert balance_figures(leg)[::2] == (40_000, 80_000)


def test_a_repayment_is_reversed_before_its_payment(leg, seller):
    paid = pay(leg)
    payments.add_amendment(seller, leg=leg, kind="refund", items=[], cents=120_000)
    repaid = pay(leg)
    assert balance_figures(leg)[::2] == (0, 0)
    with pytest.raises(Refusal, match="repaid"):
        reverse_payment(seller, receipt_id=paid.id, key="r")
    reverse_payment(seller, receipt_id=repaid.id, key="r2")
    assert balance_figures(leg)[::2] == (120_000, -120_000)
    reverse_payment(seller, receipt_id=paid.id, key="r3")
    assert balance_figures(leg)[::2] == (0, 0)


@pytest.mark.storage
@pytest.mark.parametrize(
    "change",
    [
        {"amount_cents": 1},
        {"currency": "USD"},
        {"kind": "payment"},
        {"reverses": None},
        {"method": "cash", "paid_on": timezone.now().date()},
        {"reverses": "the reversal"},
    ],
    ids=lambda change: "-".join(change) + f"-{change.get('reverses', '')}",
)
def test_the_database_refuses_invalid_reversals(leg, seller, change):
    entry = pay(leg, 40_000).entry
    other = pay(leg, 40_000).entry
    reversal = reverse_payment(seller, receipt_id=other.receipt.id, key="r").entry
    fields = {
        "leg": leg, "key": "k", "kind": "reversal", "amount_cents": 40_000, "currency": "EUR",
        "reverses": entry, "recorded_by": seller, "recorded_at": timezone.now(),
    }  # fmt: skip
    if change.get("reverses") == "the reversal":
        change = {"reverses": reversal}
    with pytest.raises(DatabaseError), transaction.atomic():
        LedgerEntry.objects.create(**(fields | change))
    with pytest.raises(DatabaseError), transaction.atomic():
        LedgerEntry.objects.create(**(fields | {"reverses": other}))
    LedgerEntry.objects.create(**fields)


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_concurrent_payments_and_reversals_never_exceed_the_balance():
    buyer, seller = make_person("Bea"), make_person("Sam")
    leg = book(start(buyer, seller), buyer, seller)

    def attempt(act) -> str:
        try:
            act()
        except Refusal as refusal:
            return refusal.code
        finally:
            connections.close_all()
        return ""

    with ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(attempt, [lambda: pay(leg, 80_000, outstanding=120_000)] * 2))
    assert sorted(codes) == ["", "ACTION_INVALID_STATE"] or "PAYMENT_INVALID" in codes
    assert balance_figures(leg)[::2] == (80_000, 40_000)
    receipt = leg.receipts.get()
    undo = [lambda key=key: reverse_payment(seller, receipt_id=receipt.id, key=key) for key in "ab"]
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(attempt, undo)) == ["", "ACTION_INVALID_STATE"]
    assert balance_figures(leg)[::2] == (0, 120_000)


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_fifty_concurrent_receipts_have_no_gap_and_no_duplicate():
    """Every seventh fails after it has taken its number, which has to be reused."""
    seller, other, buyer = (make_person(name) for name in ("Sam", "Sol", "Bea"))
    legs = [
        book(start(buyer, one), buyer, one, in_week(number, price_cents=1_000_000))
        for number, one in enumerate((seller, seller, other))
    ]

    def issue(number: int) -> None:
        leg = legs[number % 3]
        who = seller if leg.seller_id == seller.id else other
        try:
            _issue(who, leg, number)
        except InterruptedError:
            pass
        finally:
            connections.close_all()

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(issue, range(58)))
    failed = len([number for number in range(58) if number % 7 == 6])
    found = {
        who: sorted(Receipt.objects.filter(seller=who).values_list("number", flat=True))
        for who in (seller, other)
    }
    assert sum(len(numbers) for numbers in found.values()) == 58 - failed == 50
    for numbers in found.values():
        assert numbers == list(range(1, len(numbers) + 1))
    assert connection.vendor == ("postgresql" if "DATABASE_URL" in os.environ else "sqlite")


def _issue(seller, leg, number: int) -> None:
    with transaction.atomic():
        # The lock is held until the end, as in the action, so that the balance stays current.
        payments._lock(seller, leg.id)
        payments.record_payment(
            seller,
            leg_id=leg.id,
            key=f"n{number}",
            kind="payment",
            cents=100 + number,
            paid_on=timezone.now().date() - timedelta(days=1),
            method="card",
            outstanding=get_balance(leg).open_cents,
        )
        if number % 7 == 6:
            raise InterruptedError
