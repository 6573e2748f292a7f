"""The payments page: what is owed and due by currency, and what was paid by month."""

from datetime import date, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from contracts.actions.payments import add_amendment
from contracts.models import Leg
from contracts.payment_totals import list_months, list_open_accounts, sum_paid, sum_received
from contracts.plans import Instalment, make_plan
from projects.actions.bookings import reverse_payment
from projects.payment_chart import make_charts
from tests.contracts.conftest import book, in_week, pay, sign

pytestmark = pytest.mark.django_db

ENGLISH = {"Accept-Language": "en-GB"}


def open_page(client, user, **headers):
    client.force_login(user)
    response = client.get(reverse("projects:payments"), headers=headers or ENGLISH)
    assert response.status_code == 200
    return response


def test_both_parties_see_what_is_open_and_due(leg, buyer, seller, client):
    sign(buyer, leg)
    sign(seller, leg)
    pay(leg, 10_000)
    page = open_page(client, buyer)
    (total,) = page.context["owe"]["totals"]
    assert (total["open"], total["due"], total["overdue"]) == ("€1,100.00", "€300.00", "")
    assert page.context["owed"]["rows"] == []
    assert reverse("projects:payment", args=[leg.id]) not in page.content.decode()
    page = open_page(client, seller)
    (row,) = page.context["owed"]["rows"]
    assert (row["state"], row["other"], row["open"]) == ("due", buyer.display_name, "€1,100.00")
    text = page.content.decode()
    assert reverse("projects:payment", args=[leg.id]) in text
    assert "Mark as paid" in text


def test_settled_bookings_and_those_of_others_are_not_listed(leg, buyer, seller, stranger, client):
    assert len(list_open_accounts(buyer)[0]) == 1
    assert list_open_accounts(stranger) == ([], 0)
    pay(leg)
    assert list_open_accounts(buyer) == ([], 0)
    page = open_page(client, stranger).content.decode()
    assert "You don't owe anything." in page
    assert leg.service not in page


def test_a_repayment_is_owed_by_the_seller(leg, buyer, seller, client):
    pay(leg)
    items = [{"title": "Less work"}]
    add_amendment(seller, leg=leg, kind="refund", items=items, cents=20_000)
    (row,) = open_page(client, seller).context["owe"]["rows"]
    assert (row["state"], row["open"], row["may_record"]) == ("repay", "€200.00", True)
    (row,) = open_page(client, buyer).context["owed"]["rows"]
    assert (row["state"], row["may_record"]) == ("repay", False)


def test_currencies_are_never_added(buyer, seller, make_leg, client):
    yen = make_leg(in_week(1))
    make_leg(in_week(2))
    Leg.objects.filter(pk=yen.pk).update(currency="JPY")
    totals = open_page(client, buyer).context["owe"]["totals"]
    assert [each["open"] for each in totals] == ["€1,200.00", "JP¥120,000"]


def test_the_next_payment_of_a_plan_is_named(thread, buyer, seller, client):
    plan = make_plan([Instalment(50_000, "2027-03-01"), Instalment(70_000, "completed")])
    leg = book(thread, buyer, seller, in_week(3, plan=plan))
    (row,) = open_page(client, buyer).context["owe"]["rows"]
    assert row["next"] == "€500.00 on Mon 1 Mar 2027"
    pay(leg, 50_000)
    (row,) = open_page(client, buyer).context["owe"]["rows"]
    assert row["next"] == "€700.00 when completed"


def test_payments_count_in_their_month_and_reversals_in_that_of_their_entry(leg, buyer, seller):
    today = timezone.now().date()
    earlier = today.replace(day=1) - timedelta(days=3)
    wrong = pay(leg, 30_000, paid_on=earlier)
    pay(leg, 20_000, paid_on=earlier)
    reverse_payment(seller, receipt_id=wrong.id, key="r")
    (found,) = sum_received(seller, today)
    assert (found.month, found.currency, found.cents) == (earlier.replace(day=1), "EUR", 20_000)
    assert sum_paid(buyer, today) == [found]
    assert sum_paid(seller, today) == []


def test_the_chart_has_a_bar_and_a_row_for_each_month(leg, buyer, seller, client):
    pay(leg, 30_000)
    page = open_page(client, seller).content.decode().partition("<main")[2]
    assert page.count("<rect ") == 12
    title = "Received by month in EUR: €300.00 in 12 months"
    assert f'<title id="received-EUR">{title}</title>' in page
    assert page.count("€300.00</td>") == 1
    assert "style=" not in page.partition("</main>")[0]


def test_the_months_are_the_last_twelve():
    months = list_months(date(2027, 2, 28))
    assert (months[0], months[-1], len(months)) == (date(2026, 3, 1), date(2027, 2, 1), 12)
    assert make_charts([], date(2027, 2, 28), "") == []


def test_the_number_of_queries_does_not_grow_with_the_bookings(
    buyer, seller, make_leg, client, django_assert_max_num_queries
):
    for number in range(2):
        pay(make_leg(in_week(number)), 100)
    open_page(client, buyer)
    page = reverse("projects:payments")
    with django_assert_max_num_queries(10) as few:
        client.get(page)
    for number in range(2, 6):
        pay(make_leg(in_week(number)), 100)
    with django_assert_max_num_queries(10) as many:
        client.get(page)
    assert len(few) == len(many)
