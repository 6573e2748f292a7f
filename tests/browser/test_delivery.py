"""No message is lost, duplicated or out of order, despite failures of the connection."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import live, texts, until, wait_for_events, write
from tests.browser.test_drafts import wait_for_local_draft

pytestmark = pytest.mark.browser

SENDING = ".message.sending"
HOLD_THE_LOCK = """() => new Promise((resolve) => {
    const { me } = document.documentElement.dataset;
    const { thread } = document.querySelector("[data-timeline]").dataset;
    void navigator.locks.request(`parley outbox ${me} ${thread}`, () => {
        resolve();
        return new Promise(() => {});
    });
})"""

NOTHING_UNSENT = """() => new Promise((done) => {
    indexedDB.open("parley").onsuccess = ({ target: { result: database } }) => {
      const count = database.transaction("outbox").objectStore("outbox").count();
      count.onsuccess = () => done(count.result === 0);
      database.close();
    };
})"""


def thread_of(pair) -> str:
    return f"/threads/{pair.thread}/"


def wait_until_sent(page: Page) -> None:
    expect(page.locator(SENDING)).to_have_count(0)


def go_offline(page: Page) -> None:
    page.context.set_offline(True)
    expect(page.locator("html")).to_have_attribute("data-live", "no")


def go_online(page: Page) -> None:
    page.context.set_offline(False)
    live(page)


def test_messages_written_offline_arrive_once_and_in_order(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    seller = live(visit(pair.seller, thread_of(pair)))
    write(buyer, "Before")
    wait_until_sent(buyer)
    go_offline(buyer)
    write(buyer, "First of the tunnel")
    buyer.locator("#compose").press_sequentially("Half a sen")
    write(seller, "Are you still there?")
    buyer.locator("#compose").press_sequentially("tence")
    buyer.get_by_role("button", name="Send").click()
    expect(buyer.locator(SENDING)).to_have_count(2)
    expect(buyer.locator("[data-connection]")).to_contain_text("Messages will be sent")
    go_online(buyer)
    wait_until_sent(buyer)

    expected = ["Before", "Are you still there?", "First of the tunnel", "Half a sentence"]
    for page in (buyer, seller):
        expect(page.locator(".message .prose").last).to_have_text("Half a sentence")
        assert texts(page)[-4:] == expected
        page.reload()
        assert texts(page)[-4:] == expected


def test_a_message_written_offline_is_not_bound_to_what_the_page_had_then(visit, pair):
    """The thread may have grown by any number of messages before it is sent."""
    buyer, sent = live(visit(pair.buyer, thread_of(pair))), []
    buyer.on("websocket", lambda socket: socket.on("framesent", lambda text: sent.append(text)))
    buyer.reload()
    live(buyer)
    write(buyer, "Written online")
    wait_until_sent(buyer)
    go_offline(buyer)
    write(buyer, "Written offline")
    go_online(buyer)
    wait_until_sent(buyer)
    frames = [json.loads(text) for text in sent]
    has_seq = {f["body"]: "after_seq" in f for f in frames if f["type"] == "message.send"}
    assert has_seq == {"Written online": True, "Written offline": False}


def test_a_reload_during_a_send_loses_nothing(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair), mute=True))
    write(buyer, "Sent into silence")
    write(buyer, "And one more")
    expect(buyer.locator(SENDING)).to_have_count(2)
    buyer.reload()
    expect(buyer.locator(".message .prose").last).to_have_text("And one more")
    wait_until_sent(buyer)
    assert texts(buyer)[-2:] == ["Sent into silence", "And one more"]
    assert texts(buyer).count("Sent into silence") == 1


def test_unsent_messages_of_a_closed_page_are_sent_on_the_next_visit(visit, pair):
    seller = live(visit(pair.seller, thread_of(pair)))
    buyer = live(visit(pair.buyer, thread_of(pair), mute=True))
    write(buyer, "The browser crashes now")
    expect(buyer.locator(SENDING)).to_have_count(1)
    context = buyer.context
    buyer.close()

    # Opening any page is enough; the thread need not be opened.
    again = context.new_page()
    again.goto("/inbox/")
    expect(seller.locator(".message .prose").last).to_have_text("The browser crashes now")
    again.goto(thread_of(pair))
    live(again)
    expect(again.locator(SENDING)).to_have_count(0)
    assert texts(again).count("The browser crashes now") == 1


def test_another_user_of_the_same_browser_neither_sees_nor_sends_unsent_messages(visit, site, pair):
    buyer = live(visit(pair.buyer, thread_of(pair), mute=True))
    write(buyer, "Mine alone")
    expect(buyer.locator(SENDING)).to_have_count(1)
    context = buyer.context
    buyer.close()
    context.add_cookies([{"name": "sessionid", "value": pair.seller.cookie, "url": site.url}])
    seller = context.new_page()
    seller.goto(thread_of(pair))
    live(seller)
    # Unsent messages are sent in order, so this one would come after the other.
    write(seller, "And mine")
    wait_until_sent(seller)
    assert "Mine alone" not in texts(seller)
    expect(seller.locator(SENDING)).to_have_count(0)
    context.add_cookies([{"name": "sessionid", "value": pair.buyer.cookie, "url": site.url}])
    seller.goto(thread_of(pair))
    expect(seller.locator(".message .prose").last).to_have_text("Mine alone")
    wait_until_sent(seller)


def test_two_tabs_share_unsent_messages_and_send_each_once(visit, pair):
    first = live(visit(pair.buyer, thread_of(pair)))
    second = first.context.new_page()
    second.goto(thread_of(pair))
    live(second)
    # The first tab takes the lock and never releases it.
    first.evaluate(HOLD_THE_LOCK)
    write(first, "Seen in both tabs")
    expect(second.locator(SENDING)).to_have_count(1)
    first.close()
    # Closing the tab released the lock, so the other tab sends.
    wait_until_sent(second)
    assert texts(second).count("Seen in both tabs") == 1


def test_a_message_discarded_in_one_tab_disappears_in_the_other(visit, pair):
    first = live(visit(pair.buyer, thread_of(pair), drop_types=("thread.changed",)))
    second = first.context.new_page()
    second.goto(thread_of(pair))
    live(second)
    seller = visit(pair.seller, thread_of(pair))
    press_in_menu(seller, "Block")
    write(first, "Into the wall")
    expect(first.locator(".message.failed")).to_have_count(1)
    expect(second.locator(".message.failed")).to_contain_text("You can't message each other.")
    first.get_by_role("button", name="Discard").click()
    expect(second.locator(SENDING)).to_have_count(0)


def test_a_failed_message_keeps_its_reason_after_a_reload_and_can_be_resent(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair), drop_types=("thread.changed",)))
    seller = visit(pair.seller, thread_of(pair))
    press_in_menu(seller, "Block")
    write(page, "Not yet")
    expect(page.locator(".message.failed")).to_contain_text("You can't message each other.")
    page.reload()
    expect(page.locator(".message.failed")).to_contain_text("You can't message each other.")
    press_in_menu(seller, "Unblock")
    page.get_by_role("button", name="Try again").click()
    wait_until_sent(page)
    assert texts(page)[-1] == "Not yet"


def press_in_menu(page: Page, name: str) -> None:
    page.get_by_role("button", name="Conversation options").click()
    page.locator("#thread-menu").get_by_role("button", name=re.compile(f"^{name}")).click()
    page.wait_for_load_state()


def test_a_message_unsent_for_too_long_becomes_a_draft_and_asks_for_confirmation(visit, pair):
    page = live(visit(pair.buyer, thread_of(pair), mute=True))
    write(page, "From last month")
    expect(page.locator(SENDING)).to_have_count(1)
    page.evaluate("""() => new Promise((done) => {
        indexedDB.open("parley").onsuccess = ({ target }) => {
          const items = target.result.transaction("outbox", "readwrite").objectStore("outbox");
          items.openCursor().onsuccess = ({ target: { result: found } }) => {
            const at = found.value.at - 31 * 24 * 3600000;
            found.update({ ...found.value, at }).onsuccess = done;
          };
        };
    })""")
    page.reload()
    live(page)
    expect(page.locator("#compose")).to_have_value("From last month")
    expect(page.locator("[data-composer-error]")).to_contain_text("wasn't sent")
    # No message is left that could be sent automatically.
    until(page, NOTHING_UNSENT)
    expect(page.locator(SENDING)).to_have_count(0)
    assert "From last month" not in texts(page)
    page.get_by_role("button", name="Send").click()
    wait_until_sent(page)
    assert texts(page)[-1] == "From last month"


def test_a_lost_frame_is_detected_and_messages_are_shown_in_order(visit, pair, site):
    buyer = live(visit(pair.buyer, thread_of(pair), drop_first="message.sent"))
    with site.connect(pair.seller) as seller:
        seller.send(pair.thread, "Lost on the way")
        seller.send(pair.thread, "Arrives")
        expect(buyer.locator(".message .prose").last).to_have_text("Arrives")
    assert texts(buyer)[-2:] == ["Lost on the way", "Arrives"]


def test_messages_missed_while_offline_appear_without_a_reload(visit, pair, site):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    go_offline(buyer)
    with site.connect(pair.seller) as seller:
        for number in range(60):
            seller.send(pair.thread, f"Missed {number}")
            seller.hear("message.accepted")
    go_online(buyer)
    expect(buyer.locator(".message .prose").last).to_have_text("Missed 59")
    assert texts(buyer)[-60:] == [f"Missed {number}" for number in range(60)]


def test_ticks_change_from_sending_to_read(visit, pair, site):
    buyer = live(visit(pair.buyer, thread_of(pair), hold="message.send"))
    tick = buyer.locator(".message.mine:not(.sending) [data-ticks]").last
    write(buyer, "How far did it get?")
    expect(buyer.locator(SENDING)).to_contain_text("Sending")
    buyer.evaluate("globalThis.release()")
    wait_until_sent(buyer)
    expect(buyer.locator(".message").last).to_contain_text("How far did it get?")
    expect(tick).to_have_attribute("data-tick", "sent")
    expect(tick).to_have_text("Sent")

    # The seller's open inbox page counts as delivery.
    seller = visit(pair.seller, "/inbox/")
    expect(tick).to_have_attribute("data-tick", "delivered")
    expect(tick).to_have_text("Delivered")
    hollow = tick.locator(".tick").last.evaluate("one => getComputedStyle(one).fill")
    seller.goto(thread_of(pair))
    expect(tick).to_have_attribute("data-tick", "read")
    expect(tick).to_have_text("Read")
    assert (
        hollow == "none" != tick.locator(".tick").last.evaluate("one => getComputedStyle(one).fill")
    )
    buyer.reload()
    expect(tick).to_have_attribute("data-tick", "read")


def test_only_the_last_of_a_group_shows_ticks(visit, pair):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    for text in ("One", "Two", "Three"):
        write(buyer, text)
    wait_until_sent(buyer)
    mine = buyer.locator(".message.mine")
    expect(mine.last.locator("[data-ticks]")).to_be_visible()
    for place in (-3, -2):
        expect(mine.nth(place).locator("[data-ticks]")).to_be_hidden()


def test_missed_messages_are_delivered_on_return_without_opening_the_thread(visit, pair, site):
    buyer = live(visit(pair.buyer, thread_of(pair)))
    for text in ("Nobody", "is", "there"):
        write(buyer, text)
    wait_until_sent(buyer)
    tick = buyer.locator(".message.mine [data-ticks]").last
    expect(tick).to_have_attribute("data-tick", "sent")
    settings = visit(pair.seller, "/settings/")
    assert settings.evaluate("sockets.length") == 0
    wait_for_events(buyer)
    expect(tick).to_have_attribute("data-tick", "sent")  # A page without a socket receives nothing.
    seller = visit(pair.seller, "/inbox/")
    expect(tick).to_have_attribute("data-tick", "delivered")
    expect(seller.locator(f".row[data-thread='{pair.thread}']")).not_to_have_attribute(
        "data-unread", "0"
    )


def test_the_title_shows_the_number_of_unread_conversations(visit, pair, site):
    """The title shows the same number as the list of folders, however many rows are loaded."""
    seller = live(visit(pair.seller, "/inbox/"))
    expect(seller).to_have_title(re.compile(r"^Inbox"))
    buyer = live(visit(pair.buyer, thread_of(pair)))
    for text in ("One more", "And another"):
        write(buyer, text)
    expect(seller.locator(f".row[data-thread='{pair.thread}']")).to_have_attribute(
        "data-unread", "2"
    )
    expect(seller).to_have_title(re.compile(r"^\(1\) Inbox"))
    expect(seller.locator('.tabs [data-count="unread"]')).to_have_text("1")
    seller.goto(thread_of(pair))
    expect(seller).to_have_title(re.compile(r"^[^(]"))


def test_a_screen_reader_announces_new_messages_once_and_not_the_history(visit, pair):
    seller = live(visit(pair.seller, thread_of(pair)))
    expect(seller.locator("[data-announcer] p")).to_have_count(0)
    buyer = live(visit(pair.buyer, thread_of(pair)))
    write(buyer, "Hear this")
    expect(seller.locator("[data-announcer] p")).to_have_text(re.compile("Buyer.*: Hear this"))
    expect(buyer.locator("[data-announcer] p")).to_have_count(0)


def test_signing_out_elsewhere_redirects_to_the_sign_in_and_keeps_the_draft(visit, pair, site):
    page = live(visit(pair.buyer, thread_of(pair), mute=True))
    write(page, "Unsent")
    page.locator("#compose").fill("A draft")
    wait_for_local_draft(page, "A draft")
    cookie = pair.buyer.cookie
    page.context.clear_cookies()
    page.evaluate("globalThis.sockets.forEach((socket) => socket.close())")
    page.wait_for_url("**/accounts/login/?next=**")
    page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": site.url}])
    page.goto(thread_of(pair))
    live(page)
    wait_until_sent(page)
    assert texts(page)[-1] == "Unsent"
    expect(page.locator("#compose")).to_have_value("A draft")
