"""Amounts and numbers in forms: parsed in the browser's locale and shown for review before they
bind."""

import re
import time
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from contracts.models import Card, Offer
from core.refusals import Refusal
from tests.contracts.card_helpers import propose

pytestmark = pytest.mark.django_db
GERMAN, ENGLISH = {"Accept-Language": "de-DE,de;q=0.9"}, {"Accept-Language": "en-GB"}
HOSTILE = ["1E+150000", "1E+9999999", "9" * 5000, "1e999999999999", "NaN", "-1", "0x10", "1_0"]


def extras(unit="40", quantity="1"):
    return {"items-0-title": "Backdrop", "items-0-quantity": quantity, "items-0-unit": unit}


def expense(amount="40", date="2026-05-01"):
    slip = SimpleUploadedFile("slip.txt", b"A slip")
    return {"merchant": "Taxi", "date": date, "amount": amount, "files": slip}


def offer(price="1200", **more):
    fields = {
        "title": "Portraits",
        "currency": "EUR",
        "form-TOTAL_FORMS": "1",
        "form-INITIAL_FORMS": "0",
        "form-0-service": "Portraits",
        "form-0-starts_at": "2027-05-14T10:00",
        "form-0-ends_at": "2027-05-14T16:00",
        "form-0-place": "Lisbon",
        "form-0-price": price,
        "form-0-deposit": "0",
        "form-0-cancellation": "moderate",
    }
    return fields | more


AMOUNTS = {"extras": extras, "expense": expense, "offer": offer}


@pytest.fixture
def send(leg, client):
    """Posts a form as the seller; `confirm` posts it again with the reviewed values."""
    client.force_login(leg.seller)

    def post(what, fields, *, headers=None, confirm=False, **more):
        name = "offer_new" if what == "offer" else "card_new"
        page = reverse(f"projects:{name}", args=[leg.thread_id, *([what] * (what != "offer"))])
        data = {"key": str(uuid4()), "leg": leg.id} | fields | more
        sent = client.post(page, data, headers=headers or {})
        if confirm:
            assert sent.status_code == 200
            hidden = re.findall(
                r'name="(reviewed|file_ids)" value="([^"]*)"', sent.content.decode()
            )
            data = {name: value for name, value in data.items() if name != "files"} | dict(hidden)
            sent = client.post(page, data, headers=headers or {})
        return sent

    return post


def count_records():
    return Card.objects.count(), Offer.objects.count()


@pytest.mark.parametrize(("what", "form"), AMOUNTS.items())
def test_a_hostile_amount_is_refused_quickly(send, what, form):
    before, started = count_records(), time.perf_counter()
    for text in HOSTILE:
        response = send(what, form(text))
        assert response.status_code == 400, text
        assert "Enter an amount" in (page := response.content.decode()) or "at most 15" in page
    assert time.perf_counter() - started < 0.5 * len(HOSTILE)
    assert count_records() == before


@pytest.mark.parametrize(
    ("what", "fields"),
    [
        ("extras", lambda text: extras(quantity=text)),
        ("overtime", lambda text: {"minutes": text}),
        ("proofs", lambda text: {"until": "2026-12-01T10:00", "most": text}),
        ("proofs", lambda text: {"until": text}),
        ("reschedule", lambda text: {"starts_at": text, "ends_at": "2027-05-20T10:00"}),
        ("expense", lambda text: expense(date=text)),
        ("offer", lambda text: offer(**{"form-0-starts_at": text})),
        ("offer", lambda text: offer(**{"form-TOTAL_FORMS": text})),
    ],
)
def test_a_hostile_number_or_date_is_refused(send, what, fields):
    before = count_records()
    for text in HOSTILE:
        assert send(what, fields(text)).status_code == 400, text
    assert count_records() == before


def test_a_date_at_the_edge_of_the_calendar_is_refused(send):
    before = count_records()
    for moment in ("0001-01-01T00:00", "9999-12-31T23:58", "0001-01-01T00:00+14:00"):
        end = moment[:11] + "23:59"
        assert send("proofs", {"until": moment}).status_code == 400
        assert send("reschedule", {"starts_at": moment, "ends_at": end}).status_code == 400
        assert send("expense", expense(date=moment[:10])).status_code == 400
    assert count_records() == before


def test_a_huge_number_of_offer_parts_does_not_break_the_form(send):
    response = send("offer", offer(**{"form-TOTAL_FORMS": "9" * 5000, "more": "1"}))
    assert response.status_code == 200


@pytest.mark.parametrize(("text", "headers"), [("1,200", ENGLISH), ("1.200", GERMAN)])
def test_an_amount_is_parsed_in_the_locale_and_shown_for_review(send, text, headers):
    before = count_records()
    for what, fields in (("extras", extras(text)), ("expense", expense(text))):
        response = send(what, fields, headers=headers)
        assert (response.status_code, count_records()) == (200, before)
        assert "Check before you send" in response.content.decode()
        assert "EUR 1,200.00" in response.content.decode()
    response = send("offer", offer(text), headers=headers)
    assert (response.status_code, count_records()) == (200, before)
    assert "EUR 1,200.00" in response.content.decode()


@pytest.mark.parametrize(
    ("currency", "price", "cents", "shown"),
    [("JPY", "120.000", 120_000, "JPY 120,000"), ("KWD", "12,5", 12_500, "KWD 12.500")],
)
def test_an_offer_is_in_the_minor_units_of_its_currency(send, currency, price, cents, shown):
    fields = offer(price, currency=currency)
    page = send("offer", fields, headers=GERMAN).content.decode()
    assert shown in page
    send("offer", fields, headers=GERMAN, confirm=True)
    made = Offer.objects.get(currency=currency)
    assert made.terms[0]["price_cents"] == cents


def test_an_offer_in_yen_has_no_decimal_places(send):
    response = send("offer", offer("1200.50", currency="JPY"), headers=ENGLISH)
    assert response.status_code == 400
    assert "Amounts in JPY have no decimal places." in response.content.decode()


@pytest.mark.parametrize(("what", "form"), AMOUNTS.items())
def test_an_ambiguous_amount_is_refused_with_both_readings(send, what, form):
    before = count_records()
    for text, headers in (("1,200", GERMAN), ("1,200", {}), ("1.200", ENGLISH), ("1.200", {})):
        response = send(what, form(text), headers=headers)
        assert response.status_code == 400
        assert "Did you mean 1,200.00 or 1.20?" in response.content.decode()
    assert count_records() == before


def test_the_reviewed_values_are_stored(send):
    assert send("extras", extras("1,200"), headers=ENGLISH, confirm=True).status_code == 302
    assert Card.objects.get(type="extras").payload["cents"] == 1_200_00
    assert send("expense", expense("18,40"), confirm=True).status_code == 302
    assert Card.objects.get(type="expense").payload["cents"] == 18_40
    assert send("overtime", {"minutes": "90"}, confirm=True).status_code == 302
    response = send("offer", offer("1.200,50"), confirm=True)
    assert response.status_code == 302
    assert Offer.objects.order_by("created_at").last().terms[0]["price_cents"] == 1_200_50


@pytest.mark.parametrize(("what", "form"), [("extras", extras), ("offer", offer)])
def test_values_changed_after_the_review_are_reviewed_again(send, what, form):
    before = count_records()
    shown = send(what, form("1200")).content.decode()
    reviewed = re.search(r'name="reviewed" value="([^"]*)"', shown)[1]
    again = send(what, form("12000"), reviewed=reviewed)
    assert (again.status_code, count_records()) == (200, before)
    assert "EUR 12,000.00" in again.content.decode()


def test_a_counter_offer_is_reviewed_too(leg, client):
    card = propose("extras", leg)
    client.force_login(leg.buyer)
    page = reverse("projects:card_transition", args=[card.id, "counter"])
    data = {"key": "k", "version": "1"} | extras("1 200")
    shown = client.post(page, data).content.decode()
    assert "EUR 1,200.00" in shown
    card.refresh_from_db()
    assert card.state == "pending"
    reviewed = re.search(r'name="reviewed" value="([^"]*)"', shown)[1]
    assert client.post(page, data | {"reviewed": reviewed}).status_code == 302
    assert Card.objects.get(counters=card).payload["cents"] == 1_200_00


def test_without_a_locale_an_ambiguous_amount_is_refused(leg):
    given = {"items": [{"title": "Backdrop", "quantity": 1, "unit": "1,200"}]}
    with pytest.raises(Refusal, match="CARD_INVALID") as refused:
        propose("extras", leg, given=given)
    assert "1,200.00 or 1.20" in refused.value.details["errors"]["items.0.unit"]
    for value in (40, 40.5, 10**30, True, None, ["40"]):
        with pytest.raises(Refusal, match="CARD_INVALID"):
            propose("extras", leg, given={"items": [given["items"][0] | {"unit": value}]})
