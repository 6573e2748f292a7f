"""The next step on both screens, and the menu of everything that can be sent and proposed."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, live
from tests.browser.test_cards import booked, card  # noqa: F401
from tests.browser.test_cards import pytestmark as pytestmark  # noqa: PLC0414
from tests.browser.test_project import sign, tab

ADD = "Photos, files and proposals"


def header(page: Page):
    return page.locator("[data-part=next-step]")


def test_the_next_step_changes_live_in_header_overview_and_inbox(visit, pair, booked):  # noqa: F811
    buyer, seller = booked
    path = f"/threads/{pair.thread}/"
    sign(seller, "Samuel Seller")
    expect(header(buyer)).to_contain_text("Sign the contract")
    seller.goto(path)
    live(seller)
    waiting = "to sign the contract"
    for place in (header(seller), tab(seller, "overview"), seller.locator(".rows .row-step")):
        expect(place.first).to_contain_text(waiting)
    sign(buyer, "Beatrice Buyer")
    # Without a reload: the deposit is due now.
    for place in (header(seller), tab(seller, "overview"), seller.locator(".rows .row-step")):
        expect(place.first).to_contain_text("to pay the deposit")
    buyer.goto(path)
    live(buyer)
    header(buyer).get_by_role("link", name="See what's due").click()
    expect(buyer.locator("[data-tab-body=expenses]")).to_be_visible()
    expect(
        seller.locator("[data-tab-body=overview]").get_by_role("link", name="Record a payment")
    ).to_be_visible()
    expect(header(seller).get_by_role("link")).to_have_count(0)


def test_the_menu_works_by_keyboard_and_explains_what_is_unavailable(booked):  # noqa: F811
    buyer, _ = booked
    opener = buyer.get_by_role("button", name=ADD)
    menu = buyer.locator("#add-menu")
    opener.focus()
    buyer.keyboard.press("Enter")
    expect(menu).to_be_visible()
    buyer.keyboard.press("ArrowDown")
    expect(menu.locator(".menu-item").first).to_be_focused()
    buyer.keyboard.press("End")
    last = menu.locator(".menu-item").last
    expect(last).to_be_focused()
    expect(last).to_have_attribute("aria-disabled", "true")
    expect(last).to_contain_text("Only the seller can propose this.")
    buyer.keyboard.press("Escape")
    expect(menu).to_be_hidden()
    expect(opener).to_be_focused()
    buyer.keyboard.press("Enter")
    cancel = menu.get_by_role("link", name="Cancel the booking")
    for _ in range(10):
        buyer.keyboard.press("ArrowDown")
        if cancel.evaluate("(item) => item === document.activeElement"):
            break
    buyer.keyboard.press("Enter")
    expect(buyer.locator("#card-dialog")).to_contain_text("Cancel the booking")


def test_on_a_phone_the_menu_is_a_sheet_that_scrolls(visit, pair, booked):  # noqa: F811
    phone = live(visit(pair.seller, f"/threads/{pair.thread}/", **PHONE))
    phone.get_by_role("button", name=ADD).tap()
    menu = phone.locator("#add-menu")
    expect(menu).to_be_visible()
    menu.evaluate("(part) => Promise.all(part.getAnimations().map((each) => each.finished))")
    box = menu.bounding_box()
    height = PHONE["viewport"]["height"]
    assert (box["x"], box["width"], round(box["y"] + box["height"])) == (0, 360, height)
    assert box["height"] <= 0.8 * height
    last = menu.locator(".menu-item").last
    last.scroll_into_view_if_needed()
    assert last.bounding_box()["y"] + last.bounding_box()["height"] <= height
    for item in menu.locator(".menu-item").all():
        assert not item.is_visible() or item.bounding_box()["height"] >= 44
    # The text is not covered by what is next to it.
    expect(header(phone)).to_contain_text("Sign the contract")
    assert header(phone).evaluate("(part) => part.scrollWidth <= part.clientWidth")


def test_what_can_be_proposed_follows_the_booking_without_a_reload(booked):  # noqa: F811
    buyer, seller = booked
    seller.get_by_role("button", name=ADD).click()
    expect(
        seller.locator("#add-menu").get_by_role("link", name="Request signatures")
    ).to_be_visible()
    seller.locator("#add-menu").get_by_role("link", name="Request signatures").click()
    dialog = seller.locator("#card-dialog")
    dialog.get_by_role("button", name="Request signatures").click()
    expect(card(seller, "pending")).to_be_visible()
    expect(tab(seller, "overview")).to_be_visible()
    seller.get_by_role("button", name=ADD).click()
    unavailable = seller.locator("#add-menu .unavailable", has_text="Request signatures")
    expect(unavailable).to_contain_text("already an open proposal")
    seller.keyboard.press("Escape")
    # The author takes it back.
    card(seller, "pending").get_by_role("button", name="Withdraw").click()
    expect(card(buyer, "withdrawn")).to_be_visible()
