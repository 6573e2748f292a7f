"""Drafts are synced between a user's devices and never overwrite text typed elsewhere."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import live, until, wait_for_events, write

pytestmark = pytest.mark.browser

# Longer than the delay before a draft is saved on the server.
SAVE_TIMEOUT_MS = 8_000
LOCAL_DRAFT = """() => new Promise((done) => {
    indexedDB.open("parley").onsuccess = ({ target: { result: database } }) => {
      const drafts = database.transaction("drafts").objectStore("drafts").getAll();
      drafts.onsuccess = () => done(drafts.result.map((one) => one.text));
      database.close();
    };
})"""

# A transaction that stays open until the page is left, as on a slow disk: no other can write.
BLOCK_WRITES = """() => new Promise((done) => {
    indexedDB.open("parley").onsuccess = ({ target: { result: database } }) => {
      const drafts = database.transaction("drafts", "readwrite").objectStore("drafts");
      const again = () => (drafts.count().onsuccess = again);
      again();
      done();
    };
})"""


def thread_of(pair) -> str:
    return f"/threads/{pair.thread}/"


def box(page: Page):
    return page.locator("#compose")


def wait_for_local_draft(page: Page, text: str) -> None:
    """Waits until the draft is stored in this browser."""
    until(page, f"(text) => ({LOCAL_DRAFT})().then((all) => all.includes(text))", text)


def test_a_draft_survives_a_reload_even_offline(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair)))
    page.context.set_offline(True)
    box(page).press_sequentially("Not finis")
    wait_for_local_draft(page, "Not finis")
    page.context.set_offline(False)
    page.reload()
    expect(box(page)).to_have_value("Not finis")


def test_text_typed_just_before_a_reload_is_kept(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair)))
    page.evaluate(BLOCK_WRITES)
    box(page).press_sequentially("The last letters")
    page.evaluate("location.reload()")
    live(page)
    expect(box(page)).to_have_value("The last letters")


def test_a_message_sent_just_before_a_reload_does_not_return_as_a_draft(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair)))
    box(page).press_sequentially("Sent at once")
    wait_for_local_draft(page, "Sent at once")
    page.evaluate("""() => {
        document.querySelector("[data-composer]").requestSubmit();
        location.reload();
    }""")
    live(page)
    expect(page.locator(".message .prose").last).to_have_text("Sent at once")
    expect(box(page)).to_have_value("")


def test_a_draft_appears_on_another_device_and_disappears_when_sent(visit, pair):
    desk = live(visit(pair.buyer, thread_of(pair)))
    phone = live(visit(pair.buyer, thread_of(pair)))
    box(desk).press_sequentially("Begun at the desk")
    expect(box(phone)).to_have_value("Begun at the desk", timeout=SAVE_TIMEOUT_MS)
    third = live(visit(pair.buyer, thread_of(pair)))
    expect(box(third)).to_have_value("Begun at the desk")
    write(phone, "Ended on the phone")
    expect(box(desk)).to_have_value("", timeout=SAVE_TIMEOUT_MS)
    third.reload()
    live(third)
    expect(box(third)).to_have_value("", timeout=SAVE_TIMEOUT_MS)


def test_two_drafts_are_both_kept_and_both_visible(visit, pair):
    desk = live(visit(pair.buyer, thread_of(pair)))
    phone = live(visit(pair.buyer, thread_of(pair)))
    phone.context.set_offline(True)
    expect(phone.locator("html")).to_have_attribute("data-live", "no")
    box(phone).press_sequentially("From the train")
    wait_for_local_draft(phone, "From the train")
    box(desk).press_sequentially("From the desk")
    fresh = live(visit(pair.buyer, thread_of(pair)))
    expect(box(fresh)).to_have_value("From the desk", timeout=SAVE_TIMEOUT_MS)
    phone.context.set_offline(False)
    live(phone)
    both = "From the desk\n\nFrom the train"
    for page in (phone, desk, fresh):
        expect(box(page)).to_have_value(both, timeout=SAVE_TIMEOUT_MS)


def test_text_being_typed_is_not_changed_by_another_device(visit, pair):
    desk = live(visit(pair.buyer, thread_of(pair), drop_types=("draft.changed",)))
    phone = live(visit(pair.buyer, thread_of(pair)))
    box(phone).press_sequentially("On the phone")
    wait_for_local_draft(phone, "On the phone")
    box(desk).press_sequentially("At the desk")
    # The desktop's draft is saved after a delay; then the phone shows both, its own first.
    expect(box(phone)).to_have_value("On the phone\n\nAt the desk", timeout=SAVE_TIMEOUT_MS)
    wait_for_events(desk)
    expect(box(desk)).to_have_value("At the desk")


def test_typing_is_shown_to_the_other_user_until_the_message_arrives(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    seller = live(visit(pair.seller, thread_of(pair)))
    typing = seller.locator("[data-typing]")
    box(buyer).press_sequentially("Let me")
    expect(typing).to_contain_text("is typing")
    box(buyer).press("Enter")
    expect(typing).to_have_text("")
    box(buyer).press_sequentially("And")
    expect(typing).to_contain_text("is typing")
    box(buyer).fill("")
    expect(typing).to_have_text("")


def test_presence_follows_the_other_users_connection(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    presence = buyer.locator(".thread-title [data-presence]")
    expect(presence).not_to_have_text("Online")
    seller = live(visit(pair.seller, thread_of(pair)))
    expect(presence).to_have_text("Online")
    seller.close()
    expect(presence).to_have_text("Active just now")


def test_a_message_sent_by_the_form_does_not_return_as_a_draft(visit, pair):
    """Without a socket the message is sent by the form, and the page is reloaded."""
    page = visit(pair.buyer, thread_of(pair), no_socket=True)
    box(page).press_sequentially("By the form")
    wait_for_local_draft(page, "By the form")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".message .prose").last).to_have_text("By the form")
    # The browser database answers in order, so the page has already read its draft.
    assert "By the form" not in page.evaluate(LOCAL_DRAFT)
    expect(box(page)).to_have_value("")


def test_a_message_sent_while_offline_does_not_return_as_a_draft(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair)))
    phone = live(visit(pair.buyer, thread_of(pair)))
    box(page).press_sequentially("Begun online")
    expect(box(phone)).to_have_value("Begun online", timeout=SAVE_TIMEOUT_MS)
    page.context.set_offline(True)
    box(page).press_sequentially(", sent offline")
    box(page).press("Enter")
    expect(box(page)).to_have_value("")
    page.context.set_offline(False)
    expect(page.locator(".message:not(.sending) .prose").last).to_have_text(
        "Begun online, sent offline", timeout=30_000
    )
    expect(box(phone)).to_have_value("", timeout=30_000)
    expect(box(page)).to_have_value("")
    page.reload()
    live(page)
    expect(box(page)).to_have_value("")
