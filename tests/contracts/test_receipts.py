"""Receipts: numbered without a gap for each seller, however many are issued at once."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections

from accounts.refusals import Refusal
from contracts.actions import payments
from contracts.models import LedgerEntry, Receipt
from contracts.queries import balance_of
from tests.contracts.conftest import book, terms
from tests.threads.conftest import make_person, messages_of, start
from threads.actions.bookings import record_payment
from threads.queries import open_thread

pytestmark = pytest.mark.storage


def test_a_deposit_then_the_rest(leg, thread, buyer, seller, delivered):
    first = record_payment(seller, leg_id=leg.id, key="1", what="deposit", shown=120_000)
    second = record_payment(seller, leg_id=leg.id, key="2", what="balance", shown=80_000)
    assert [(r.number, r.amount_cents) for r in (first, second)] == [(1, 40_000), (2, 80_000)]
    assert balance_of(leg).open_cents == 0
    account = open_thread(buyer, thread).state.tabs["expenses"].snapshot["legs"][0]
    assert (account["total"], account["paid"], account["open"]) == (120_000, 120_000, 0)
    assert [each["number"] for each in account["receipts"]] == [1, 2]
    assert "Receipt 2" in messages_of(thread)[-1].body
    assert "expenses" in {event["tab"] for event in delivered.to(buyer, "panel.changed")}


def test_pressing_twice_records_once(leg, seller):
    first = record_payment(seller, leg_id=leg.id, key="1", what="balance", shown=120_000)
    again = record_payment(seller, leg_id=leg.id, key="1", what="balance", shown=120_000)
    assert first == again
    assert LedgerEntry.objects.filter(leg=leg).count() == 1


def test_another_amount_than_the_one_on_the_page_is_not_recorded(leg, seller):
    record_payment(seller, leg_id=leg.id, key="1", what="deposit", shown=120_000)
    with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
        record_payment(seller, leg_id=leg.id, key="2", what="balance", shown=120_000)


def test_refunds_and_extras_are_part_of_the_sum(leg, seller):
    payments.add_amendment(seller, leg=leg, kind="extras", items=[], cents=10_000)
    record_payment(seller, leg_id=leg.id, key="1", what="balance", shown=130_000)
    payments.add_amendment(seller, leg=leg, kind="refund", items=[], cents=30_000)
    assert balance_of(leg).open_cents == -30_000
    record_payment(seller, leg_id=leg.id, key="2", what="repayment", shown=-30_000)
    balance = balance_of(leg)
    assert (balance.total_cents, balance.paid_cents, balance.open_cents) == (100_000, 100_000, 0)
    assert [r.kind for r in leg.receipts.order_by("number")] == ["payment", "repayment"]


def test_only_the_seller_records(leg, buyer, stranger):
    for user, code in ((buyer, "ACTION_FORBIDDEN"), (stranger, "THREAD_NOT_FOUND")):
        with pytest.raises(Refusal, match=code):
            record_payment(user, leg_id=leg.id, key="1", what="balance", shown=120_000)


@pytest.mark.django_db(transaction=True)
def test_fifty_at_once_have_no_gap_and_no_double():
    """Every seventh fails after it has taken its number, which then has to be free again."""
    seller, other, buyer = (make_person(name) for name in ("Sam", "Sol", "Bea"))
    much = terms(price_cents=1_000_000)
    legs = [book(start(buyer, one), buyer, one, much) for one in (seller, seller, other)]

    def issue(number: int) -> None:
        leg = legs[number % 3]
        who = seller if leg.seller_id == seller.id else other
        try:
            _issue(who, leg.id, number)
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


def _issue(seller, leg_id: str, number: int) -> None:
    from django.db import transaction

    with transaction.atomic():
        payments.record_payment(
            seller, leg_id=leg_id, key=f"n{number}", cents=100 + number, note="part"
        )
        if number % 7 == 6:
            raise InterruptedError
