"""What somebody is writing follows them, and never overwrites what they wrote elsewhere."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import hear_everything, live, until, write

pytestmark = pytest.mark.browser

# Longer than a draft waits before it goes to the server.
SAVED = 8_000
KEPT = """() => new Promise((done) => {
    indexedDB.open("parley").onsuccess = ({ target: { result: database } }) => {
      const drafts = database.transaction("drafts").objectStore("drafts").getAll();
      drafts.onsuccess = () => done(drafts.result.map((one) => one.text));
      database.close();
    };
})"""

# A transaction that stays open until the page is left, as on a slow disk: no other can write.
BUSY = """() => new Promise((done) => {
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


def kept(page: Page, text: str) -> None:
    """In this browser, whatever the server knows."""
    until(page, f"(text) => ({KEPT})().then((all) => all.includes(text))", text)


def test_a_draft_survives_a_reload_even_offline(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair)))
    page.context.set_offline(True)
    box(page).press_sequentially("Not finis")
    kept(page, "Not finis")
    page.context.set_offline(False)
    page.reload()
    expect(box(page)).to_have_value("Not finis")


def test_text_typed_just_before_a_reload_is_kept(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair)))
    page.evaluate(BUSY)
    box(page).press_sequentially("The last letters")
    page.evaluate("location.reload()")
    live(page)
    expect(box(page)).to_have_value("The last letters")


def test_a_message_sent_just_before_a_reload_does_not_come_back_as_a_draft(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair)))
    box(page).press_sequentially("Sent at once")
    kept(page, "Sent at once")
    page.evaluate("""() => {
        document.querySelector("[data-composer]").requestSubmit();
        location.reload();
    }""")
    live(page)
    expect(page.locator(".message .prose").last).to_have_text("Sent at once")
    expect(box(page)).to_have_value("")


def test_a_draft_follows_to_another_device_and_goes_when_it_was_sent(visit, pair):
    desk = live(visit(pair.buyer, thread_of(pair)))
    phone = live(visit(pair.buyer, thread_of(pair)))
    box(desk).press_sequentially("Begun at the desk")
    expect(box(phone)).to_have_value("Begun at the desk", timeout=SAVED)
    third = live(visit(pair.buyer, thread_of(pair)))
    expect(box(third)).to_have_value("Begun at the desk")
    write(phone, "Ended on the phone")
    expect(box(desk)).to_have_value("", timeout=SAVED)
    third.reload()
    live(third)
    expect(box(third)).to_have_value("", timeout=SAVED)


def test_two_drafts_are_both_kept_and_both_visible(visit, pair):
    desk = live(visit(pair.buyer, thread_of(pair)))
    phone = live(visit(pair.buyer, thread_of(pair)))
    phone.context.set_offline(True)
    expect(phone.locator("html")).to_have_attribute("data-live", "no")
    box(phone).press_sequentially("From the train")
    kept(phone, "From the train")
    box(desk).press_sequentially("From the desk")
    fresh = live(visit(pair.buyer, thread_of(pair)))
    expect(box(fresh)).to_have_value("From the desk", timeout=SAVED)
    phone.context.set_offline(False)
    live(phone)
    both = "From the desk\n\nFrom the train"
    for page in (phone, desk, fresh):
        expect(box(page)).to_have_value(both, timeout=SAVED)


def test_what_one_is_typing_is_not_touched_by_another_device(visit, pair):
    desk = live(visit(pair.buyer, thread_of(pair), deaf_to=("draft.changed",)))
    phone = live(visit(pair.buyer, thread_of(pair)))
    box(phone).press_sequentially("On the phone")
    kept(phone, "On the phone")
    box(desk).press_sequentially("At the desk")
    # The desk's is saved after a while; then the phone shows what it had, first or second.
    expect(box(phone)).to_have_value("On the phone\n\nAt the desk", timeout=SAVED)
    hear_everything(desk)
    expect(box(desk)).to_have_value("At the desk")


def test_typing_is_seen_by_the_other_and_ends_with_the_message(visit, pair):
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


def test_presence_comes_and_goes(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    presence = buyer.locator(".thread-title [data-presence]")
    expect(presence).not_to_have_text("Online")
    seller = live(visit(pair.seller, thread_of(pair)))
    expect(presence).to_have_text("Online")
    seller.close()
    expect(presence).to_have_text("Active just now")


def test_what_was_sent_by_the_form_does_not_come_back_as_a_draft(visit, pair):
    """Where sockets cannot be opened, sending is a form; the page is loaded anew."""
    page = visit(pair.buyer, thread_of(pair), no_socket=True)
    box(page).press_sequentially("By the form")
    kept(page, "By the form")
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".message .prose").last).to_have_text("By the form")
    # What could come back is in the database, which answers in order: the page has asked before.
    assert "By the form" not in page.evaluate(KEPT)
    expect(box(page)).to_have_value("")


def test_what_was_sent_while_offline_does_not_come_back_as_a_draft(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair)))
    phone = live(visit(pair.buyer, thread_of(pair)))
    box(page).press_sequentially("Begun online")
    expect(box(phone)).to_have_value("Begun online", timeout=SAVED)
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
