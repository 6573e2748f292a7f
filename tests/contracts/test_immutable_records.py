"""Records that must not change are protected by database triggers, against ORM and SQL alike."""

import pytest
from django.db import DatabaseError, connection, transaction

from contracts.actions.payments import add_amendment
from contracts.models import (
    Amendment,
    CardStep,
    ContractVersion,
    DeliverableManifest,
    LedgerEntry,
    Leg,
    PaymentIntent,
    ProviderEvent,
    Receipt,
    Signature,
)
from contracts.models.provider import PAYMENT_FAILED
from projects.actions.bookings import deliver_finals
from tests.contracts.card_helpers import propose
from tests.contracts.conftest import pay, sign
from tests.contracts.payment_provider import pay_online

pytestmark = pytest.mark.storage
LISTING = f"{'a' * 64} 12 https://files.example/a.jpg a.jpg"


@pytest.fixture
def records(leg: Leg, buyer, seller) -> Leg:
    for user in (buyer, seller):
        sign(user, leg)
    pay(leg, leg.deposit_cents)
    deliver_finals(seller, leg_id=leg.id, key="1", title="Finals", listing=LISTING)
    add_amendment(seller, leg=leg, kind="extras", items=[{"title": "More"}], cents=100)
    propose("extras", leg)
    pay_online(leg, 100, PAYMENT_FAILED)
    return leg


IMMUTABLE = {
    Receipt: ("amount_cents", 1),
    Signature: ("legal_name", "Somebody Else"),
    LedgerEntry: ("amount_cents", 1),
    PaymentIntent: ("amount_cents", 1),
    ProviderEvent: ("amount_cents", 1),
    Amendment: ("amount_cents", 1),
    DeliverableManifest: ("title", "Other"),
    CardStep: ("why", "Other"),
}


def refused(statement: str, *values: object) -> None:
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


@pytest.mark.parametrize("kind", IMMUTABLE, ids=lambda kind: kind.__name__)
def test_a_record_is_neither_changed_nor_deleted_by_orm_or_sql(kind, records):
    table, (column, value) = kind._meta.db_table, IMMUTABLE[kind]
    record = kind.objects.latest("pk")
    before = kind.objects.filter(pk=record.pk).values().get()
    refused(f"UPDATE {table} SET {column} = %s", value)
    refused(f"DELETE FROM {table}")
    if connection.vendor == "postgresql":
        refused(f"TRUNCATE {table} CASCADE")
    with pytest.raises(DatabaseError), transaction.atomic():
        kind.objects.filter(pk=record.pk).update(**{column: value})
    with pytest.raises(DatabaseError), transaction.atomic():
        kind.objects.filter(pk=record.pk).delete()
    setattr(record, column, value)
    with pytest.raises(DatabaseError), transaction.atomic():
        record.save()
    assert kind.objects.filter(pk=record.pk).values().get() == before


@pytest.mark.parametrize("kind", IMMUTABLE, ids=lambda kind: kind.__name__)
def test_a_record_is_not_replaced_under_its_own_id(kind, records):
    """SQLite's INSERT OR REPLACE deletes the old row without firing delete triggers."""
    table, names = kind._meta.db_table, [field.column for field in kind._meta.concrete_fields]
    columns = ", ".join(names)
    if connection.vendor == "sqlite":
        refused(f"INSERT OR REPLACE INTO {table} ({columns}) SELECT {columns} FROM {table}")
    else:
        column = IMMUTABLE[kind][0]
        refused(
            f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table} "
            f"ON CONFLICT (id) DO UPDATE SET {column} = EXCLUDED.{column}"
        )


@pytest.mark.parametrize(
    "change",
    [
        "sha256 = 'f'",
        "number = 7",
        "clauses = '[]'",
        "pdf = NULL",
        "status = 'issued'",
        "signed_sha256 = 'f'",
    ],
)
def test_issued_and_signed_contracts_do_not_change(change, records):
    refused(f"UPDATE contracts_contractversion SET {change}")
    refused("DELETE FROM contracts_contractversion")


def test_a_void_version_stays_void(records, seller):
    ContractVersion.objects.update(status="void")
    for status in ("issued", "in_force"):
        refused(f"UPDATE contracts_contractversion SET status = '{status}'")


def test_a_receipt_needs_the_next_number(records, seller):
    receipt = Receipt.objects.get(seller=seller)
    entry = LedgerEntry.objects.create(
        leg=records, key="k", kind="payment", amount_cents=1, currency="EUR", note="n",
        recorded_by=seller, recorded_at=receipt.issued_at,
    )  # fmt: skip
    for number in (1, 3, 99):
        with pytest.raises(DatabaseError), transaction.atomic():
            Receipt.objects.create(
                seller=seller, number=number, buyer=receipt.buyer, leg=records, entry=entry,
                kind="payment", amount_cents=1, currency="EUR", seller_name="S", buyer_name="B",
                subject="x", issued_at=receipt.issued_at,
            )  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"price_cents": -1},
        {"deposit_cents": 10**12},
        {"currency": "XXX"},
        {"status": "perhaps"},
        {"cancellation": "never"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_an_invalid_leg_is_refused_by_the_database(leg, change):
    with pytest.raises(DatabaseError), transaction.atomic():
        Leg.objects.filter(pk=leg.pk).update(**change)
