"""From offering services to a first message, with and without JavaScript, on a phone too."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.site import Account, Site

pytestmark = pytest.mark.browser

WITHOUT_SCRIPT = {**PHONE, "java_script_enabled": False}


@pytest.fixture
def strangers(site: Site) -> tuple[Account, Account]:
    return site.pair().buyer, site.pair().seller


def offer_services(visit, seller: Account) -> str:
    """Returns the name under which the seller is listed."""
    page = visit(seller, "/settings/services/")
    page.get_by_label("I offer services").check()
    page.get_by_label("Illustrator", exact=True).check()
    page.get_by_text("More languages").click()
    page.get_by_label("Kannada").check()
    page.get_by_label("Starting price").fill("350")
    page.get_by_label("For", exact=True).select_option("a project")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("From EUR 350 a project")).to_be_visible()
    return page.locator("h1").inner_text()


def find(page: Page, handle: str) -> None:
    page.get_by_role("link", name="New conversation").click()
    page.get_by_role("searchbox").fill(handle)
    page.get_by_role("combobox", name="Craft").select_option("Illustrator")
    page.get_by_role("combobox", name="Language").select_option("Kannada")
    page.get_by_role("button", name="Search").click()


@pytest.mark.parametrize("options", [{}, PHONE, WITHOUT_SCRIPT], ids=["desk", "phone", "plain"])
def test_a_seller_is_found_from_the_inbox_and_messaged(visit, strangers, options):
    buyer, seller = strangers
    name = offer_services(visit, seller)
    page = visit(buyer, "/inbox/", **options)
    find(page, seller.email.partition("@")[0])
    card = page.locator(".seller")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("Kannada")
    card.get_by_role("link", name=name).click()
    page.get_by_role("link", name="Start a conversation").click()
    page.get_by_label("What is it about?").fill("A map")
    page.get_by_label("Message").fill("Would you draw a map for us?")
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/threads/**")
    page.goto(f"/people/{seller.email.partition('@')[0]}/")
    expect(page.get_by_role("link", name="Open conversation")).to_be_visible()


def test_the_menu_of_a_profile_blocks_by_keyboard(visit, strangers):
    buyer, seller = strangers
    page = visit(buyer, f"/people/{seller.email.partition('@')[0]}/")
    button = page.get_by_role("button", name="More about")
    button.press("Enter")
    page.get_by_role("button", name="Block").press("Enter")
    expect(page.get_by_text("They won't be notified")).to_be_visible()
    page.get_by_role("button", name="Unblock").first.press("Enter")
    expect(page.get_by_role("link", name="Start a conversation")).to_be_visible()
