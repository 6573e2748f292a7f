"""Payment plans: their parts, due dates, allocation of payments, reminders and form."""

from datetime import UTC, date, datetime, timedelta
from uuid import uuid4

import pytest
import time_machine
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from contracts.actions.reminders import list_threads_to_check
from contracts.documents.clauses import TEMPLATES, list_differing_clauses, render_clauses
from contracts.instalments import DueInstalment, _allocate, _reduce, list_accounts
from contracts.models import Dossier, Leg, Offer, PaymentReminder
from contracts.plans import Instalment, add_months, list_instalments, make_plan, split_evenly
from contracts.queries import get_balance
from contracts.terms import Terms
from core.refusals import Refusal
from projects.actions.bookings import accept_offer
from projects.cards.deadline_worker import send_payment_reminders
from projects.panel.rebuild import list_differences
from tests.contracts.conftest import book, in_week, offer_in, pay, sign, terms
from tests.contracts.test_card_races import run_concurrently
from tests.threads.conftest import make_person, messages_of, start
from threads.cache import reload

pytestmark = pytest.mark.django_db

PLAN = make_plan(
    [
        Instalment(20_000, "signed"),
        Instalment(30_000, "2027-03-01"),
        Instalment(30_000, "day"),
        Instalment(40_000, "completed"),
    ]
)


@pytest.fixture
def planned(thread, buyer, seller) -> Leg:
    return book(thread, buyer, seller, terms(plan=PLAN))


def sign_both(leg):
    sign(leg.buyer, leg)
    sign(leg.seller, leg)


def at(day: str, hour: int = 12) -> datetime:
    return datetime.combine(date.fromisoformat(day), datetime.min.time(), UTC).replace(hour=hour)


def due(leg, day):
    return get_balance(leg, at=at(day)).due_cents


# --- Plans


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ([], "1 to 6 payments"),
        ([{"cents": 120_000, "due": "signed"}] * 7, "1 to 6 payments"),
        ([{"cents": 0, "due": "day"}, {"cents": 120_000, "due": "day"}], "above zero"),
        ([{"cents": 130_000, "due": "day"}, {"cents": -10_000, "due": "day"}], "above zero"),
        ([{"cents": 120_000, "due": "never"}], "when each payment is due"),
        ([{"cents": 120_000, "due": "0001-01-01"}], "when each payment is due"),
        ([{"cents": 119_999, "due": "signed"}], "add up to the price"),
    ],
)
def test_a_plan_that_does_not_fit_the_price_is_refused(thread, seller, plan, message):
    with pytest.raises(Refusal, match=message):
        offer_in(thread, seller, terms(plan=plan))
    assert not Offer.objects.filter(thread_id=thread).exists()


def test_terms_without_a_plan_are_stored_as_before():
    stored = terms().to_json()
    assert "plan" not in stored
    assert Terms.from_json(stored) == terms()
    assert Terms.from_json(terms(plan=PLAN).to_json()).plan == PLAN
    assert list_instalments(None, 100, 30) == [
        Instalment(30, "signed"),
        Instalment(70, "completed"),
    ]


@given(st.integers(1, 10**10), st.integers(1, 6))
def test_equal_parts_add_up_to_the_amount(cents, count):
    parts = split_evenly(cents, count)
    assert (sum(parts), len(parts)) == (cents, count)
    assert max(parts) - min(parts) < count


@given(
    st.lists(
        st.tuples(st.integers(1, 1000), st.none() | st.dates(date(2026, 1, 1), date(2027, 1, 1))),
        max_size=6,
    ),
    st.integers(-10, 4000),
    st.integers(0, 4000),
)
def test_payments_are_allocated_to_the_oldest_due_first(parts, paid, refund):
    made = [DueInstalment(cents, "x", day) for cents, day in parts]
    found = list(_allocate(made, paid))
    total = sum(cents for cents, _ in parts)
    assert sum(each.paid_cents for each in found) == min(max(paid, 0), total)
    ordered = sorted(found, key=lambda each: each.due_on or date.max)
    for earlier, later in zip(ordered, ordered[1:], strict=False):
        assert later.paid_cents == 0 or earlier.open_cents == 0
    assert sum(each.cents for each in _reduce(made, refund)) == max(total - refund, 0)


def test_months_end_on_their_last_day():
    days = [add_months(date(2027, 1, 31), number).isoformat() for number in range(4)]
    assert days == ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30"]


# --- Due amounts


def test_what_is_due_follows_from_dates_and_milestones(planned):
    assert due(planned, "2027-03-02") == 0
    sign_both(planned)
    planned.refresh_from_db()
    assert due(planned, "2027-02-28") == 20_000
    assert due(planned, "2027-03-01") == 50_000
    assert due(planned, "2027-05-14") == 80_000
    pay(planned, 45_000)
    assert due(planned, "2027-03-01") == 5_000
    planned.status = "completed"
    assert due(planned, "2027-05-20") == 75_000
    planned.status = "on_hold"
    assert due(planned, "2027-05-20") == 0


def test_an_agreed_date_after_the_completion_stays(thread, buyer, seller):
    plan = make_plan([Instalment(20_000, "proofs"), Instalment(100_000, "2027-12-01")])
    leg = book(thread, buyer, seller, terms(plan=plan))
    leg.status = "completed"
    assert due(leg, "2027-05-20") == 20_000
    assert due(leg, "2027-12-01") == 120_000


def test_overdue_begins_a_week_after_the_due_date(planned):
    sign_both(planned)
    account = get_balance(planned, at=at("2027-03-07"))
    pay(planned, 20_000)
    assert account.overdue_cents == 20_000
    assert get_balance(planned, at=at("2027-03-07")).overdue_cents == 0
    assert get_balance(planned, at=at("2027-03-08")).overdue_cents == 30_000


def test_the_number_of_queries_does_not_grow_with_the_bookings(
    buyer, seller, make_leg, django_assert_num_queries
):
    legs = [make_leg(in_week(number)) for number in range(4)]
    for count in (1, 4):
        with django_assert_num_queries(3):
            list_accounts(legs[:count])


# --- The contract and the panel


def test_the_contract_states_the_plan(planned, thread, buyer, seller):
    version = planned.contract.versions.get()
    (clause,) = [each for each in version.clauses if each["title"] == "Price and payment"]
    assert (
        "EUR 200.00 when both have signed; EUR 300.00 on 1 March 2027; EUR 300.00 on the day of "
        "the booking; EUR 400.00 when the work is completed."
    ) in clause["text"]
    assert version.template == 2
    assert list_differing_clauses(planned, 2, version.clauses) == []
    planned.plan = None
    assert list_differing_clauses(planned, 2, version.clauses) == ["Price and payment"]
    old = render_clauses(planned, 1)
    assert old[2]["title"] == "Price and deposit"
    assert len(TEMPLATES[1]) == len(TEMPLATES[2])


def test_the_plan_is_in_the_expenses_tab(planned, thread):
    sign_both(planned)
    pay(planned, 25_000)
    (account,) = reload(thread).tabs["expenses"].snapshot["legs"]
    assert [(each["cents"], each["paid"], each["due"]) for each in account["plan"]] == [
        (20_000, 20_000, "signed"),
        (30_000, 5_000, "2027-03-01"),
        (30_000, 0, "day"),
        (40_000, 0, "completed"),
    ]
    with time_machine.travel(at("2027-03-05"), tick=False):
        assert list(list_differences(thread)) == []


def test_a_change_of_the_booking_changes_its_plan(planned, thread, buyer, seller):
    new = make_plan([Instalment(120_000, "day")])
    offer = offer_in(thread, seller, terms(plan=new), changes=planned.id)
    accept_offer(buyer, offer_id=offer.id)
    planned.refresh_from_db()
    assert planned.plan == new


# --- Reminders


def reminders(thread):
    return [each.body for each in messages_of(thread) if each.body.startswith("Payment ")]


def test_a_reminder_is_sent_once_when_due_and_once_when_overdue(planned, thread):
    sign_both(planned)
    pay(planned, 20_000)
    send_payment_reminders()
    assert reminders(thread) == []
    assert Dossier.objects.get(pk=thread).reminders_at == at("2027-03-01", 9)
    with time_machine.travel(at("2027-03-01", 9), tick=False):
        assert send_payment_reminders() == 1
        assert send_payment_reminders() == 0
        assert reminders(thread) == ["Payment due: EUR 300.00 for Portraits of the team."]
        (account,) = reload(thread).tabs["expenses"].snapshot["legs"]
        assert account["due"] == 30_000
    with time_machine.travel(at("2027-03-08", 10), tick=False):
        assert send_payment_reminders() == 1
        assert send_payment_reminders() == 0
        assert reminders(thread)[1:] == [
            "Payment overdue: EUR 300.00 for Portraits of the team was due on Mon 1 Mar 2027."
        ]
    with time_machine.travel(at("2027-05-01", 10), tick=False):
        assert send_payment_reminders() == 0


def test_what_is_paid_on_hold_or_unsigned_is_not_reminded(planned, thread):
    for prepare in (
        lambda: None,
        lambda: (sign_both(planned), pay(planned, 80_000)),
        lambda: Leg.objects.filter(pk=planned.pk).update(status="on_hold"),
    ):
        prepare()
        Dossier.objects.filter(pk=thread).update(reminders_at=at("2027-01-01"))
        with time_machine.travel(at("2027-05-30"), tick=False):
            assert send_payment_reminders() == 0
    assert reminders(thread) == []
    assert not PaymentReminder.objects.filter(leg=planned).exists()


def test_the_usual_deposit_is_reminded_a_day_after_the_signatures(leg, thread):
    sign_both(leg)
    send_payment_reminders()
    assert reminders(thread) == []
    tomorrow = datetime.now(UTC) + timedelta(days=2)
    with time_machine.travel(tomorrow, tick=False):
        assert send_payment_reminders() == 1
    assert reminders(thread) == ["Payment due: EUR 400.00 for Portraits of the team."]


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_several_workers_send_one_reminder():
    buyer, seller = make_person("Bea"), make_person("Sam")
    leg = book(start(buyer, seller), buyer, seller, terms(plan=PLAN))
    sign_both(leg)
    Dossier.objects.filter(pk=leg.thread_id).update(reminders_at=at("2026-01-01"))
    with time_machine.travel(at("2027-03-03"), tick=False):
        assert leg.thread_id in list_threads_to_check()
        assert run_concurrently(send_payment_reminders, send_payment_reminders) == ["", ""]
    assert PaymentReminder.objects.filter(leg=leg).count() == 2
    assert len(reminders(leg.thread_id)) == 2


# --- The form


@pytest.fixture
def send(thread, seller, client):
    client.force_login(seller)

    def post(**more):
        fields = {
            "key": str(uuid4()), "title": "Portraits", "currency": "EUR",
            "form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "0", "form-0-service": "Portraits",
            "form-0-starts_at": "2027-05-14T10:00", "form-0-ends_at": "2027-05-14T16:00",
            "form-0-place": "Lisbon", "form-0-price": "1000", "form-0-deposit": "100",
            "form-0-cancellation": "moderate",
        } | {f"form-0-{name}": value for name, value in more.items()}  # fmt: skip
        page = reverse("projects:offer_new", args=[thread])
        response = client.post(page, fields)
        context = response.context
        if response.status_code == 200 and "review" in context:
            fields["reviewed"] = context["review"]["terms_hash"]
            assert client.post(page, fields).status_code == 302
            return Offer.objects.latest("created_at").terms[0].get("plan")
        return context["legs"].forms[0].errors

    return post


def test_the_presets_of_the_form(send):
    assert send() is None
    assert send(preset="deposit") is None
    assert send(preset="once") == [{"cents": 100_000, "due": "signed"}]
    assert send(preset="monthly", count="4", first_due="2027-01-31") == [
        {"cents": 10_000, "due": "signed"},
        {"cents": 22_500, "due": "2027-01-31"},
        {"cents": 22_500, "due": "2027-02-28"},
        {"cents": 22_500, "due": "2027-03-31"},
        {"cents": 22_500, "due": "2027-04-30"},
    ]


def test_a_custom_plan_with_the_remainder_in_its_last_row(send):
    rows = {"part0_cents": "300.50", "part0_due": "signed", "part1_due": "date"}
    assert send(preset="custom", part1_on="2027-02-01", **rows) == [
        {"cents": 30_050, "due": "signed"},
        {"cents": 69_950, "due": "2027-02-01"},
    ]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"preset": "other"}, "preset"),
        ({"preset": "monthly", "count": "9"}, "count"),
        ({"preset": "monthly", "count": "3"}, "first_due"),
        ({"preset": "monthly", "first_due": "9" * 10_000, "count": "3"}, "first_due"),
        ({"preset": "monthly", "first_due": "9999-12-01", "count": "3"}, "first_due"),
        ({"preset": "custom"}, "part0_due"),
        ({"preset": "custom", "part0_due": "date", "part0_cents": "1000"}, "part0_on"),
        ({"preset": "custom", "part0_cents": "1000"}, "part0_due"),
        ({"preset": "custom", "part0_due": "day", "part0_cents": "999"}, "preset"),
        ({"preset": "custom", "part0_due": "day", "part0_cents": "1E9"}, "part0_cents"),
        (
            {"preset": "custom", "part0_due": "day", "part0_cents": "1000", "part1_due": "day"},
            "part1_cents",
        ),
    ],
)
def test_a_plan_that_is_not_complete_is_refused_at_its_field(send, fields, name):
    assert name in send(**fields)
    assert not Offer.objects.filter(title="Portraits").exists()


def test_a_change_starts_with_the_agreed_plan(planned, client):
    client.force_login(planned.seller)
    page = reverse("projects:offer_new", args=[planned.thread_id]) + f"?changes={planned.id}"
    form = client.get(page).context["legs"].forms[0]
    assert form["preset"].value() == "custom"
    assert [str(form[f"part{n}_cents"].value()) for n in (0, 3)] == ["200.00", "400.00"]
    assert (form["part1_due"].value(), str(form["part1_on"].value())) == ("date", "2027-03-01")
