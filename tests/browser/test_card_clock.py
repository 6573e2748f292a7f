"""Nobody answers, and the clock does: work that was looked at for long enough is accepted."""

from playwright.sync_api import expect

from tests.browser.test_cards import booked, card, propose  # noqa: F401
from tests.browser.test_cards import pytestmark as pytestmark  # noqa: PLC0414
from tests.browser.test_project import tab

EIGHT_DAYS = 8 * 24 * 3600


def test_completed_work_is_accepted_by_itself_and_what_else_was_open_ends(site, booked):  # noqa: F811
    buyer, seller = booked
    dialog = propose(seller, "Propose overtime")
    dialog.get_by_label("How many minutes").fill("60")
    dialog.get_by_role("button", name="Review").click()
    dialog.get_by_role("button", name="Propose overtime").click()
    expect(dialog).to_be_hidden()
    dialog = propose(seller, "Mark as completed")
    dialog.get_by_label("What was agreed is delivered").check()
    dialog.get_by_role("button", name="Mark as completed").click()
    expect(dialog).to_be_hidden()
    expect(card(buyer, "pending")).to_have_count(2)
    expect(card(buyer, "pending").last).to_contain_text("is recorded as paid")
    row = buyer.locator(".row", has_text="Waiting for you")
    expect(row.first).to_be_visible()
    # Another server, in whose world the time is over. Nobody presses anything.
    with site.another(ahead=EIGHT_DAYS):
        for page in booked:
            expect(card(page, "auto_accepted")).to_be_visible(timeout=60_000)
            expect(card(page, "withdrawn")).to_be_visible()
            expect(card(page, "pending")).to_have_count(0)
    said = buyer.locator(".message[data-type=system]", has_text="The booking is completed")
    expect(said).to_be_visible()
    expect(tab(seller, "expenses")).to_contain_text("Receipt 1")
    buyer.reload()
    expect(card(buyer, "auto_accepted")).to_be_visible()
