"""Completed work without a response is accepted when its review period expires."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.test_cards import booked, card, propose  # noqa: F401
from tests.browser.test_cards import pytestmark as pytestmark  # noqa: PLC0414
from tests.browser.test_project import tab
from tests.site import Site, prepared_site

EIGHT_DAYS = 8 * 24 * 3600
# Signs the contract for both users and moves the booking into the past.
FINISH_BOOKING = """
from contracts.models import Leg
from tests.contracts.card_helpers import make_completable
make_completable(Leg.objects.get(thread_id="{thread}"))
"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Two servers need Redis to update each other's pages."""
    stores = prepared_site(tmp_path_factory.mktemp("card_clock") / "data")
    site = Site(stores.folder, stores.env | {"REDIS_URL": os.environ["PARLEY_TEST_REDIS_URL"]})
    site.start()
    try:
        yield site
    finally:
        site.stop()


def test_completed_work_is_accepted_automatically_and_due_but_not_paid(site, pair, booked):  # noqa: F811
    buyer, seller = booked
    site.manage("shell", "-c", FINISH_BOOKING.format(thread=pair.thread))
    dialog = propose(seller, "Mark as completed")
    expect(dialog).to_contain_text("EUR 1,200.00 is outstanding.")
    dialog.get_by_role("button", name="Mark as completed").click()
    expect(dialog).to_be_hidden()
    expect(card(buyer, "pending")).to_contain_text("It doesn't record a payment.")
    row = buyer.locator(".row", has_text="Review the completed work")
    expect(row.first).to_be_visible()
    # A second server with a clock past the deadline; no user acts.
    with site.another(ahead=EIGHT_DAYS):
        for page in booked:
            expect(card(page, "auto_accepted")).to_be_visible(timeout=30_000)
            expect(card(page, "pending")).to_have_count(0)
    notice = buyer.locator(".message[data-type=system]", has_text="EUR 1,200.00 is now due.")
    expect(notice).to_be_visible()
    for page in booked:
        expenses = tab(page, "expenses")
        expect(expenses.locator("tr", has_text="Due now")).to_contain_text("EUR 1,200.00")
        expect(expenses.locator("tr", has_text="Paid")).to_contain_text("EUR 0.00")
        expect(expenses).not_to_contain_text("Receipt")
    buyer.reload()
    expect(card(buyer, "auto_accepted")).to_be_visible()
