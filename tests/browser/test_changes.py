"""Edits, removals, reactions, replies and roster changes, shown live to every participant."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, live, texts, write

pytestmark = pytest.mark.browser


def thread_of(pair) -> str:
    return f"/threads/{pair.thread}/"


def last(page: Page):
    return page.locator(".message:not(.sending)").last


def send_and_wait(page: Page, text: str, *others: Page) -> None:
    write(page, text)
    for one in (page, *others):
        expect(one.locator(".message:not(.sending) .prose").last).to_have_text(text)


def press_action(page: Page, message, name: str) -> None:
    message.hover()
    if message.locator(".tools").get_by_role("button", name=name).count() == 0:
        message.locator(".tools").get_by_role("button", name="More").click()
        page.locator("#message-menu").get_by_role("button", name=name).click()
    else:
        message.locator(".tools").get_by_role("button", name=name).click()


@pytest.fixture
def two_pages(visit, pair):
    return live(visit(pair.buyer, thread_of(pair))), live(visit(pair.seller, thread_of(pair)))


def test_an_edit_is_shown_live_and_starts_from_the_source_text(two_pages):
    buyer, seller = two_pages
    write(buyer, "On **Friday**")
    expect(last(seller)).to_contain_text("On Friday")
    buyer.reload()
    live(buyer)
    press_action(buyer, last(buyer), "Edit")
    form = buyer.locator("form.edit")
    expect(form.get_by_role("textbox")).to_have_value("On **Friday**")
    form.get_by_role("textbox").fill("On **Monday**")
    form.get_by_role("button", name="Save").click()
    for page in (buyer, seller):
        expect(last(page).locator(".prose")).to_have_text("On Monday")
        expect(last(page)).to_contain_text("edited")
    expect(form).to_have_count(0)
    expect(seller.locator(".row [data-row-text]").first).to_have_text("On Monday")


def test_a_failed_edit_keeps_its_text_and_shows_the_reason(two_pages):
    buyer, _ = two_pages
    send_and_wait(buyer, "Short")
    press_action(buyer, last(buyer), "Edit")
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


def test_a_reaction_of_another_user_does_not_close_an_open_edit(two_pages):
    buyer, seller = two_pages
    send_and_wait(buyer, "Editing this", seller)
    press_action(buyer, last(buyer), "Edit")
    buyer.locator("form.edit").get_by_role("textbox").fill("Half of the ne")
    press_action(seller, last(seller), "React")
    seller.locator("#message-menu [data-react='🎉']").click()
    expect(last(buyer).locator(".reaction")).to_contain_text("🎉 1")
    expect(buyer.locator("form.edit").get_by_role("textbox")).to_have_value("Half of the ne")


def test_a_removal_can_be_undone_for_some_seconds(two_pages):
    buyer, seller = two_pages
    send_and_wait(buyer, "Stays", seller)
    press_action(buyer, last(buyer), "Remove")
    expect(buyer.locator(".message.removing")).to_be_hidden()
    buyer.get_by_role("button", name="Undo").click()
    expect(last(buyer)).to_be_visible()
    press_action(buyer, last(buyer), "Remove")
    expect(last(seller).locator(".message-removed")).to_be_visible(timeout=9_000)
    expect(last(buyer).locator(".message-removed")).to_be_visible()
    assert "Stays" not in seller.content()
    last(buyer).hover()
    expect(last(buyer).locator(".tools [data-act=reply]")).to_be_hidden()


def test_leaving_the_page_does_not_undo_a_removal(two_pages):
    buyer, seller = two_pages
    send_and_wait(buyer, "Gone", seller)
    press_action(buyer, last(buyer), "Remove")
    buyer.goto("/inbox/")
    expect(last(seller).locator(".message-removed")).to_be_visible()


def test_reactions_are_counted_and_the_viewers_are_marked(two_pages):
    buyer, seller = two_pages
    send_and_wait(buyer, "What do you think?", seller)
    for page in (buyer, seller):
        press_action(page, last(page), "React")
        page.locator("#message-menu [data-react='👍']").click()
    for page in (buyer, seller):
        expect(last(page).locator(".reaction")).to_have_text(re.compile(r"👍\s*2"))
        expect(last(page).locator(".reaction")).to_have_attribute("aria-pressed", "true")
    last(seller).locator(".reaction").click()
    expect(last(buyer).locator(".reaction")).to_have_text(re.compile(r"👍\s*1"))
    expect(last(seller).locator(".reaction")).to_have_attribute("aria-pressed", "false")


def test_a_reply_quotes_a_message_and_the_quote_follows_its_changes(two_pages):
    buyer, seller = two_pages
    send_and_wait(seller, "At nine or at ten?", buyer)
    press_action(buyer, last(buyer), "Reply")
    expect(buyer.locator("[data-replying]")).to_contain_text("At nine or at ten?")
    buyer.get_by_role("button", name="Cancel reply").click()
    expect(buyer.locator("[data-replying]")).to_be_hidden()
    press_action(buyer, last(buyer), "Reply")
    buyer.locator("#compose").fill("At ten")
    buyer.keyboard.press("Enter")
    for page in (buyer, seller):
        expect(last(page).locator("[data-quote-text]")).to_have_text("At nine or at ten?")
        expect(last(page).locator("[data-quote-name]")).not_to_be_empty()
    expect(buyer.locator("[data-replying]")).to_be_hidden()

    question = seller.locator(".message:not(.sending)").nth(-2)
    press_action(seller, question, "Edit")
    seller.locator("form.edit").get_by_role("textbox").fill("At *eleven*,\nthen?")
    seller.locator("form.edit").get_by_role("button", name="Save").click()
    expect(last(buyer).locator("[data-quote-text]")).to_have_text("At eleven, then?")
    shown = last(buyer).locator("[data-quote-text]").inner_text()
    buyer.reload()
    expect(last(buyer).locator("[data-quote-text]")).to_have_text(shown)
    last(buyer).locator(".quote").click()
    expect(buyer).to_have_url(re.compile(r"/messages/msg_\w+/#msg_"))


def test_every_message_action_works_by_keyboard(two_pages):
    buyer, seller = two_pages
    send_and_wait(seller, "Older", buyer)
    send_and_wait(seller, "Newer", buyer)
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


def test_on_a_phone_a_long_press_opens_the_message_menu(visit, pair):
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


def test_changes_made_while_offline_are_synced(two_pages):
    buyer, seller = two_pages
    send_and_wait(seller, "Before the tunnel", buyer)
    buyer.context.set_offline(True)
    expect(buyer.locator("html")).to_have_attribute("data-live", "no")
    press_action(seller, last(seller), "Edit")
    seller.locator("form.edit").get_by_role("textbox").fill("During the tunnel")
    seller.locator("form.edit").get_by_role("button", name="Save").click()
    expect(last(seller)).to_contain_text("During the tunnel")
    buyer.context.set_offline(False)
    live(buyer)
    expect(last(buyer)).to_contain_text("During the tunnel")


def test_a_block_closes_the_composer_and_keeps_the_typed_text(two_pages):
    buyer, seller = two_pages
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
    send_and_wait(buyer, "Half a sentence")


def test_an_invited_user_accepts_and_joins_and_a_removed_user_is_notified(visit, pair, site):
    guest = site.pair()
    buyer = live(visit(pair.buyer, thread_of(pair)))
    # After the removal, a request for the row may still be in progress.
    newcomer = visit(guest.seller, "/inbox/requests/", expected_status=404)
    profile = newcomer.locator("a[href^='/people/']:not([href='/people/'])").first
    handle = profile.get_attribute("href").split("/")[2]
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
    send_and_wait(buyer, "Welcome", newcomer)

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
    # The newcomer sees later messages, and not those written while they were absent.
    with site.connect(guest.buyer) as friend:
        friend.send(guest.thread, "Where were you?")
        expect(newcomer.locator(f".row[data-thread='{guest.thread}']")).to_contain_text(
            "Where were you?"
        )
    assert "Among ourselves" not in texts(newcomer)
