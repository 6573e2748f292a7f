"""The overview of a booking: its stages, its next step and who has to take it."""

import re
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from contracts.models import Leg
from inbox.rows import row_of
from projects.actions.bookings import link_bookings
from projects.panel.overview_view import find_thread_step, view_overview
from projects.panel.rebuild import list_differences
from projects.panel.rendering import render_tab
from tests.contracts.card_helpers import answer, propose
from tests.contracts.conftest import book, in_week, pay, sign, terms
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, make_person, row, say, start
from threads.cache import reload
from threads.dynamodb import keys
from threads.models import TabSnapshot

pytestmark = pytest.mark.django_db(transaction=True)


def snapshot(thread):
    return reload(thread).tabs["overview"].snapshot


def shown(thread):
    (booking,) = view_overview(snapshot(thread), reload(thread))["bookings"]
    return booking


def step_for(thread, user):
    step = find_thread_step(reload(thread), user.id)
    return step and step["text"]


def stages(thread):
    return [(stage["name"], stage["state"]) for stage in shown(thread)["stages"]]


def test_the_overview_follows_a_booking_to_the_end(thread, buyer, seller, delivered):
    leg = book(thread, buyer, seller)
    assert step_for(thread, buyer) == step_for(thread, seller) == "Sign the contract"
    sign(seller, leg)
    waiting = f"Waiting for {buyer.display_name} to sign the contract"
    assert (step_for(thread, buyer), step_for(thread, seller)) == ("Sign the contract", waiting)
    sign(buyer, leg)
    waiting = f"Waiting for {buyer.display_name} to pay the deposit"
    assert (step_for(thread, buyer), step_for(thread, seller)) == ("Pay the deposit", waiting)
    assert shown(thread)["step"]["amount"] == "EUR 400.00"
    assert stages(thread)[1:4] == [("signed", "done"), ("deposit", "current"), ("day", "ahead")]
    pay(leg, 40_000)
    assert step_for(thread, seller) == "Everything is set for Fri 14 May 2027"
    assert (shown(thread)["paid"], shown(thread)["open"]) == ("EUR 400.00", "EUR 800.00")
    done = propose("complete", leg)
    answer(buyer, done, "accept")
    assert step_for(thread, buyer) == "Pay what's due"
    pay(Leg.objects.get(pk=leg.pk))
    assert step_for(thread, buyer) is None
    assert {state for _, state in stages(thread)} == {"done"}
    for user in (buyer, seller):
        events = delivered.to(user, "panel.changed")
        assert any(each["tab"] == "overview" for each in events)
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_a_row_shows_the_same_step_to_both_parties_and_none_to_guests(thread, buyer, seller):
    guest = make_person("Gus")
    add_friend(buyer, thread_id=thread, user=guest)
    leg = book(thread, buyer, seller)
    sign(seller, leg)
    say(seller, thread, "Over to you.")
    texts = [row_of(user, row(thread, user)).step_text for user in (buyer, seller, guest)]
    assert texts[:2] == [step_for(thread, buyer), step_for(thread, seller)]
    assert texts[2] == ""
    assert list(list_differences(thread)) == []


def test_a_message_that_is_not_answered_is_no_next_step(thread, buyer, seller):
    say(seller, thread, "Are you there?")
    shown_row = row_of(buyer, row(thread, buyer))
    assert (shown_row.waits_for, shown_row.step, shown_row.step_text) == ("", "", "")


def test_cancelled_and_disputed_bookings_say_so(thread, buyer, seller):
    leg = book(thread, buyer, seller)
    propose("dispute", leg)
    assert (shown(thread)["label"], step_for(thread, buyer)) == (
        "In dispute",
        "Our safety team is reviewing this",
    )
    assert "current" not in {state for _, state in stages(thread)}
    other = book(start(buyer, seller), buyer, seller)
    answer(buyer, propose("cancel", other), "accept")
    assert shown(other.thread_id)["label"] == "Cancelled"
    assert stages(other.thread_id) == [("agreed", "done"), ("cancelled", "done")]
    assert step_for(other.thread_id, buyer) is None


def test_after_the_day_the_seller_completes_the_booking(thread, buyer, seller):
    leg = book(thread, buyer, seller, in_week(0, deposit_cents=0))
    sign(buyer, leg)
    past = timezone.now() - timedelta(days=3)
    Leg.objects.filter(pk=leg.pk).update(starts_at=past - timedelta(hours=6), ends_at=past)
    sign(seller, leg)
    # Nobody is asked before, and the records do not change when the day is over.
    assert step_for(thread, seller) == "Mark the booking as completed"
    (button,) = shown(thread)["step"]["buttons"]
    assert (button["users"], button["is_dialog"]) == ([seller.id], True)
    assert button["url"].endswith(f"?leg={leg.id}")


def test_the_snapshot_is_rebuilt_from_the_records(thread, buyer, seller):
    leg = book(thread, buyer, seller)
    sign(seller, leg)
    before = snapshot(thread)
    tab = TabSnapshot.find(keys.thread_pk(thread), keys.tab_sk("overview"))
    tab.snapshot = {"bookings": []}
    tab.save()
    item = row(thread, buyer)
    item.waits_on = seller.id
    item.save()
    problems = " ".join(list_differences(thread))
    assert "overview differs" in problems
    assert f"the inbox row of {buyer.id}" in problems
    call_command("rebuild_snapshots", thread=thread)
    assert snapshot(thread) == before
    assert row(thread, buyer).step == "contract"
    assert list(list_differences(thread)) == []


def test_several_sellers_see_no_terms_of_each_other(buyer, seller):
    other = make_person("Ola")
    first = book(start(buyer, seller), buyer, seller, in_week(1))
    second = book(start(buyer, other), buyer, other, in_week(2))
    group = link_bookings(buyer, leg_ids=[first.id, second.id], title="Both")
    found = snapshot(group.thread_id)
    assert len(found["bookings"]) == 2
    for booking in found["bookings"]:
        assert not booking.keys() & {"total", "paid", "open", "place", "startsAt", "zone"}
        assert {stage["name"] for stage in booking["stages"]} == {"agreed", "signed", "completed"}
        assert booking["next"]["record"] == ""
    html = render_tab(reload(group.thread_id), "overview")
    assert "EUR" not in html


def test_the_place_is_a_plain_link_to_a_map(thread, buyer, seller):
    place = 'Rua "do" Ouro 12 & <b>Lisbon</b>'
    book(thread, buyer, seller, terms(place=place))
    html = render_tab(reload(thread), "overview")
    (link,) = re.findall(r'<a class="map-link"[^>]*>', html)
    assert 'rel="noopener noreferrer"' in link
    assert "query=Rua%20%22do%22%20Ouro%2012%20%26%20%3Cb%3ELisbon%3C%2Fb%3E" in link
    assert "<b>Lisbon" not in html


@pytest.mark.parametrize(("zone", "is_hidden"), [("Europe/Lisbon", True), ("Asia/Tokyo", False)])
def test_without_scripts_a_page_shows_only_what_is_for_its_viewer(
    client, thread, buyer, seller, zone, is_hidden
):
    leg = book(thread, buyer, seller)
    sign(seller, leg)
    for user in (buyer, seller):
        user.time_zone = zone
        user.save()
    pages = {}
    for user in (buyer, seller):
        client.force_login(user)
        pages[user.id] = client.get(f"/threads/{thread}/").content.decode()
    url = reverse("projects:contract", args=[leg.contract.id])
    for user, is_mine in ((buyer, True), (seller, False)):
        (part,) = re.findall(r'<div class="next-step waits[^"]*"', pages[user.id])
        assert ("mine" in part) == is_mine
        (button,) = re.findall(rf'<p class="buttons"[^>]*><a[^>]*href="{url}"', pages[user.id])
        assert ("hidden" in button) != is_mine
        (own_time,) = re.findall(r'data-place-time="[^"]*"[^>]*>', pages[user.id])
        assert ("hidden" in own_time) == is_hidden
    assert 'data-show-tab="overview" aria-current="true"' in pages[buyer.id]
