"""From an offer to a booked project: the records, the thread and the published events."""

import pytest

from accounts.models import User
from contracts.models import ContractVersion, Dossier, Leg, Offer
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from projects.actions.bookings import accept_offer, decline_offer, link_bookings, withdraw_offer
from tests.contracts.conftest import book, in_week, offer_in, terms
from tests.indexes import settle
from tests.outbox.timing import make_due
from tests.threads.checker import assert_consistent
from tests.threads.conftest import make_person, messages_of, row, start, thread_item
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.queries import open_thread


def threads_of(pk: str) -> list[str]:
    settle()
    return [item.id for item in query(pk, limit=10, index=Item.bookings).items]


def test_an_offer_is_posted_and_pending_for_the_other_party(thread, buyer, seller, delivered):
    offer = offer_in(thread, seller)
    message = messages_of(thread)[-1]
    assert message.body == "Offer: Team portraits, EUR 1,200.00"
    assert (message.author_id, message.action["payload"]["offer"]) == (seller.id, offer.id)
    assert thread_item(thread).kind == "inquiry"
    actions = open_thread(buyer, thread).cached.tabs["actions"].snapshot
    assert [each["id"] for each in actions["cards"]] == [message.action["id"]]
    assert actions["cards"][0]["waitsFor"] == [buyer.id]
    assert [event["tab"] for event in delivered.to(buyer, "panel.changed")] == ["actions"]
    assert_consistent(thread)


def test_accepting_an_offer_turns_the_thread_into_a_project_of_the_leg(
    thread, buyer, seller, delivered
):
    leg = book(thread, buyer, seller)
    item = thread_item(thread)
    assert (item.kind, item.leg_id, item.group_id) == ("project", leg.id, None)
    assert item.parties == [buyer.id, seller.id]
    assert threads_of(keys.leg_pk(leg.id)) == [thread]
    assert row(thread, buyer).kind == row(thread, seller).kind == "project"
    assert messages_of(thread)[-1].body.endswith("The project panel is open.")
    assert delivered.to(seller, "thread.changed")[-1]["kind"] == "project"
    assert set(open_thread(buyer, thread).cached.tabs) == {
        *("overview", "brief", "moodboard", "shotlist", "files", "docs", "expenses", "actions")
    }
    assert ContractVersion.objects.get(document__leg=leg).number == 1
    assert_consistent(thread)


@pytest.mark.storage
def test_repeated_offer_actions_change_nothing(thread, buyer, seller):
    offer = offer_in(thread, seller, terms(), key="once")
    assert offer_in(thread, seller, terms(), key="once") == offer
    accept_offer(buyer, offer_id=offer.id)
    before = messages_of(thread)
    accept_offer(buyer, offer_id=offer.id)
    assert [m.id for m in messages_of(thread)] == [m.id for m in before]
    assert Leg.objects.filter(offer=offer).count() == 1
    with pytest.raises(Refusal, match="CLIENT_ID_REUSED"):
        offer_in(thread, seller, key="once", title="Another")


@pytest.mark.storage
def test_several_legs_of_one_seller_form_a_group_in_the_same_thread(thread, buyer, seller):
    leg = book(thread, buyer, seller, terms(), in_week(1, service="Retouching"))
    item = thread_item(thread)
    assert (item.kind, item.group_id, item.leg_id) == ("project", leg.group_id, None)
    assert threads_of(keys.group_pk(leg.group_id)) == [thread]


def test_a_second_booking_in_a_thread_joins_the_first(thread, buyer, seller):
    first = book(thread, buyer, seller)
    second = book(thread, buyer, seller, in_week(1, service="Another day"))
    first.refresh_from_db()
    assert first.group_id == second.group_id
    assert thread_item(thread).leg_id is None
    assert threads_of(keys.leg_pk(first.id)) == []
    assert threads_of(keys.group_pk(first.group_id)) == [thread]
    assert len(open_thread(buyer, thread).cached.tabs["docs"].snapshot["documents"]) == 2


def test_a_group_of_several_sellers_has_its_own_thread(thread, buyer, seller, delivered):
    model = make_person("Mia")
    other_thread = start(buyer, model)
    first, second = book(thread, buyer, seller), book(other_thread, buyer, model)
    group = link_bookings(buyer, title="The shoot", leg_ids=[first.id, second.id])
    assert link_bookings(buyer, title="The shoot", leg_ids=[second.id, first.id]) == group
    item = thread_item(group.thread_id)
    assert (item.kind, item.group_id) == ("project", group.id)
    assert set(item.participants) == {buyer.id, seller.id, model.id}
    assert threads_of(keys.group_pk(group.id)) == [group.thread_id]
    assert thread_item(thread).leg_id == first.id
    assert thread_item(other_thread).leg_id == second.id
    with pytest.raises(Refusal, match="THREAD_NOT_FOUND"):
        open_thread(model, thread)
    assert delivered.to(model, "message.sent")[-1]["thread"] in (group.thread_id, other_thread)
    assert_consistent(group.thread_id)


def test_sellers_of_a_group_do_not_see_the_prices_of_the_others(thread, buyer, seller):
    model = make_person("Mia")
    legs = [book(thread, buyer, seller), book(start(buyer, model), buyer, model)]
    group = link_bookings(buyer, title="The shoot", leg_ids=[leg.id for leg in legs])
    tabs = open_thread(model, group.thread_id).cached.tabs
    shown = str([tab.snapshot for tab in tabs.values()])
    assert "120000" not in shown
    assert not any(leg.contract.id in shown for leg in legs)


@pytest.mark.parametrize(("answer", "who"), [(decline_offer, "buyer"), (withdraw_offer, "seller")])
def test_a_declined_offer_books_nothing(thread, buyer, seller, answer, who):
    offer = offer_in(thread, seller)
    person = buyer if who == "buyer" else seller
    answer(person, offer_id=offer.id)
    answer(person, offer_id=offer.id)
    with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
        accept_offer(buyer, offer_id=offer.id)
    assert thread_item(thread).kind == "inquiry"
    assert not Leg.objects.filter(offer=offer).exists()


def test_users_cannot_accept_their_own_offer_and_strangers_cannot_find_it(
    thread, buyer, seller, stranger
):
    offer = offer_in(thread, seller)
    for user, code in ((seller, "ACTION_FORBIDDEN"), (stranger, "THREAD_NOT_FOUND")):
        with pytest.raises(Refusal, match=code):
            accept_offer(user, offer_id=offer.id)
    with pytest.raises(Refusal, match="THREAD_NOT_FOUND"):
        offer_in(thread, stranger)
    assert Offer.objects.get(pk=offer.pk).status == "pending"


@pytest.mark.parametrize(
    "wrong",
    [
        {"service": " "},
        {"place": ""},
        {"ends_at": terms().starts_at},
        {"price_cents": -1},
        {"deposit_cents": 120_001},
        {"time_zone": "Mars/Olympus"},
        {"cancellation": "never"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_an_offer_with_invalid_terms_is_refused(thread, seller, wrong):
    before = OutboxEntry.objects.count()
    with pytest.raises(Refusal, match="OFFER_INVALID"):
        offer_in(thread, seller, terms(**wrong))
    assert OutboxEntry.objects.count() == before
    assert not Dossier.objects.filter(pk=thread).exists()


@pytest.mark.storage
def test_an_acceptance_during_a_table_outage_is_relayed_later(thread, buyer, seller, faults):
    from core.outbox.processing import process_due
    from tests.threads.faults import ALWAYS, unreachable

    offer = offer_in(thread, seller)
    assert isinstance(buyer, User)
    faults.allow("Query", 1)
    faults.before("*", unreachable, ALWAYS)
    accept_offer(buyer, offer_id=offer.id)
    faults.clear()
    assert thread_item(thread).kind == "inquiry"
    make_due()
    while process_due():
        pass
    assert thread_item(thread).kind == "project"
    assert_consistent(thread)
