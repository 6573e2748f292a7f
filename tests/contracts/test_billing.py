"""Billing details: private, copied to receipts when they are issued, and never changed there."""

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from contracts.actions.billing import net_amount, save_billing_details
from contracts.documents.receipts import receipt_pdf, receipt_rows
from contracts.models import BillingDetails, Receipt
from contracts.queries import access_receipt
from privacy.account_deletion import _delete_owned
from privacy.export.account import describe_person
from projects.actions.bookings import reverse_payment
from tests.contracts.conftest import pay

pytestmark = pytest.mark.django_db

SELLER = {
    "name": "Sam Studio Lda", "address": "Rua do Ouro 12\n1100 Lisboa", "vat_id": "PT501964843",
    "tax_rate": 2300,
}  # fmt: skip
BUYER = {"name": "Bea GmbH", "address": "Gasse 1, Wien", "vat_id": "", "tax_rate": None}


def test_a_receipt_has_the_details_of_both_and_the_tax(leg, buyer, seller):
    save_billing_details(seller, **SELLER)
    save_billing_details(buyer, **BUYER)
    rows = receipt_rows(pay(leg, 12_300))
    assert rows["Seller details"] == (
        "Sam Studio Lda, Rua do Ouro 12, 1100 Lisboa, VAT ID PT501964843"
    )
    assert rows["Buyer details"] == "Bea GmbH, Gasse 1, Wien"
    assert (rows["Net"], rows["Tax (23%)"], rows["Gross"]) == (
        *("EUR 100.00", "EUR 23.00"),
        "EUR 123.00",
    )


def test_a_receipt_without_details_looks_as_before(leg):
    receipt = pay(leg, 12_300)
    assert receipt.tax is None
    assert list(receipt_rows(receipt)) == [
        *("Number", "Issued", "Received by", "Paid by", "For", "Amount", "Paid on", "Method"),
        "Reference",
    ]


def test_issued_receipts_keep_the_details_of_their_time(leg, buyer, seller):
    save_billing_details(seller, **SELLER)
    receipt = pay(leg, 12_300)
    before = receipt_pdf(access_receipt(buyer, receipt.id))
    save_billing_details(seller, **(SELLER | {"name": "Other", "tax_rate": 600}))
    assert receipt_pdf(access_receipt(buyer, receipt.id)) == before
    made = reverse_payment(seller, receipt_id=receipt.id, key="1")
    assert made.tax == Receipt.objects.get(pk=receipt.pk).tax
    assert pay(leg, 10_600).tax["tax"] == 600


@given(st.integers(1, 10**10), st.integers(0, 10_000))
def test_net_and_tax_add_up_and_the_net_is_the_nearest(gross, rate):
    net = net_amount(gross, rate)
    assert 0 <= net <= gross
    assert abs(net * (10_000 + rate) - gross * 10_000) * 2 <= 10_000 + rate


def test_the_details_are_private_exported_and_deleted_with_the_account(buyer, seller, client):
    save_billing_details(seller, **SELLER)
    assert describe_person(seller)["billing"] == SELLER
    assert describe_person(buyer)["billing"] is None
    client.force_login(buyer)
    page = client.get(reverse("people:profile", args=[seller.handle])).content.decode()
    assert SELLER["name"] not in page
    assert SELLER["vat_id"] not in page
    _delete_owned(seller)
    assert not BillingDetails.objects.filter(user=seller).exists()


def test_the_page_saves_shows_and_removes_them(seller, client):
    client.force_login(seller)
    page = reverse("projects:billing")
    fields = {"name": "Sam  Studio", "address": "Rua 1\r\nLisboa", "vat_id": "pt 501.964.843"}
    assert client.post(page, fields | {"tax_rate": "7,7"}).status_code == 302
    details = BillingDetails.objects.get(user=seller)
    assert (details.name, details.address, details.vat_id, details.tax_rate) == (
        *("Sam Studio", "Rua 1\nLisboa"),
        *("PT501964843", 770),
    )
    assert 'value="7.7"' in client.get(page).content.decode()
    assert client.post(page, {"delete": "1"}).status_code == 302
    assert not BillingDetails.objects.filter(user=seller).exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("tax_rate", value) for value in ("101", "-1", "NaN", "1E+99", "9" * 9999, "1.234")),
        ("vat_id", "<script>"),
        ("vat_id", "PT1"),
        ("name", ""),
        ("address", "a" * 301),
    ],
)
def test_invalid_details_are_refused_at_their_field(seller, client, field, value):
    client.force_login(seller)
    fields = {"name": "Sam", "address": "Rua 1"} | {field: value}
    response = client.post(reverse("projects:billing"), fields)
    assert response.status_code == 400
    assert field in response.context["form"].errors
    assert not BillingDetails.objects.filter(user=seller).exists()


def test_the_action_checks_the_details_too(seller):
    with pytest.raises(ValidationError):
        save_billing_details(seller, **(SELLER | {"vat_id": "=1+1"}))
