"""Taking back what was done to the list; numbers that are exact, and every row once."""

import json

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.browser.conftest import live, write
from tests.browser.test_inbox import counted, many, row
from tests.site import Site, read_pair

__all__ = ["many"]
pytestmark = pytest.mark.browser
# What a row says of itself, and where it stands.
SAYS = """rows => rows.map((row) => [row.dataset.thread, "pinned" in row.dataset,
    row.dataset.muted ?? null, "marked" in row.dataset, row.dataset.unread])"""
SAYS_SAME = f"""([rows, same]) => {{
    const now = ({SAYS})([...document.querySelectorAll(".rows .row")]);
    return (JSON.stringify(now) === JSON.stringify(JSON.parse(rows))) === same;
}}"""
MORE_CAME = """(count) => document.querySelectorAll(".row").length > count
    || !document.querySelector("[data-rows-more]")"""
PINNED, MUTED, MARKED = 1, 2, 3
# By what the button says: what is said then, and what there has to be to take it from one row.
ACTS = {
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


def says(page: Page) -> list[list]:
    return page.locator(".rows .row").evaluate_all(SAYS)


def wait_until(page: Page, rows: list[list], *, same: bool = True) -> None:
    """Until the list says this, or anything else."""
    try:
        page.wait_for_function(SAYS_SAME, arg=[json.dumps(rows), same], timeout=15_000)
    except TimeoutError:
        pytest.fail(f"it says {says(page)}")


def act(page: Page, threads: list[str], what: str) -> None:
    """To those that are picked, by the bar above the list."""
    for thread in threads:
        row(page, thread).locator("input").check(force=True)
    bar = page.locator(".bulk")
    button = bar.get_by_role("button", name=what, exact=True)
    if not button.is_visible():
        bar.get_by_role("button", name="More").click()
    before = says(page)
    button.click()
    wait_until(page, before, same=False)
    expect(bar).to_be_hidden()


def test_each_is_taken_back_for_one_and_for_all_of_those_picked(visit, many):
    """Whatever they were before; on the other page of the same person, too."""
    page, beside = live(visit(many.seller)), live(visit(many.seller))
    threads = [each[0] for each in says(page)]
    for number, what in enumerate(("Pin to the top", "Mute indefinitely", "Mark as unread"), 1):
        act(page, [threads[number]], what)
    before = says(page)
    for what, (said, taken_from) in ACTS.items():
        has = [each[0] for each in before if taken_from and each[taken_from] not in (False, None)]
        for picked in (has or threads[-1:], threads):
            act(page, picked, what)
            page.locator(".toast", has_text=said).last.get_by_role("button", name="Undo").click()
            for one in (page, beside):
                wait_until(one, before)
    page.reload()
    assert says(live(page)) == before


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


def test_numbers_are_exact_up_to_99_and_say_when_there_are_more(visit, site: Site):
    size = ("--pairs", "1", "--messages", "1", "--threads-per-user", "101")
    made = read_pair(json.loads(site.seed_load(*size))["pairs"][0])
    last = site.manage("shell", "-c", MARK.format(user=made.seller.id)).split()[-1]
    page = live(visit(made.seller))
    expect(counted(page, "unread")).to_have_text("99")
    assert page.title().startswith("(99)")
    buyer = live(visit(made.buyer, f"/threads/{last}/"))
    write(buyer, "One more")
    expect(counted(page, "unread")).to_have_text("99+")
    # It was far below what the page has, and is on top, once; the rest comes after it, once each.
    expect(page.locator(".row").first).to_have_attribute("data-thread", last)
    while page.locator("[data-rows-more]").count():
        count = page.locator(".row").count()
        page.evaluate("document.querySelector('[data-rows-more]')?.scrollIntoView()")
        page.wait_for_function(MORE_CAME, arg=count)
    shown = [each[0] for each in says(page)]
    assert len(shown) == len({*shown}) == 101
    assert shown[0] == last
    row(page, last).locator("a").click()
    expect(counted(live(page), "unread")).to_have_text("99")
