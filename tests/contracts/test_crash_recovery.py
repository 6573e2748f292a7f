"""Actions that write to both stores are killed at every step.

After the relay has run and the user has retried, the stores agree and every effect has occurred
once.
"""

import pytest

from contracts.models import Leg, Receipt, Signature
from contracts.models.bookings import ACCEPTED
from files.models import TabUse
from projects.actions.bookings import accept_offer, link_bookings, reverse_payment
from projects.actions.panel import edit_tab
from projects.actions.proofs import add_proofs
from tests.contracts.conftest import book, offer_in, pay, sign, terms
from tests.contracts.crash_points import assert_stores_agree, kill_at_every_step, relay, survives
from tests.files.conftest import bring, kept, picture  # noqa: F401
from tests.threads.conftest import make_person, messages_of, start, thread_item
from threads import cache

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


def check_every_step(prepare, act, check) -> None:
    """Checks the result after each kill, a relay run and a retry by the user."""
    scenarios = kill_at_every_step(
        prepare, lambda scenario: act(*scenario), lambda scenario: scenario[2]
    )
    for scenario in scenarios:
        act(*scenario)
        relay(*scenario[2])
        check(*scenario)


def two_users():
    return make_person("Bea"), make_person("Sam")


def count_messages(thread: str, text: str) -> int:
    return sum(text in (message.body or "") for message in messages_of(thread))


@pytest.mark.storage
def test_accepting_an_offer():
    def prepare():
        buyer, seller = two_users()
        thread = start(buyer, seller)
        return buyer, offer_in(thread, seller), [thread]

    def act(buyer, offer, threads):
        accept_offer(buyer, offer_id=offer.id)

    def check(buyer, offer, threads):
        offer.refresh_from_db()
        assert offer.status == ACCEPTED
        assert Leg.objects.filter(offer=offer).count() == 1
        assert thread_item(threads[0]).kind == "project"
        assert count_messages(threads[0], "accepted the offer") == 1

    check_every_step(prepare, act, check)


@pytest.mark.storage
def test_signing():
    def prepare():
        buyer, seller = two_users()
        thread = start(buyer, seller)
        leg = book(thread, buyer, seller)
        sign(buyer, leg)
        return seller, leg, [thread]

    def act(seller, leg, threads):
        sign(seller, leg)

    def check(seller, leg, threads):
        version = leg.contract.versions.get()
        assert version.status == "in_force"
        assert Signature.objects.filter(version=version).count() == 2
        assert count_messages(threads[0], "Sam signed the contract") == 1

    check_every_step(prepare, act, check)


@pytest.mark.storage
def test_issuing_a_receipt():
    def prepare():
        buyer, seller = two_users()
        thread = start(buyer, seller)
        return seller, book(thread, buyer, seller), [thread]

    def act(seller, leg, threads):
        pay(leg, leg.deposit_cents, key="1", outstanding=leg.price_cents)

    def check(seller, leg, threads):
        assert list(Receipt.objects.filter(seller=seller).values_list("number", flat=True)) == [1]
        assert count_messages(threads[0], "recorded a payment") == 1

    check_every_step(prepare, act, check)


def test_reversing_a_payment():
    def prepare():
        buyer, seller = two_users()
        thread = start(buyer, seller)
        receipt = pay(book(thread, buyer, seller), 40_000)
        return seller, receipt, [thread]

    def act(seller, receipt, threads):
        reverse_payment(seller, receipt_id=receipt.id, key="once")

    def check(seller, receipt, threads):
        numbers = Receipt.objects.filter(seller=seller).order_by("number")
        assert list(numbers.values_list("number", "kind")) == [(1, "payment"), (2, "reversal")]
        assert count_messages(threads[0], "recorded a reversal") == 1

    check_every_step(prepare, act, check)


def test_showing_proofs(kept):  # noqa: F811
    def prepare():
        buyer, seller = two_users()
        thread = start(buyer, seller)
        book(thread, buyer, seller)
        return seller, bring(seller, thread, picture(size=(32, 32))), [thread]

    def act(seller, photo, threads):
        add_proofs(seller, thread_id=threads[0], file_ids=[photo.id])

    def check(seller, photo, threads):
        proofs = cache.reload(threads[0]).tabs["files"].snapshot["proofs"]
        assert [proof["id"] for proof in proofs] == [photo.id]
        assert count_messages(threads[0], "added a proof") == 1

    check_every_step(prepare, act, check)


def test_changing_a_booking_issues_one_new_version():
    def prepare():
        buyer, seller = two_users()
        thread = start(buyer, seller)
        leg = book(thread, buyer, seller)
        sign(buyer, leg)
        return (
            seller,
            (leg, offer_in(thread, buyer, terms(place="Porto"), changes=leg.id)),
            [thread],
        )

    def act(seller, changed, threads):
        accept_offer(seller, offer_id=changed[1].id)

    def check(seller, changed, threads):
        versions = changed[0].contract.versions.order_by("number")
        assert [(each.number, each.status) for each in versions] == [(1, "void"), (2, "issued")]
        assert count_messages(threads[0], "The booking was changed") == 1
        actions = cache.reload(threads[0]).tabs["actions"].snapshot
        assert [each["version"] for each in actions["signing"]] == [2, 2]

    check_every_step(prepare, act, check)


def test_pinning_an_image(kept):  # noqa: F811
    def prepare():
        buyer, seller = two_users()
        thread = start(buyer, seller)
        book(thread, buyer, seller)
        return buyer, bring(buyer, thread, picture(size=(32, 32))), [thread]

    def act(buyer, photo, threads):
        edit_tab(
            buyer, thread_id=threads[0], tab="moodboard", op="add", version=0, picture=photo.id
        )

    def check(buyer, photo, threads):
        (item,) = cache.reload(threads[0]).tabs["moodboard"].snapshot["items"]
        assert item["picture"]["id"] == photo.id
        assert TabUse.objects.filter(file=photo).exclude(settled_at=None).count() == 1

    for step in (1, 2, 3, 4):
        scenario = prepare()
        survives(step, lambda scenario=scenario: act(*scenario))
        assert_stores_agree(*scenario[2])
        act(*scenario)
        assert_stores_agree(*scenario[2])
        check(*scenario)


@pytest.mark.storage
def test_opening_the_thread_of_a_group():
    def prepare():
        buyer, seller = two_users()
        model = make_person("Mia")
        threads = [start(buyer, seller), start(buyer, model)]
        legs = [book(threads[0], buyer, seller), book(threads[1], buyer, model)]
        return buyer, legs, threads

    def act(buyer, legs, threads):
        group = link_bookings(buyer, title="A day", leg_ids=[leg.id for leg in legs])
        assert group.thread_id

    def check(buyer, legs, threads):
        legs[0].refresh_from_db()
        group = legs[0].group
        assert_stores_agree(group.thread_id)
        assert count_messages(group.thread_id, "grouped these bookings") == 1
        assert all(count_messages(thread, "part of a group") == 1 for thread in threads)

    check_every_step(prepare, act, check)


def test_editing_a_tab():
    def prepare():
        buyer, seller = two_users()
        thread = start(buyer, seller)
        book(thread, buyer, seller)
        return buyer, None, [thread]

    def act(buyer, _unused, threads):
        edit_tab(
            buyer, thread_id=threads[0], tab="brief", op="edit", version=0, part="goals", text="Joy"
        )

    def check(buyer, _unused, threads):
        tab = cache.reload(threads[0]).tabs["brief"]
        assert (tab.version, tab.snapshot["fields"]["goals"]["text"]) == (1, "Joy")

    for step in (1, 2):
        scenario = prepare()
        assert not survives(step, lambda scenario=scenario: act(*scenario))
        relay(*scenario[2])
        act(*scenario)
        check(*scenario)
