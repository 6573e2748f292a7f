"""The statement of a booking: complete, deterministic, and safe to open in a spreadsheet."""

import csv
import io

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from contracts.actions.payments import add_amendment
from contracts.documents.statements import (
    FORMULA_PREFIXES,
    escape_formula,
    make_statement,
    statement_csv,
    statement_pdf,
)
from contracts.models import Leg
from contracts.queries import get_balance
from projects.actions.bookings import reverse_payment
from tests.contracts.conftest import book, pay, terms

pytestmark = pytest.mark.django_db


def read(leg):
    text = statement_csv(make_statement(leg)).decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text)))


@pytest.fixture
def settled(leg, seller) -> Leg:
    add_amendment(seller, leg=leg, kind="extras", items=[{"title": "Prints"}], cents=10_000)
    first = pay(leg, 40_000)
    reverse_payment(seller, receipt_id=first.id, key="1")
    pay(leg, 50_000)
    return leg


def test_all_charges_payments_and_the_balance_are_listed(settled):
    rows = [(text, *amounts) for _, text, *amounts, _ in read(settled)[1:]]
    assert rows == [
        ("Price: Portraits of the team", "1200.00", "", "1200.00"),
        ("Extras: Prints", "100.00", "", "1300.00"),
        ("Receipt 1, bank transfer", "", "400.00", "900.00"),
        ("Reversal receipt 2 (reverses 1)", "400.00", "", "1300.00"),
        ("Receipt 3, bank transfer", "", "500.00", "800.00"),
    ]
    assert make_statement(settled).balance_cents == get_balance(settled).open_cents


def test_the_same_records_give_the_same_bytes(settled):
    first, second = (make_statement(Leg.objects.get(pk=settled.pk)) for _ in range(2))
    assert statement_pdf(first) == statement_pdf(second)
    assert statement_pdf(first).startswith(b"%PDF")
    assert statement_csv(first) == statement_csv(second)
    pay(settled)
    assert statement_csv(make_statement(settled)) != statement_csv(first)


def test_amounts_have_the_decimals_of_the_currency(thread, buyer, seller):
    leg = book(thread, buyer, seller)
    Leg.objects.filter(pk=leg.pk).update(currency="KWD")
    assert read(Leg.objects.get(pk=leg.pk))[1][2:] == ["120.000", "", "120.000", "KWD"]


def test_text_of_a_user_is_not_a_formula(thread, buyer, seller):
    leg = book(thread, buyer, seller, terms(service="=1+1"))
    formula = '=HYPERLINK("https://a.example","x")'
    items = [{"title": formula}]
    add_amendment(seller, leg=leg, kind="extras", items=items, cents=5)
    cells = [cell for row in read(leg) for cell in row]
    assert not [cell for cell in cells if cell.startswith(FORMULA_PREFIXES)]


@given(st.text(st.sampled_from("=+-@\t\r\n'a1"), max_size=6))
def test_every_text_is_escaped(text):
    assert not escape_formula(text).startswith(FORMULA_PREFIXES)


def test_only_the_parties_can_download_it(settled, buyer, seller, stranger, client):
    for kind, content_type in (("pdf", "application/pdf"), ("csv", "text/csv; charset=utf-8")):
        page = reverse(f"projects:statement_{kind}", args=[settled.id])
        for user, status in ((buyer, 200), (seller, 200), (stranger, 404)):
            client.force_login(user)
            response = client.get(page)
            assert response.status_code == status
            if status == 200:
                assert response["Content-Type"] == content_type
                assert "attachment" in response["Content-Disposition"]


def test_a_long_statement_in_other_scripts_is_printed(leg, seller):
    for number in range(60):
        items = [{"title": f"{number} 写真 صورة संपादन " + "very long " * 12}]
        add_amendment(seller, leg=leg, kind="extras", items=items, cents=5)
    assert statement_pdf(make_statement(leg)).count(b"/Type /Page\n") > 2
