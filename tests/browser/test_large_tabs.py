"""A shot list too large for every page is fetched when its tab is opened, and stays live."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.booking import book
from tests.browser.test_project import tab

pytestmark = pytest.mark.browser

# Adds shots with the requests of the page's forms.
FILL = """async (count) => {
  const panel = document.querySelector("[data-panel]");
  const [, thread] = location.pathname.match(/threads\\/([^/]+)/);
  for (let number = 0; number < 2 * count; number += 1) {
    const part = `shot${number >> 1}`;
    const fields = number % 2
      ? { op: "edit", part, name: "notes", text: "字".repeat(1000), version: number }
      : { op: "add", part, text: `Shot ${number >> 1}`, version: 0 };
    const body = new URLSearchParams({ ...fields, csrfmiddlewaretoken: panel.dataset.csrf });
    const asks = { method: "POST", headers: { Accept: "application/json" }, body };
    const answer = await fetch(`/threads/${thread}/panel/shotlist/`, asks);
    if (!answer.ok) throw new Error(await answer.text());
  }
}"""


def shot(page: Page, number: int):
    return page.locator(f'[data-item="shot{number}"]')


def test_a_large_shot_list_is_fetched_when_opened_and_stays_live(visit, pair):
    path = f"/threads/{pair.thread}/"
    buyer, seller = visit(pair.buyer, path), visit(pair.seller, path)
    book(buyer, seller)
    seller.evaluate(FILL, 9)
    seller.reload()
    expect(seller.locator("[data-tab-body=shotlist] [data-large]")).to_be_attached()
    assert "字字字" not in seller.content()
    for page in (buyer, seller):
        tab(page, "shotlist")
        expect(page.locator(".shot")).to_have_count(9)
    # Edited while another user changes another part.
    shot(seller, 2).locator("summary").click()
    notes = shot(seller, 2).get_by_label("Notes")
    notes.fill("Half a sentence")
    notes.focus()
    shot(buyer, 0).get_by_role("button", name="Shot 0: done").click()
    expect(shot(seller, 0)).to_have_class("shot done")
    expect(notes).to_have_value("Half a sentence")
    notes.blur()
    for page in (buyer, seller):
        expect(page.locator("[data-progress]")).to_contain_text(re.compile("11%|1 of 9"))
        expect(shot(page, 2).locator("textarea[name=text]").last).to_have_value("Half a sentence")


def test_without_a_script_the_tab_is_a_page(visit, pair):
    path = f"/threads/{pair.thread}/"
    buyer, seller = visit(pair.buyer, path), visit(pair.seller, path)
    book(buyer, seller)
    seller.evaluate(FILL, 9)
    plain = visit(pair.buyer, f"{path}panel/moodboard/", java_script_enabled=False)
    plain.locator('nav [data-show-tab="shotlist"]').click()
    expect(plain.locator(".shot")).to_have_count(9)
