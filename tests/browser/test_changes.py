"""Editing, removing, reacting, answering; people who come and go: seen by everybody at once."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, live, texts, write

pytestmark = pytest.mark.browser


def thread_of(pair) -> str:
    return f"/threads/{pair.thread}/"


def last(page: Page):
    return page.locator(".message:not(.sending)").last


def say(page: Page, text: str, *others: Page) -> None:
    write(page, text)
    for one in (page, *others):
        expect(one.locator(".message:not(.sending) .prose").last).to_have_text(text)


def act(page: Page, message, name: str) -> None:
    message.hover()
    if message.locator(".tools").get_by_role("button", name=name).count() == 0:
        message.locator(".tools").get_by_role("button", name="More").click()
        page.locator("#message-menu").get_by_role("button", name=name).click()
    else:
        message.locator(".tools").get_by_role("button", name=name).click()


@pytest.fixture
def two(visit, pair):
    return live(visit(pair.buyer, thread_of(pair))), live(visit(pair.seller, thread_of(pair)))


def test_an_edit_is_seen_live_and_starts_from_what_was_typed(two):
    buyer, seller = two
    write(buyer, "On **Friday**")
    expect(last(seller)).to_contain_text("On Friday")
    buyer.reload()
    live(buyer)
    act(buyer, last(buyer), "Edit")
    form = buyer.locator("form.edit")
    expect(form.get_by_role("textbox")).to_have_value("On **Friday**")
    form.get_by_role("textbox").fill("On **Monday**")
    form.get_by_role("button", name="Save").click()
    for page in (buyer, seller):
        expect(last(page).locator(".prose")).to_have_text("On Monday")
        expect(last(page)).to_contain_text("edited")
    expect(form).to_have_count(0)
    expect(seller.locator(".row [data-row-text]").first).to_have_text("On Monday")


def test_a_failed_edit_keeps_its_text_and_says_why(two):
    buyer, _ = two
    say(buyer, "Short")
    act(buyer, last(buyer), "Edit")
    form = buyer.locator("form.edit")
    long = "x" * 8001
    form.get_by_role("textbox").fill(long)
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("8,000 characters")
    expect(form.get_by_role("textbox")).to_have_value(long)
    buyer.context.set_offline(True)
    expect(buyer.locator("html")).to_have_attribute("data-live", "no")
    form.get_by_role("textbox").fill("Offline")
    form.get_by_role("button", name="Save").click()
    expect(form.get_by_role("alert")).to_contain_text("offline")
    buyer.context.set_offline(False)
    live(buyer)
    form.get_by_role("button", name="Save").click()
    expect(last(buyer).locator(".prose")).to_have_text("Offline")


def test_a_reaction_of_somebody_else_does_not_close_what_one_edits(two):
    buyer, seller = two
    say(buyer, "Editing this", seller)
    act(buyer, last(buyer), "Edit")
    buyer.locator("form.edit").get_by_role("textbox").fill("Half of the ne")
    act(seller, last(seller), "React")
    seller.locator("#message-menu [data-react='🎉']").click()
    expect(last(buyer).locator(".reaction")).to_contain_text("🎉 1")
    expect(buyer.locator("form.edit").get_by_role("textbox")).to_have_value("Half of the ne")


def test_a_removal_can_be_undone_for_some_seconds(two):
    buyer, seller = two
    say(buyer, "Stays", seller)
    act(buyer, last(buyer), "Remove")
    expect(buyer.locator(".message.removing")).to_be_hidden()
    buyer.get_by_role("button", name="Undo").click()
    expect(last(buyer)).to_be_visible()
    act(buyer, last(buyer), "Remove")
    expect(last(seller).locator(".message-removed")).to_be_visible(timeout=9_000)
    expect(last(buyer).locator(".message-removed")).to_be_visible()
    assert "Stays" not in seller.content()
    last(buyer).hover()
    expect(last(buyer).locator(".tools [data-act=reply]")).to_be_hidden()


def test_leaving_the_page_does_not_bring_back_what_was_removed(two):
    buyer, seller = two
    say(buyer, "Gone", seller)
    act(buyer, last(buyer), "Remove")
    buyer.goto("/inbox/")
    expect(last(seller).locator(".message-removed")).to_be_visible()


def test_reactions_are_counted_and_mine_are_marked(two):
    buyer, seller = two
    say(buyer, "What do you think?", seller)
    for page in (buyer, seller):
        act(page, last(page), "React")
        page.locator("#message-menu [data-react='👍']").click()
    for page in (buyer, seller):
        expect(last(page).locator(".reaction")).to_have_text(re.compile(r"👍\s*2"))
        expect(last(page).locator(".reaction")).to_have_attribute("aria-pressed", "true")
    last(seller).locator(".reaction").click()
    expect(last(buyer).locator(".reaction")).to_have_text(re.compile(r"👍\s*1"))
    expect(last(seller).locator(".reaction")).to_have_attribute("aria-pressed", "false")


def test_an_answer_quotes_and_the_quote_follows_what_becomes_of_it(two):
    buyer, seller = two
    say(seller, "At nine or at ten?", buyer)
    act(buyer, last(buyer), "Reply")
    expect(buyer.locator("[data-replying]")).to_contain_text("At nine or at ten?")
    buyer.get_by_role("button", name="Cancel reply").click()
    expect(buyer.locator("[data-replying]")).to_be_hidden()
    act(buyer, last(buyer), "Reply")
    buyer.locator("#compose").fill("At ten")
    buyer.keyboard.press("Enter")
    for page in (buyer, seller):
        expect(last(page).locator("[data-quote-text]")).to_have_text("At nine or at ten?")
        expect(last(page).locator("[data-quote-name]")).not_to_be_empty()
    expect(buyer.locator("[data-replying]")).to_be_hidden()

    asked = seller.locator(".message:not(.sending)").nth(-2)
    act(seller, asked, "Edit")
    seller.locator("form.edit").get_by_role("textbox").fill("At *eleven*,\nthen?")
    seller.locator("form.edit").get_by_role("button", name="Save").click()
    expect(last(buyer).locator("[data-quote-text]")).to_have_text("At eleven, then?")
    shown = last(buyer).locator("[data-quote-text]").inner_text()
    buyer.reload()
    expect(last(buyer).locator("[data-quote-text]")).to_have_text(shown)
    last(buyer).locator(".quote").click()
    expect(buyer).to_have_url(re.compile(r"/messages/msg_\w+/#msg_"))


def test_everything_can_be_done_by_keyboard(two):
    buyer, seller = two
    say(seller, "Older", buyer)
    say(seller, "Newer", buyer)
    last(buyer).focus()
    buyer.keyboard.press("ArrowUp")
    expect(buyer.locator(".message:focus")).to_contain_text("Older")
    for _ in range(2):
        buyer.keyboard.press("Tab")
    expect(buyer.locator(".tools button:focus")).to_have_text("Reply")
    buyer.keyboard.press("Enter")
    expect(buyer.locator("[data-replying]")).to_contain_text("Older")
    expect(buyer.locator("#compose")).to_be_focused()
    buyer.keyboard.press("Escape")
    expect(buyer.locator("[data-replying]")).to_be_hidden()


def test_on_a_phone_a_long_press_opens_what_can_be_done(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair), **PHONE))
    bubble = last(page).locator(".bubble")
    place = bubble.bounding_box()
    touch = page.context.new_cdp_session(page)
    point = {"x": place["x"] + 20, "y": place["y"] + 10}
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    expect(page.locator("#message-menu")).to_be_visible()
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    expect(page.locator("#message-menu")).to_be_visible()
    page.locator("#message-menu").get_by_role("button", name="Reply").click()
    expect(page.locator("[data-replying]")).to_be_visible()


def test_what_changed_while_one_was_away_is_caught_up_with(two):
    buyer, seller = two
    say(seller, "Before the tunnel", buyer)
    buyer.context.set_offline(True)
    expect(buyer.locator("html")).to_have_attribute("data-live", "no")
    act(seller, last(seller), "Edit")
    seller.locator("form.edit").get_by_role("textbox").fill("During the tunnel")
    seller.locator("form.edit").get_by_role("button", name="Save").click()
    expect(last(seller)).to_contain_text("During the tunnel")
    buyer.context.set_offline(False)
    live(buyer)
    expect(last(buyer)).to_contain_text("During the tunnel")


def test_a_block_closes_the_box_and_keeps_what_was_typed(two):
    buyer, seller = two
    expect(buyer.locator(".thread-title [data-presence]")).to_have_text("Online")
    buyer.locator("#compose").fill("Half a sentence")
    menu = seller.get_by_role("button", name="Conversation options")
    menu.click()
    seller.get_by_role("button", name=re.compile("^Block")).click()
    box = buyer.locator("#compose")
    expect(box).to_have_attribute("readonly", "")
    expect(box).to_have_value("Half a sentence")
    expect(buyer.locator(".send")).to_be_hidden()
    expect(buyer.locator("[data-composer-closed]")).to_contain_text("can't")
    expect(buyer.locator(".thread-title [data-presence]")).to_have_text("")
    menu.click()
    seller.locator("#thread-menu").get_by_role("button", name=re.compile("^Unblock")).click()
    expect(buyer.locator(".send")).to_be_visible()
    say(buyer, "Half a sentence")


def test_somebody_invited_accepts_and_comes_and_who_is_removed_is_told(visit, pair, site):
    guest = site.pair()
    buyer = live(visit(pair.buyer, thread_of(pair)))
    # Removed, they may just have been asking for the row.
    newcomer = visit(guest.seller, "/inbox/requests/", expected_status=404)
    handle = newcomer.locator("a[href^='/people/']").first.get_attribute("href").split("/")[2]
    buyer.get_by_role("button", name="people in this conversation").click()
    buyer.get_by_label("Add someone by handle").fill(handle)
    buyer.get_by_role("button", name="Add", exact=True).click()
    row = newcomer.locator(f".row[data-thread='{pair.thread}']")
    expect(buyer.get_by_text("was invited and will join once they accept")).to_be_visible()
    expect(buyer.locator("[data-part='people-count']")).to_have_text("2")
    row.get_by_role("link").click()
    expect(newcomer.locator("#request-title")).to_contain_text("invited you to a conversation")
    expect(newcomer.locator(".message")).to_have_count(0)
    newcomer.get_by_role("button", name="Accept").click()
    live(newcomer)
    live(buyer)
    say(buyer, "Welcome", newcomer)

    buyer.get_by_role("button", name="people in this conversation").click()
    person = buyer.locator(f"[data-person='{guest.seller.id}']")
    person.locator("summary").click()
    person.get_by_role("button", name=re.compile("^Remove")).click()
    expect(newcomer.locator("[data-banners]")).not_to_be_empty()
    expect(newcomer.locator(".send")).to_be_hidden()
    expect(newcomer.locator(f".row[data-thread='{pair.thread}']")).to_have_count(0)
    live(buyer)
    write(buyer, "Among ourselves")
    expect(buyer.locator(".message.sending")).to_have_count(0)
    # What is told to the newcomer later is there, and what was written in between is not.
    with site.connect(guest.buyer) as friend:
        friend.send(guest.thread, "Where were you?")
        expect(newcomer.locator(f".row[data-thread='{guest.thread}']")).to_contain_text(
            "Where were you?"
        )
    assert "Among ourselves" not in texts(newcomer)
