"""A long conversation: older messages, links to messages, and day separators."""

import json

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import texts, wait_for_frames
from tests.site import read_pair

pytestmark = pytest.mark.browser

MESSAGES = 180


@pytest.fixture(scope="module")
def long_thread(site):
    made = site.seed_load("--pairs", "1", "--messages", str(MESSAGES))
    return read_pair(json.loads(made)["pairs"][0])


def seqs(page) -> list[int]:
    found = page.locator(".message[data-seq]:not([data-seq=''])")
    return found.evaluate_all("all => all.map(one => Number(one.dataset.seq))")


def test_older_messages_load_while_scrolling_up_without_a_layout_shift(visit, long_thread):
    page = visit(long_thread.buyer, f"/threads/{long_thread.thread}/")
    assert seqs(page) == list(range(MESSAGES - 49, MESSAGES + 1))
    watched = page.locator(f".message[data-seq='{MESSAGES - 49}']")
    watched.scroll_into_view_if_needed()
    top = watched.bounding_box()["y"]
    expect(page.locator(f".message[data-seq='{MESSAGES - 60}']")).to_be_attached()
    wait_for_frames(page)
    assert abs(watched.bounding_box()["y"] - top) <= 1

    scroller = page.locator("[data-scroller]")
    while page.locator("[data-older]").count():
        first = seqs(page)[0]
        scroller.evaluate("one => { one.scrollTop = -one.scrollHeight }")
        expect(page.locator(f".message[data-seq='{first - 1}']")).to_be_attached()
    assert seqs(page) == list(range(1, MESSAGES + 1))


def test_messages_loaded_in_parts_look_like_a_whole_page(visit, long_thread):
    """Days, groups and sides are the same whether the server or the browser renders them."""
    page = visit(long_thread.buyer, f"/threads/{long_thread.thread}/")
    plain = visit(long_thread.buyer, f"/threads/{long_thread.thread}/", java_script_enabled=False)
    assert describe_layout(page) == describe_layout(plain)


def describe_layout(page) -> list[str]:
    items = page.locator("[data-timeline] > .day, [data-timeline] > .message:not(.sending)")
    return [
        f"{kind}|{text.split(chr(10))[0]}"
        for kind, text in zip(
            items.evaluate_all("all => all.map(one => one.className)"),
            items.all_inner_texts(),
            strict=True,
        )
    ]


def test_a_link_to_a_message_opens_the_conversation_around_it(visit, long_thread):
    page = visit(long_thread.buyer, f"/threads/{long_thread.thread}/")
    page.locator("[data-scroller]").evaluate("one => { one.scrollTop = -one.scrollHeight }")
    expect(page.locator(f".message[data-seq='{MESSAGES - 60}']")).to_be_attached()
    link = page.locator(f".message[data-seq='{MESSAGES - 90}'] [data-copy-link]")
    page.goto(link.get_attribute("href"))
    target = page.locator(f".message[data-seq='{MESSAGES - 90}']")
    expect(target).to_be_in_viewport()
    shown = seqs(page)
    assert shown[0] < MESSAGES - 90 < shown[-1]
    assert shown == list(range(shown[0], shown[-1] + 1))
    expect(page.locator("[data-jump]")).to_be_visible()
    page.locator("[data-jump]").click()
    page.wait_for_url(f"**/threads/{long_thread.thread}/")
    expect(page.locator(f".message[data-seq='{MESSAGES}']")).to_be_in_viewport()
    shown = seqs(page)
    assert shown == list(range(shown[0], MESSAGES + 1))


def test_without_javascript_the_whole_conversation_can_be_read(visit, long_thread):
    page = visit(long_thread.buyer, f"/threads/{long_thread.thread}/", java_script_enabled=False)
    read = texts(page)
    while page.locator("[data-older]").count():
        page.get_by_role("link", name="Show earlier messages").click()
        read = texts(page) + read
    assert len(read) == MESSAGES


def test_times_are_in_the_viewers_zone_not_the_browsers(visit, site, long_thread):
    script = "from accounts.models import User; User.objects.filter(pk='{}').update(time_zone='{}')"
    site.manage("shell", "-v", "0", "-c", script.format(long_thread.seller.id, "Asia/Tokyo"))
    page = visit(long_thread.seller, f"/threads/{long_thread.thread}/", timezone_id="America/Lima")
    time = page.locator(".message:not(.grouped) time").first
    at = time.get_attribute("datetime")
    assert at.endswith("+09:00")
    expect(time).to_have_text(at[11:16])
