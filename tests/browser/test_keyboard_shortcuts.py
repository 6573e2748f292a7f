"""Keyboard shortcuts of the list and the quick search; inactive in text fields."""

import re
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, Route, expect

from tests.browser.conftest import live as caught_up
from tests.browser.conftest import wait_for_frames, wait_for_response, write
from tests.site import Pair
from tests.wait import wait_until

pytestmark = pytest.mark.browser

ROWS = re.compile(r"/inbox/rows/\?")


@pytest.fixture
def seeded_pair(seeded) -> Pair:
    """Two users with four conversations."""
    return seeded(4)


def live(page: Page) -> Page:
    """Waits until the page is in sync and handles shortcuts."""
    expect(page.locator("html[data-keys]")).to_have_count(1)
    return caught_up(page)


def threads(page: Page) -> list[str]:
    rows = page.locator(".rows [data-thread]")
    return rows.evaluate_all("rows => rows.map((row) => row.dataset.thread)")


def focused(page: Page, thread: str):
    return expect(page.locator(f'.rows [data-thread="{thread}"] .row-link'))


def row(page: Page, thread: str):
    return page.locator(f'.rows [data-thread="{thread}"]')


def blur_composer(page: Page) -> None:
    """Removes the focus, as a click on the background does."""
    page.evaluate("document.activeElement.blur()")


def test_j_and_k_move_through_the_list_and_enter_opens(visit, seeded_pair):
    page = live(visit(seeded_pair.seller))
    thread_1, thread_2, thread_3, thread_4 = threads(page)
    page.keyboard.press("j")
    focused(page, thread_1).to_be_focused()
    for key, expected in (
        ("j", thread_2),
        ("j", thread_3),
        ("k", thread_2),
        ("k", thread_1),
        ("k", thread_1),
    ):
        page.keyboard.press(key)
        focused(page, expected).to_be_focused()
    for _ in range(5):
        page.keyboard.press("j")
    focused(page, thread_4).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/threads/{thread_4}/")
    # In an open thread the list continues from this thread.
    blur_composer(live(page))
    page.keyboard.press("k")
    focused(page, thread_3).to_be_focused()


def test_e_archives_the_focused_row_and_moves_to_the_next(visit, seeded_pair):
    page = live(visit(seeded_pair.seller))
    thread_1, thread_2, *_ = threads(page)
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(row(page, thread_1)).to_have_count(0)
    focused(page, thread_2).to_be_focused()
    toast = page.locator(".toast", has_text="Archived")
    toast.get_by_role("button", name="Undo").click()
    expect(row(page, thread_1)).to_be_visible()
    page.goto("/inbox/archived/")
    expect(page.get_by_text("Nothing archived")).to_be_visible()


def test_m_and_u_toggle_mute_and_unread(visit, seeded_pair):
    page = live(visit(seeded_pair.seller))
    thread_1, *_ = threads(page)
    page.keyboard.press("j")
    page.keyboard.press("m")
    expect(row(page, thread_1)).to_have_attribute("data-muted", "")
    page.keyboard.press("m")
    expect(row(page, thread_1)).not_to_have_attribute("data-muted", re.compile(""))
    page.keyboard.press("u")
    expect(row(page, thread_1)).to_have_attribute("data-marked", "")
    page.keyboard.press("u")
    expect(row(page, thread_1)).not_to_have_attribute("data-marked", re.compile(""))
    focused(page, thread_1).to_be_focused()


def test_a_late_refresh_does_not_undo_a_later_action(visit, seeded_pair):
    """Without a socket every action refreshes the list, and responses may change their order."""
    page = visit(seeded_pair.seller, no_socket=True)
    expect(page.locator("html[data-keys]")).to_have_count(1)
    thread_1, *_ = threads(page)
    held: list[Route] = []
    page.route(ROWS, lambda route: route.continue_() if held else held.append(route))
    page.keyboard.press("j")
    page.keyboard.press("m")
    wait_until(lambda: page.title() and held)
    rows_before_the_mark = held[0].fetch()
    page.keyboard.press("u")
    expect(row(page, thread_1)).to_have_attribute("data-marked", "")
    with page.expect_response(ROWS):
        held[0].fulfill(response=rows_before_the_mark)
    wait_for_frames(page)
    expect(row(page, thread_1)).to_have_attribute("data-marked", "")


def test_selected_rows_take_precedence_over_the_focused_row(visit, seeded_pair):
    page = live(visit(seeded_pair.seller))
    thread_1, thread_2, thread_3, thread_4 = threads(page)
    for thread in (thread_2, thread_3):
        row(page, thread).locator("input").check(force=True)
    page.keyboard.press("e")
    expect(page.locator(".toast")).to_contain_text("Archived: 2 conversations")
    expect(page.locator(".row")).to_have_count(2)
    assert threads(page) == [thread_1, thread_4]


def test_an_open_thread_is_archived_or_marked_and_left(visit, seeded_pair):
    for key, notice in (("u", "Marked as unread"), ("e", "Archived")):
        page = live(visit(seeded_pair.seller, f"/threads/{seeded_pair.thread}/"))
        blur_composer(page)
        page.keyboard.press(key)
        page.wait_for_url("**/inbox/")
        expect(page.locator(".toast")).to_contain_text(notice)
        page.context.close()


def test_n_opens_the_next_unread_thread(visit, seeded_pair):
    buyer = live(visit(seeded_pair.buyer, f"/threads/{seeded_pair.thread}/"))
    page = live(visit(seeded_pair.seller))
    page.keyboard.press("n")
    expect(page.get_by_text("You're all caught up.")).to_be_visible()
    write(buyer, "Are you there?")
    expect(row(page, seeded_pair.thread)).to_have_attribute("data-unread", "1")
    page.keyboard.press("n")
    page.wait_for_url(f"**/threads/{seeded_pair.thread}/")


def test_shortcuts_are_inactive_in_text_fields(visit, seeded_pair):
    page = live(visit(seeded_pair.seller, f"/threads/{seeded_pair.thread}/"))
    box = page.locator("#compose")
    box.press_sequentially("jkemun/?")
    expect(box).to_have_value("jkemun/?")
    expect(page.locator(".row")).to_have_count(4)
    # Shortcuts are inactive in a menu and with a modifier key.
    page.get_by_role("button", name="Conversation options").click()
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    blur_composer(page)
    page.keyboard.press("Control+e")
    page.keyboard.press("Alt+m")
    expect(page.locator(".toast")).to_have_count(0)
    assert page.url.endswith(f"/threads/{seeded_pair.thread}/")


def test_a_slash_focuses_the_search_box(visit, seeded_pair):
    page = live(visit(seeded_pair.seller))
    page.keyboard.press("/")
    page.wait_for_url("**/inbox/search/")
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    box.fill("light")
    live(page).locator(".search-results").focus()
    page.keyboard.press("/")
    expect(box).to_be_focused()
    expect(box).to_have_value("light")


def test_a_question_mark_lists_the_shortcuts_and_they_can_be_turned_off(visit, seeded_pair):
    page = live(visit(seeded_pair.seller))
    page.keyboard.press("?")
    listed = page.get_by_role("dialog", name="Keyboard")
    expect(listed.get_by_text("Open the next unread conversation")).to_be_visible()
    assert Axe().run(page, "#keys").response["violations"] == []
    listed.get_by_label("Use single-key shortcuts").uncheck()
    page.keyboard.press("Escape")
    expect(listed).to_be_hidden()
    page.keyboard.press("j")
    expect(page.locator(".row-link:focus")).to_have_count(0)
    page.reload()
    live(page).keyboard.press("j")
    expect(page.locator(".row-link:focus")).to_have_count(0)
    # A shortcut with Ctrl stays active.
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Find a person")).to_be_visible()
    page.goto("/inbox/keys/")
    live(page).get_by_label("Use single-key shortcuts").check()
    page.keyboard.press("Tab")
    page.keyboard.press("j")
    expect(page.locator(".row-link:focus")).to_have_count(1)


def test_shortcuts_work_by_key_position_in_other_scripts(visit, seeded_pair):
    page = live(visit(seeded_pair.seller))
    thread_1, *_ = threads(page)
    page.evaluate(
        """() => document.dispatchEvent(
            new KeyboardEvent("keydown", { key: "о", code: "KeyJ", bubbles: true }))"""
    )
    focused(page, thread_1).to_be_focused()


@pytest.fixture
def indexed_page(visit, seeded_pair) -> Page:
    """The buyer's page, after the seller's name has been indexed with its delay."""
    page = live(visit(seeded_pair.buyer, f"/threads/{seeded_pair.thread}/"))
    name = page.locator(".row-name span").first.inner_text()
    write(page, "So that this server hears of it")
    wait_for_response(page, f"/inbox/find/?q={quote(name)}", 'role="option"')
    page.goto("/inbox/")
    return live(page)


def test_ctrl_k_finds_a_conversation_by_name_from_a_text_field(indexed_page, seeded_pair):
    page = indexed_page
    page.goto(f"/threads/{seeded_pair.thread}/")
    live(page)
    name = page.locator(".rows .row-name span").first.inner_text()
    page.locator("#compose").press_sequentially("Half a sentence")
    page.keyboard.press("Control+k")
    # The field has the focus immediately, so no typed letter is lost.
    page.keyboard.type(name.lower())
    box = page.get_by_role("combobox", name="Find a person")
    expect(box).to_have_value(name.lower())
    expect(page.get_by_role("option").first).to_contain_text(name)
    expect(page.get_by_role("group", name="People").get_by_role("option")).to_have_count(1)
    assert Axe().run(page, "#palette").response["violations"] == []
    first, second = page.get_by_role("option").all()[:2]
    expect(first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    expect(second).to_have_attribute("aria-selected", "true")
    expect(box).to_have_attribute("aria-activedescendant", second.get_attribute("id"))
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("option").last).to_have_attribute("aria-selected", "true")
    expected = page.get_by_role("option").last.get_attribute("data-href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{expected}")
    assert "/people/" in expected


def test_enter_before_the_response_opens_the_first_result(indexed_page):
    page = indexed_page
    name = page.locator(".row-name span").first.inner_text()
    page.keyboard.press("Control+k")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.wait_for_url("**/threads/**")


def test_an_empty_query_lists_recent_threads_and_no_match_shows_a_message(indexed_page):
    page = indexed_page
    page.keyboard.press("Control+k")
    expect(
        page.get_by_role("group", name="Latest conversations").get_by_role("option")
    ).to_have_count(4)
    page.keyboard.type("zzzz")
    expect(page.locator("[data-palette-status]")).to_have_text("No people or conversations found.")
    expect(page.get_by_role("option")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("#palette")).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("combobox", name="Find a person")).to_have_value("")
    expect(page.get_by_role("option")).to_have_count(4)
