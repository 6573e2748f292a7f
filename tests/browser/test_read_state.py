"""Only messages that were in view are read, and the scroll position does not move unasked."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import live, texts, wait_for_frames, write

pytestmark = pytest.mark.browser

UNREAD_LINE = ".unread-line"
AT_END = """() => !document.querySelector("[data-newer]")
    && document.querySelector("[data-scroller]").scrollTop > -5"""
SCROLL_ON = f"""() => {{
    if (({AT_END})()) return true;
    document.querySelector("[data-scroller]").scrollBy(0, 400);
    return false;
}}"""
# The count at the jump button equals the unread count that the server gave the list.
COUNT_MATCHES = """(thread) => {
    const { unread } = document.querySelector(`.row[data-thread="${thread}"]`).dataset;
    return document.querySelector("[data-jump] .count").textContent.trim() === unread;
}"""


def thread_of(pair) -> str:
    return f"/threads/{pair.thread}/"


def send_many(site, pair, count: int, word: str = "Line") -> None:
    with site.connect(pair.seller) as seller:
        for number in range(count):
            seller.send(pair.thread, f"{word} {number}\n\nwith a second paragraph")
        for _ in range(count):
            seller.hear("message.accepted")


def unread(page: Page, pair) -> int:
    row = page.locator(f".row[data-thread='{pair.thread}']")
    return int(row.get_attribute("data-unread"))


def read_all(visit, pair) -> Page:
    page = live(visit(pair.buyer, thread_of(pair)))
    row = page.locator(f".row[data-thread='{pair.thread}']")
    expect(row).to_have_attribute("data-unread", "0")
    return page


def read_down(page: Page) -> None:
    """Scrolls to the end step by step, as a reader does."""
    page.wait_for_function(SCROLL_ON, polling=50)


def scroll(page: Page, top: int) -> None:
    page.locator("[data-scroller]").evaluate("(one, top) => { one.scrollTop = top }", top)


@pytest.mark.parametrize("background", ["without_focus", "hidden"])
def test_a_page_in_the_background_reads_nothing(visit, pair, site, background):
    read_all(visit, pair).close()
    page = live(visit(pair.buyer, thread_of(pair), **{background: True}))
    seller = live(visit(pair.seller, thread_of(pair)))
    write(seller, "Do you see this?")
    expect(page.locator(".message .prose").last).to_have_text("Do you see this?")
    # The page sends its read cursor before its delivery cursor.
    tick = seller.locator(".message.mine [data-ticks]").last
    for count, text in enumerate(("Do you see this?", "Or this?"), 1):
        if count > 1:
            write(seller, text)
        expect(seller.locator(".message.mine:not(.sending) .prose").last).to_have_text(text)
        expect(tick).to_have_attribute("data-tick", "delivered")
        row = page.locator(f".row[data-thread='{pair.thread}']")
        expect(row).to_have_attribute("data-unread", str(count))
    expect(page.locator(UNREAD_LINE)).to_be_visible()

    page.evaluate("globalThis.bringToFront()")
    expect(tick).to_have_attribute("data-tick", "read")
    # The line stays visible while the page is read.
    expect(page.locator(UNREAD_LINE)).to_be_visible()


def test_a_thread_opens_at_the_first_unread_message_and_reads_only_visible_ones(visit, pair, site):
    read_all(visit, pair).close()
    send_many(site, pair, 40)
    page = live(visit(pair.buyer, thread_of(pair)))
    expect(page.locator(UNREAD_LINE)).to_be_in_viewport()
    before = page.locator(".message[data-seq='3']")
    expect(before).to_be_in_viewport()  # Some messages that were read before are visible as well.
    expect(page.locator(f".row[data-thread='{pair.thread}']")).not_to_have_attribute(
        "data-unread", "40"
    )
    page.wait_for_function(COUNT_MATCHES, arg=pair.thread)
    assert 10 < unread(page, pair) < 40

    read_down(page)
    expect(page.locator(f".row[data-thread='{pair.thread}']")).to_have_attribute("data-unread", "0")
    expect(page.locator(UNREAD_LINE)).to_have_count(1)
    expect(page.locator("[data-jump]")).to_be_hidden()


def test_a_late_response_with_rows_does_not_undo_newer_events(visit, pair, site):
    read_all(visit, pair).close()
    send_many(site, pair, 3)
    page = visit(pair.buyer, "/settings/", hold="thread.mark_read")
    row = page.locator(f".row[data-thread='{pair.thread}']")

    def hold_back(route):
        response = route.fetch()  # The response from before the messages are read.
        page.evaluate("release()")
        expect(row).to_have_attribute("data-unread", "0")
        route.fulfill(response=response)

    page.route("**/inbox/rows/?*", hold_back, times=1)
    with page.expect_response("**/inbox/rows/?*") as response:
        page.goto(thread_of(pair))
    response.value.finished()
    wait_for_frames(page)
    assert unread(page, pair) == 0


def test_scrolling_down_from_old_messages_reaches_the_live_end(visit, pair, site):
    read_all(visit, pair).close()
    send_many(site, pair, 120)
    page = live(visit(pair.buyer, thread_of(pair)))
    expect(page.locator(UNREAD_LINE)).to_be_in_viewport()
    assert "Line 119" not in page.locator(".message .prose").last.inner_text()
    expect(page.locator("[data-jump] .count")).to_be_visible()

    read_down(page)
    assert [text.split("\n")[0] for text in texts(page)[-120:]] == [f"Line {n}" for n in range(120)]
    with site.connect(pair.seller) as seller:
        seller.send(pair.thread, "Live again")
        expect(page.locator(".message .prose").last).to_have_text("Live again")
    expect(page.locator(f".row[data-thread='{pair.thread}']")).to_have_attribute("data-unread", "0")


def test_jumping_to_the_latest_leaves_skipped_messages_unread(visit, pair, site):
    read_all(visit, pair).close()
    send_many(site, pair, 120)
    page = live(visit(pair.buyer, thread_of(pair)))
    page.locator("[data-jump]").click()
    expect(page.locator(".message .prose").last).to_be_in_viewport()
    expect(page.locator(".message .prose").last).to_contain_text("Line 119")
    # The page sends its read cursor before it confirms the delivery of the next message.
    with site.connect(pair.seller) as seller:
        seller.hear("hello")
        seller.say("thread.open", thread=pair.thread)
        seller.send(pair.thread, "One more")
        seq = seller.hear("message.sent")["seq"]
        while True:
            moved = seller.hear("cursor.moved")
            if moved["user"] == pair.buyer.id and moved["delivered_seq"] == seq:
                break
    assert unread(page, pair) > 60
    page.get_by_role("button", name="Mark as read").click()
    expect(page.locator(f".row[data-thread='{pair.thread}']")).to_have_attribute("data-unread", "0")


def test_a_message_sent_from_old_history_moves_to_the_end(visit, pair, site):
    read_all(visit, pair).close()
    send_many(site, pair, 120)
    page = live(visit(pair.buyer, thread_of(pair)))
    write(page, "My answer")
    expect(page.locator(".message.sending")).to_have_count(0)
    expect(page.locator(".message .prose").last).to_have_text("My answer")
    assert [text.split("\n")[0] for text in texts(page)[-2:]] == ["Line 119", "My answer"]


def test_new_messages_do_not_move_the_scroll_position(visit, pair, site):
    read_all(visit, pair).close()
    send_many(site, pair, 30)
    page = live(visit(pair.buyer, thread_of(pair)))
    read_down(page)
    expect(page.locator(f".row[data-thread='{pair.thread}']")).to_have_attribute("data-unread", "0")
    scroll(page, -900)
    wait_for_frames(page)
    watched = page.locator(".message[data-seq='20']")
    top = watched.bounding_box()["y"]
    send_many(site, pair, 3, "Meanwhile")
    expect(page.locator(".message .prose").last).to_contain_text("Meanwhile 2")
    expect(page.locator("[data-jump] .count")).to_have_text("3")
    wait_for_frames(page)
    assert abs(watched.bounding_box()["y"] - top) <= 1
    page.get_by_role("button", name=re.compile("Jump to latest")).click()
    expect(page.locator(".message .prose").last).to_be_in_viewport()
    expect(page.locator(UNREAD_LINE)).to_have_count(1)


def test_reading_on_one_page_updates_the_other(visit, pair, site):
    page = read_all(visit, pair)
    other = page.context.new_page()
    other.goto("/inbox/")
    row = other.locator(f".row[data-thread='{pair.thread}']")
    with site.connect(pair.seller) as seller:
        seller.send(pair.thread, "In both")
        expect(row).to_contain_text("In both")
    expect(row).to_have_attribute("data-unread", "0")
