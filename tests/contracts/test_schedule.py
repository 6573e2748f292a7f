"""A seller's schedule: valid dates, no overlapping bookings, and offers closed by an acceptance."""

from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from contracts.models import Dossier, Leg, Offer
from contracts.models.bookings import SUPERSEDED
from core.refusals import Refusal
from projects.actions.bookings import accept_offer, withdraw_offer
from projects.panel.rebuild import list_differences, rebuild
from tests.contracts.card_helpers import answer, new_time, propose
from tests.contracts.conftest import IN_MAY, book, in_week, offer_in, sign, terms
from tests.contracts.test_amount_forms import offer as offer_form
from tests.contracts.test_card_races import run_concurrently
from tests.threads.checker import assert_consistent
from tests.threads.conftest import make_person, messages_of, start
from threads.queries import open_thread

KEY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def at(start_, hours=6, **more):
    return terms(starts_at=start_, ends_at=start_ + hours * HOUR, **more)


def get_refusal(act):
    with pytest.raises(Refusal) as refusal:
        act()
    return refusal.value


def status_of(*offers):
    return [Offer.objects.get(pk=offer.pk).status for offer in offers]


# --- Valid dates


def test_an_offer_for_an_impossible_date_is_not_made(thread, seller):
    for start_ in (
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(2020, 5, 1, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=UTC),
        timezone.now() - HOUR,
        timezone.now() + timedelta(days=5 * 365),
    ):
        refusal = get_refusal(lambda start_=start_: offer_in(thread, seller, at(start_)))
        assert refusal.code == "OFFER_INVALID"
    assert not Offer.objects.exists()
    assert offer_in(thread, seller, at(timezone.now() + timedelta(days=5 * 365 - 1)))


def test_the_form_of_an_offer_refuses_an_impossible_date(thread, seller, client):
    client.force_login(seller)
    for year in ("0001", "2020", "9999"):
        times = {name: f"{year}-05-14T{hour}:00" for name, hour in (("starts", 10), ("ends", 16))}
        fields = offer_form() | {f"form-0-{name}_at": moment for name, moment in times.items()}
        response = client.post(reverse("projects:offer_new", args=[thread]), fields | {"key": KEY})
        assert response.status_code == 400
    assert not Offer.objects.exists()


def test_an_offer_whose_start_has_passed_is_not_accepted(thread, buyer, seller):
    offer = offer_in(thread, seller)
    past = at(timezone.now() - HOUR).to_json()
    Offer.objects.filter(pk=offer.pk).update(terms=[past])
    refusal = get_refusal(lambda: accept_offer(buyer, offer_id=offer.id))
    assert (refusal.code, refusal.message) == (
        "ACTION_INVALID_STATE",
        "The start must be in the future.",
    )
    assert status_of(offer) == ["pending"]
    assert not Leg.objects.exists()


def test_other_terms_can_still_change_after_a_booking_began(leg, thread, buyer, seller):
    begun = timezone.now() - HOUR
    Leg.objects.filter(pk=leg.pk).update(starts_at=begun, ends_at=begun + 6 * HOUR)
    offer = offer_in(thread, buyer, at(begun, place="Porto"), changes=leg.id)
    accept_offer(seller, offer_id=offer.id)
    leg.refresh_from_db()
    assert (leg.place, leg.starts_at) == ("Porto", begun)
    refusal = get_refusal(lambda: offer_in(thread, buyer, at(begun - HOUR), changes=leg.id))
    assert refusal.code == "OFFER_INVALID"


def test_parts_of_an_offer_must_not_overlap(thread, seller):
    parts = [at(IN_MAY), at(IN_MAY + 5 * HOUR, service="Retouching")]
    assert get_refusal(lambda: offer_in(thread, seller, *parts)).code == "OFFER_INVALID"
    assert offer_in(thread, seller, at(IN_MAY), at(IN_MAY + 6 * HOUR, service="Retouching"))


# --- Overlapping bookings


@pytest.mark.storage
@pytest.mark.parametrize("status", ["booked", "on_hold"])
def test_an_offer_at_an_occupied_time_is_not_accepted(leg, seller, status):
    Leg.objects.filter(pk=leg.pk).update(status=status)
    other = make_person("Olga")
    thread = start(other, seller)
    offer = offer_in(thread, seller, in_week(1), at(leg.starts_at + 5 * HOUR))
    refusal = get_refusal(lambda: accept_offer(other, offer_id=offer.id))
    assert refusal.code == "ACTION_CONFLICT"
    assert refusal.message == "Sam isn't available at that time."
    text = f"{refusal.message} {refusal.hint}"
    assert leg.buyer.display_name not in text
    assert leg.service not in text
    assert status_of(offer) == ["pending"]
    assert Leg.objects.count() == 1
    assert not Dossier.objects.get(pk=thread).is_bound
    assert_consistent(thread)


def test_a_seller_who_accepts_sees_their_own_conflicting_booking(leg, seller):
    other = make_person("Olga")
    offer = offer_in(start(other, seller), other, at(leg.starts_at))
    refusal = get_refusal(lambda: accept_offer(seller, offer_id=offer.id))
    assert (refusal.code, refusal.message) == (
        "ACTION_CONFLICT",
        f"You have another booking at that time: {leg.service}, 14 May 2027, 09:00 to 15:00.",
    )


@pytest.mark.storage
@pytest.mark.parametrize("status", ["cancelled", "completed"])
def test_an_ended_booking_does_not_occupy_its_time(leg, seller, status):
    Leg.objects.filter(pk=leg.pk).update(status=status)
    other = make_person("Olga")
    assert book(start(other, seller), other, seller, at(leg.starts_at))


def test_a_change_to_an_occupied_time_is_not_accepted(leg, thread, buyer, seller, make_leg):
    taken = make_leg(in_week(2))
    offer = offer_in(thread, seller, at(taken.starts_at + HOUR), changes=leg.id)
    assert get_refusal(lambda: accept_offer(buyer, offer_id=offer.id)).code == "ACTION_CONFLICT"
    leg.refresh_from_db()
    assert (leg.starts_at, leg.contract.versions.count()) == (IN_MAY, 1)


def test_a_new_time_for_a_booking_rescheduled_since_is_not_accepted(leg, thread, buyer, seller):
    card = propose("reschedule", leg, seller)
    offer = offer_in(thread, seller, at(IN_MAY + 10 * DAY), changes=leg.id)
    accept_offer(buyer, offer_id=offer.id)
    refusal = get_refusal(lambda: answer(buyer, card, "accept"))
    assert refusal.code == "ACTION_INVALID_STATE"
    leg.refresh_from_db()
    assert leg.starts_at == IN_MAY + 10 * DAY


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_concurrent_acceptances_do_not_book_the_same_time():
    seller = make_person("Sam")
    for turn in range(3):
        buyers = [make_person(name) for name in ("Bea", "Olga")]
        threads = [start(buyer, seller) for buyer in buyers]
        begins = in_week(turn).starts_at
        offers = [
            offer_in(thread, seller, at(begins + number * HOUR))
            for number, thread in enumerate(threads)
        ]
        codes = run_concurrently(
            *[
                lambda buyer=buyer, offer=offer: accept_offer(buyer, offer_id=offer.id)
                for buyer, offer in zip(buyers, offers, strict=True)
            ]
        )
        assert sorted(codes) == ["", "ACTION_CONFLICT"]
        assert sorted(status_of(*offers)) == ["accepted", "pending"]
        assert Leg.objects.filter(seller=seller).count() == turn + 1


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_accepting_against_rescheduling_to_the_same_time():
    seller, buyer, other = (make_person(name) for name in ("Sam", "Bea", "Olga"))
    leg = book(start(buyer, seller), buyer, seller)
    card = propose("reschedule", leg, given=new_time(leg, days=3))
    offer = offer_in(start(other, seller), seller, at(leg.starts_at + 3 * DAY))
    codes = run_concurrently(
        lambda: answer(buyer, card, "accept"), lambda: accept_offer(other, offer_id=offer.id)
    )
    assert sorted(codes) == ["", "ACTION_CONFLICT"]


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_two_alternatives_accepted_concurrently_give_one_booking():
    seller, buyer = make_person("Sam"), make_person("Bea")
    thread = start(buyer, seller)
    offers = [offer_in(thread, seller) for _ in range(2)]
    codes = run_concurrently(
        *[lambda offer=offer: accept_offer(buyer, offer_id=offer.id) for offer in offers]
    )
    assert sorted(codes) == ["", "ACTION_INVALID_STATE"]
    assert sorted(status_of(*offers)) == ["accepted", "superseded"]
    assert Leg.objects.count() == 1
    assert list(list_differences(thread)) == []


# --- Offers closed by an acceptance


@pytest.mark.storage
def test_accepting_one_of_several_offers_closes_the_others(thread, buyer, seller):
    first, second, third = (
        offer_in(thread, by, title=f"Plan {name}")
        for by, name in zip((seller, buyer, seller), "ABC", strict=True)
    )
    elsewhere = offer_in(start(make_person("Olga"), seller), seller)
    accept_offer(buyer, offer_id=first.id)
    assert status_of(first, second, third) == ["accepted", SUPERSEDED, SUPERSEDED]
    assert status_of(elsewhere) == ["pending"]
    closed = "Bea accepted another offer, so this one is closed."
    actions = [message.action for message in messages_of(thread) if message.action]
    assert [action["said"] for action in actions[1:]] == [closed, closed]
    refusal = get_refusal(lambda: accept_offer(seller, offer_id=second.id))
    assert refusal.message == f"This was already answered. {closed}"
    get_refusal(lambda: withdraw_offer(seller, offer_id=third.id))
    actions = open_thread(buyer, thread).cached.tabs["actions"].snapshot
    assert not [card for card in actions["cards"] if card["isOpen"]]
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_a_closed_offer_shows_that_it_is_closed(thread, buyer, seller, client):
    kept, closed = offer_in(thread, seller), offer_in(thread, seller)
    accept_offer(buyer, offer_id=kept.id)
    client.force_login(buyer)
    page = client.get(reverse("projects:offer", args=[closed.id]), follow=True)
    assert page.redirect_chain[-1][0].startswith(f"/threads/{thread}/")
    _, _, rest = page.content.decode().partition(f'data-card="{closed.card.id}"')
    card, _, _ = rest.partition("</li>")
    assert "Bea accepted another offer, so this one is closed." in card
    assert "/accept/" not in card


def test_accepting_a_change_closes_other_changes_of_the_booking(thread, buyer, seller):
    legs = [book(thread, buyer, seller), book(thread, buyer, seller)]
    first, second = (
        offer_in(thread, buyer, at(legs[0].starts_at, place=place), changes=legs[0].id)
        for place in ("Porto", "Faro")
    )
    other = offer_in(thread, buyer, at(legs[1].starts_at, place="Beja"), changes=legs[1].id)
    more = offer_in(thread, buyer)
    accept_offer(seller, offer_id=first.id)
    assert status_of(first, second, other, more) == ["accepted", SUPERSEDED, "pending", "pending"]
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_accepting_a_new_time_closes_open_changes(leg, thread, buyer, seller):
    change = offer_in(thread, buyer, changes=leg.id)
    answer(buyer, propose("reschedule", leg, seller), "accept")
    assert status_of(change) == [SUPERSEDED]
    assert_consistent(thread)


# --- Rows stored by earlier releases


@pytest.mark.parametrize(
    ("start_", "zone"),
    [
        (datetime(1, 1, 1, 2, tzinfo=UTC), "America/New_York"),
        (datetime(9999, 12, 31, 22, tzinfo=UTC), "Asia/Tokyo"),
    ],
    ids=["year 1", "year 9999"],
)
def test_invalid_dates_of_earlier_releases_are_displayed(
    leg, thread, buyer, seller, client, start_, zone
):
    offer = offer_in(thread, seller, changes=leg.id)
    sign(buyer, leg)
    open_thread(buyer, thread)
    times = {"starts_at": start_, "ends_at": start_ + HOUR, "time_zone": zone}
    Leg.objects.filter(pk=leg.pk).update(**times)
    Offer.objects.filter(pk=offer.pk).update(
        terms=[terms(**times).to_json()], created_at=timezone.now()
    )
    rebuild(thread)
    buyer.time_zone = zone
    buyer.save()
    client.force_login(buyer)
    for page in (
        reverse("threads:thread", args=[thread]),
        *(
            reverse("projects:panel_tab", args=[thread, tab])
            for tab in ("docs", "actions", "expenses")
        ),
        reverse("projects:card", args=[offer.card.id]),
        reverse("projects:offer_new", args=[thread]) + f"?changes={leg.id}",
        reverse("projects:card_new", args=[thread, "reschedule"]),
        reverse("projects:card_new", args=[thread, "cancel"]),
        reverse("projects:card_new", args=[thread, "overtime"]),
        reverse("projects:contract", args=[leg.contract.id]),
        reverse("projects:calendar", args=[leg.id]),
    ):
        assert client.get(page).status_code == 200, page


def test_times_of_a_change_are_entered_in_the_zone_of_the_booking(leg, thread, buyer, client):
    buyer.time_zone = "America/New_York"
    buyer.save()
    client.force_login(buyer)
    page = reverse("projects:offer_new", args=[thread]) + f"?changes={leg.id}"
    form = client.get(page).content.decode()
    # 09:00 UTC in Lisbon's summer time.
    assert 'value="2027-05-14T10:00"' in form
    assert "Times are in Lisbon" in form
