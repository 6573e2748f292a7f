"""The list by keyboard, and finding somebody by a few letters; never while one writes."""

import re
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.browser.conftest import live as caught_up
from tests.browser.conftest import wait_for_answer, write
from tests.site import Pair

pytestmark = pytest.mark.browser


@pytest.fixture
def many(seeded) -> Pair:
    """Two people with four conversations."""
    return seeded(4)


def live(page: Page) -> Page:
    """Caught up with, and listening to keys."""
    expect(page.locator("html[data-keys]")).to_have_count(1)
    return caught_up(page)


def threads(page: Page) -> list[str]:
    rows = page.locator(".rows [data-thread]")
    return rows.evaluate_all("rows => rows.map((row) => row.dataset.thread)")


def focused(page: Page, thread: str):
    return expect(page.locator(f'.rows [data-thread="{thread}"] .row-link'))


def row(page: Page, thread: str):
    return page.locator(f'.rows [data-thread="{thread}"]')


def leave_the_box(page: Page) -> None:
    """As a click beside everything does."""
    page.evaluate("document.activeElement.blur()")


def test_j_and_k_go_through_the_list_and_enter_opens(visit, many):
    page = live(visit(many.seller))
    one, two, three, four = threads(page)
    page.keyboard.press("j")
    focused(page, one).to_be_focused()
    for key, there in (("j", two), ("j", three), ("k", two), ("k", one), ("k", one)):
        page.keyboard.press(key)
        focused(page, there).to_be_focused()
    for _ in range(5):
        page.keyboard.press("j")
    focused(page, four).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/threads/{four}/")
    # Beside an open one it goes on from there.
    leave_the_box(live(page))
    page.keyboard.press("k")
    focused(page, three).to_be_focused()


def test_e_archives_what_has_the_focus_and_goes_on_with_the_next(visit, many):
    page = live(visit(many.seller))
    one, two, *_ = threads(page)
    page.keyboard.press("j")
    page.keyboard.press("e")
    expect(row(page, one)).to_have_count(0)
    focused(page, two).to_be_focused()
    toast = page.locator(".toast", has_text="Archived")
    toast.get_by_role("button", name="Undo").click()
    expect(row(page, one)).to_be_visible()
    page.goto("/inbox/archived/")
    expect(page.get_by_text("Nothing archived")).to_be_visible()


def test_m_and_u_turn_it_on_and_off(visit, many):
    page = live(visit(many.seller))
    one, *_ = threads(page)
    page.keyboard.press("j")
    page.keyboard.press("m")
    expect(row(page, one)).to_have_attribute("data-muted", "")
    page.keyboard.press("m")
    expect(row(page, one)).not_to_have_attribute("data-muted", re.compile(""))
    page.keyboard.press("u")
    expect(row(page, one)).to_have_attribute("data-marked", "")
    page.keyboard.press("u")
    expect(row(page, one)).not_to_have_attribute("data-marked", re.compile(""))
    focused(page, one).to_be_focused()


def test_what_is_picked_comes_before_what_has_the_focus(visit, many):
    page = live(visit(many.seller))
    one, two, three, four = threads(page)
    for thread in (two, three):
        row(page, thread).locator("input").check(force=True)
    page.keyboard.press("e")
    expect(page.locator(".toast")).to_contain_text("Archived: 2 conversations")
    expect(page.locator(".row")).to_have_count(2)
    assert threads(page) == [one, four]


def test_an_open_one_is_archived_or_marked_and_left(visit, many):
    for key, said in (("u", "Marked as unread"), ("e", "Archived")):
        page = live(visit(many.seller, f"/threads/{many.thread}/"))
        leave_the_box(page)
        page.keyboard.press(key)
        page.wait_for_url("**/inbox/")
        expect(page.locator(".toast")).to_contain_text(said)
        page.context.close()


def test_n_opens_what_is_unread(visit, many):
    buyer = live(visit(many.buyer, f"/threads/{many.thread}/"))
    page = live(visit(many.seller))
    page.keyboard.press("n")
    expect(page.get_by_text("You're all caught up.")).to_be_visible()
    write(buyer, "Are you there?")
    expect(row(page, many.thread)).to_have_attribute("data-unread", "1")
    page.keyboard.press("n")
    page.wait_for_url(f"**/threads/{many.thread}/")


def test_letters_are_letters_while_one_writes(visit, many):
    page = live(visit(many.seller, f"/threads/{many.thread}/"))
    box = page.get_by_role("textbox", name="Your message")
    box.press_sequentially("jkemun/?")
    expect(box).to_have_value("jkemun/?")
    expect(page.locator(".row")).to_have_count(4)
    # In a menu and with another key held they are not ours either.
    page.get_by_role("button", name="What you can do").click()
    page.keyboard.press("e")
    page.keyboard.press("Escape")
    leave_the_box(page)
    page.keyboard.press("Control+e")
    page.keyboard.press("Alt+m")
    expect(page.locator(".toast")).to_have_count(0)
    assert page.url.endswith(f"/threads/{many.thread}/")


def test_a_slash_leads_to_the_search_box(visit, many):
    page = live(visit(many.seller))
    page.keyboard.press("/")
    page.wait_for_url("**/inbox/search/")
    box = page.get_by_role("searchbox")
    expect(box).to_be_focused()
    box.fill("light")
    live(page).locator(".search-results").focus()
    page.keyboard.press("/")
    expect(box).to_be_focused()
    expect(box).to_have_value("light")


def test_a_question_mark_lists_them_and_they_can_be_turned_off(visit, many):
    page = live(visit(many.seller))
    page.keyboard.press("?")
    listed = page.get_by_role("dialog", name="Keyboard")
    expect(listed.get_by_text("Open the next unread conversation")).to_be_visible()
    assert Axe().run(page, "#keys").response["violations"] == []
    listed.get_by_label("Use single letters").uncheck()
    page.keyboard.press("Escape")
    expect(listed).to_be_hidden()
    page.keyboard.press("j")
    expect(page.locator(".row-link:focus")).to_have_count(0)
    page.reload()
    live(page).keyboard.press("j")
    expect(page.locator(".row-link:focus")).to_have_count(0)
    # With Ctrl it is not a single letter.
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Find a person")).to_be_visible()
    page.goto("/inbox/keys/")
    live(page).get_by_label("Use single letters").check()
    page.keyboard.press("Tab")
    page.keyboard.press("j")
    expect(page.locator(".row-link:focus")).to_have_count(1)


def test_letters_of_another_script_are_taken_by_their_place(visit, many):
    page = live(visit(many.seller))
    one, *_ = threads(page)
    page.evaluate(
        """() => document.dispatchEvent(
            new KeyboardEvent("keydown", { key: "о", code: "KeyJ", bubbles: true }))"""
    )
    focused(page, one).to_be_focused()


@pytest.fixture
def named(visit, many) -> Page:
    """The buyer's page, once search knows the seller's name: it is fed a moment after the fact."""
    page = live(visit(many.buyer, f"/threads/{many.thread}/"))
    name = page.locator(".row-name span").first.inner_text()
    write(page, "So that this server hears of it")
    wait_for_answer(page, f"/inbox/find/?q={quote(name)}", 'role="option"')
    page.goto("/inbox/")
    return live(page)


def test_ctrl_k_finds_a_conversation_by_a_name_while_one_writes(named, many):
    page = named
    page.goto(f"/threads/{many.thread}/")
    live(page)
    name = page.locator(".rows .row-name span").first.inner_text()
    page.get_by_role("textbox", name="Your message").press_sequentially("Half a sentence")
    page.keyboard.press("Control+k")
    # At once: no letter is lost that is typed on.
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
    there = page.get_by_role("option").last.get_attribute("data-href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{there}")
    assert "/people/" in there


def test_enter_before_the_answer_goes_where_the_answer_leads(named):
    page = named
    name = page.locator(".row-name span").first.inner_text()
    page.keyboard.press("Control+k")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    page.wait_for_url("**/threads/**")


def test_without_a_word_the_latest_and_for_no_match_a_sentence(named):
    page = named
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
