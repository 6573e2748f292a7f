"""Undo of list actions; exact counts, and each row once."""

import json

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.conftest import live, write
from tests.browser.test_inbox import count_badge, row, seeded_pair
from tests.site import Site, read_pair

__all__ = ["seeded_pair"]
pytestmark = pytest.mark.browser
# The state and order of the rows.
ROW_STATES = """rows => rows.map((row) => [row.dataset.thread, "pinned" in row.dataset,
    row.dataset.muted ?? null, "marked" in row.dataset, row.dataset.unread])"""
ROW_STATES_EQUAL = f"""([rows, same]) => {{
    const now = ({ROW_STATES})([...document.querySelectorAll(".rows .row")]);
    return (JSON.stringify(now) === JSON.stringify(JSON.parse(rows))) === same;
}}"""
MORE_ROWS_LOADED = """(count) => document.querySelectorAll(".row").length > count
    || !document.querySelector("[data-rows-more]")"""
PINNED, MUTED, MARKED = 1, 2, 3
# Button label -> notice, and the state that a row must have for the action.
ACTIONS = {
    "Archive": ("Archived", None),
    "Move to spam": ("Moved to spam", None),
    "Pin to the top": ("Pinned", None),
    "Unpin": ("Unpinned", PINNED),
    "Mute for an hour": ("Muted", None),
    "Mute until tomorrow": ("Muted", None),
    "Mute indefinitely": ("Muted", None),
    "Unmute": ("Unmuted", MUTED),
    "Mark as unread": ("Marked as unread", None),
    "Mark as read": ("Marked as read", MARKED),
}


def row_states(page: Page) -> list[list]:
    return page.locator(".rows .row").evaluate_all(ROW_STATES)


def wait_until(page: Page, rows: list[list], *, same: bool = True) -> None:
    """Waits until the rows equal these, or differ from them."""
    try:
        page.wait_for_function(ROW_STATES_EQUAL, arg=[json.dumps(rows), same], timeout=15_000)
    except TimeoutError:
        pytest.fail(f"The rows are {row_states(page)}.")


def press_bulk_action(page: Page, threads: list[str], label: str) -> None:
    """Selects the rows and presses a button of the bulk bar."""
    for thread in threads:
        row(page, thread).locator("input").check(force=True)
    bar = page.locator(".bulk")
    button = bar.get_by_role("button", name=label, exact=True)
    if not button.is_visible():
        bar.get_by_role("button", name="More").click()
    before = row_states(page)
    button.click()
    wait_until(page, before, same=False)
    expect(bar).to_be_hidden()


def test_each_action_is_undone_for_one_and_for_several_rows(visit, seeded_pair):
    """Undo restores any previous state, on the user's other page as well."""
    page, other_page = live(visit(seeded_pair.seller)), live(visit(seeded_pair.seller))
    threads = [each[0] for each in row_states(page)]
    for number, label in enumerate(("Pin to the top", "Mute indefinitely", "Mark as unread"), 1):
        press_bulk_action(page, [threads[number]], label)
    before = row_states(page)
    for label, (notice, required_state) in ACTIONS.items():
        has = [
            each[0]
            for each in before
            if required_state and each[required_state] not in (False, None)
        ]
        for picked in (has or threads[-1:], threads):
            press_bulk_action(page, picked, label)
            page.locator(".toast", has_text=notice).last.get_by_role("button", name="Undo").click()
            for one in (page, other_page):
                wait_until(one, before)
    page.reload()
    assert row_states(live(page)) == before


MARK = """
import sys
from accounts.models import User
from inbox.queries import list_folder
from threads.actions.folders import mark_unread
user = User.objects.get(pk="{user}")
page = list_folder(user, "inbox")
rows = page.rows
while page.cursor:
    page = list_folder(user, "inbox", after=page.cursor)
    rows += page.rows
for row in rows[:99]:
    mark_unread(user, thread_id=row.thread_id)
print(rows[-1].thread_id)
"""


def test_counts_are_exact_up_to_99_and_show_when_there_are_more(visit, site: Site):
    size = ("--pairs", "1", "--messages", "1", "--threads-per-user", "101")
    made = read_pair(json.loads(site.seed_load(*size))["pairs"][0])
    last = site.manage("shell", "-c", MARK.format(user=made.seller.id)).split()[-1]
    page = live(visit(made.seller))
    expect(count_badge(page, "unread")).to_have_text("99")
    assert page.title().startswith("(99)")
    buyer = live(visit(made.buyer, f"/threads/{last}/"))
    write(buyer, "One more")
    expect(count_badge(page, "unread")).to_have_text("99+")
    # The row was far below the loaded rows; now it is on top, and every row is listed once.
    expect(page.locator(".row").first).to_have_attribute("data-thread", last)
    while page.locator("[data-rows-more]").count():
        count = page.locator(".row").count()
        page.evaluate("document.querySelector('[data-rows-more]')?.scrollIntoView()")
        page.wait_for_function(MORE_ROWS_LOADED, arg=count)
    shown = [each[0] for each in row_states(page)]
    assert len(shown) == len({*shown}) == 101
    assert shown[0] == last
    row(page, last).locator("a").click()
    expect(count_badge(live(page), "unread")).to_have_text("99")
