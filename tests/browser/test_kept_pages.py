"""The inbox beside a thread on wide and narrow screens, and pages that the browser keeps."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, live

pytestmark = pytest.mark.browser

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 500, "height": 800}


def test_a_phone_loads_a_thread_without_the_inbox(visit, seeded):
    pair = seeded(2)
    path = f"/threads/{pair.thread}/"
    page = visit(pair.buyer, path, **PHONE)
    live(page)
    page.reload()
    live(page)
    expect(page.locator(".inbox > *")).to_have_count(0)
    # The menu still works with scripts.
    page.get_by_role("button", name="Conversation options").click()
    page.get_by_role("button", name="Pin to the top").click()
    expect(page.locator(".toast")).to_contain_text("Pinned")
    page.get_by_role("link", name="Back to the inbox").click()
    expect(page.locator(".row")).to_have_count(2)


def test_the_inbox_is_loaded_once_there_is_space(visit, seeded):
    pair = seeded(2)
    page = visit(pair.buyer, f"/threads/{pair.thread}/", viewport=NARROW)
    live(page)
    page.reload()
    live(page)
    expect(page.locator(".inbox > *")).to_have_count(0)
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()
    page.keyboard.press("Escape")
    page.set_viewport_size(WIDE)
    expect(page.locator(".row")).to_have_count(2)
    expect(page.locator('.row-link[aria-current="page"]')).to_have_count(1)
    other = visit(pair.seller, f"/threads/{pair.thread}/")
    other.locator("#compose").fill("Is the column live?")
    other.get_by_role("button", name="Send").click()
    expect(page.locator("[data-row-text]").first).to_have_text("Is the column live?")
    page.reload()
    expect(page.locator(".row")).to_have_count(2)


def test_a_kept_page_is_not_shown_after_signing_out(visit, seeded):
    pair = seeded(2)
    page = visit(pair.buyer, f"/threads/{pair.thread}/")
    live(page)
    first = page.locator(".message .prose").first.inner_text()
    page.get_by_role("button", name="You", exact=True).click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/login/**")
    page.go_back()
    page.wait_for_url("**/accounts/login/**")
    expect(page.get_by_text(first)).to_have_count(0)
