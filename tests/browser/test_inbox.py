"""The list of conversations: moves, mutes, marks, bulk actions and undo, live on all pages."""

import json
import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.browser.booking import answer_offer, make_offer
from tests.browser.conftest import PHONE, live, wait_for_frames, wait_for_response, write
from tests.site import Pair, read_pair

pytestmark = pytest.mark.browser


@pytest.fixture
def seeded_pair(seeded) -> Pair:
    """Two users with five conversations."""
    return seeded(5)


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def row(page, thread):
    return page.locator(f'.rows [data-thread="{thread}"]')


def select_row(page, number):
    page.locator(".row-pick input").nth(number).check(force=True)


def test_several_threads_are_archived_at_once_and_restored_by_undo(visit, seeded_pair):
    page = live(visit(seeded_pair.seller))
    expect(page.locator(".row")).to_have_count(5)
    for number in (0, 2, 3):
        select_row(page, number)
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(page.locator(".row")).to_have_count(2)
    expect(page.locator(".bulk")).to_be_hidden()
    toast = page.locator(".toast")
    expect(toast).to_contain_text("Archived: 3 conversations")
    toast.get_by_role("button", name="Undo").click()
    expect(page.locator(".row")).to_have_count(5)


def test_an_action_on_one_page_is_shown_on_the_other(visit, seeded_pair):
    first_page, action_page = live(visit(seeded_pair.seller)), live(visit(seeded_pair.seller))
    page = live(visit(seeded_pair.seller, f"/threads/{seeded_pair.thread}/"))
    page.get_by_role("button", name="Conversation options").click()
    page.get_by_role("button", name="Mute for an hour").click()
    for other in (first_page, action_page):
        expect(row(other, seeded_pair.thread).locator(".row-muted")).to_be_visible()
    page.get_by_role("button", name="Conversation options").click()
    expect(page.get_by_role("button", name="Unmute")).to_be_visible()
    page.keyboard.press("Escape")
    select_row(first_page, 4)
    first_page.locator(".bulk").get_by_role("button", name="More").click()
    first_page.get_by_role("button", name="Pin to the top").click()
    expect(action_page.locator(".row").first).to_have_attribute("data-pinned", "")


def test_a_thread_marked_as_unread_stays_so_until_it_is_opened(visit, seeded_pair):
    other_page = live(visit(seeded_pair.seller, "/inbox/unread/"))
    expect(other_page.get_by_text("You're all caught up")).to_be_visible()
    page = live(visit(seeded_pair.seller, f"/threads/{seeded_pair.thread}/"))
    page.get_by_role("button", name="Conversation options").click()
    page.get_by_role("button", name="Mark as unread").click()
    page.wait_for_url("**/inbox/")
    expect(row(page, seeded_pair.thread)).to_have_attribute("data-marked", "")
    expect(row(other_page, seeded_pair.thread)).to_be_visible()
    expect(other_page.locator('.tabs [data-count="unread"]')).to_have_text("1")
    row(page, seeded_pair.thread).locator("a").click()
    expect(other_page.get_by_text("You're all caught up")).to_be_visible()
    expect(other_page.locator('.tabs [data-count="unread"]')).to_be_hidden()


def test_a_message_restores_an_archived_thread(visit, seeded_pair):
    seller = live(visit(seeded_pair.seller))
    row(seller, seeded_pair.thread).locator("input").check(force=True)
    seller.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(row(seller, seeded_pair.thread)).to_have_count(0)
    buyer = live(visit(seeded_pair.buyer, f"/threads/{seeded_pair.thread}/"))
    write(buyer, "Are you still there?")
    buyer_page = row(seller, seeded_pair.thread)
    expect(buyer_page).to_be_visible()
    # A message that is not answered yet is no next step.
    for page in (buyer, seller):
        expect(row(page, seeded_pair.thread).locator(".row-step")).to_be_hidden()
    expect(seller.locator('.tabs [data-count="unread"]')).to_have_text("1")


@pytest.fixture
def pressed(visit, seeded_pair):
    """The mouse is down on the last row while a message moves this row to the top."""
    page, other_page = live(visit(seeded_pair.seller)), live(visit(seeded_pair.seller))
    thread = page.locator(".row").last.get_attribute("data-thread")
    buyer = live(visit(seeded_pair.buyer, f"/threads/{thread}/"))
    box = page.locator(".row-link").last.bounding_box()
    # Right after another click, whose deferred update must not end this one.
    page.mouse.click(1, 1)
    page.mouse.move(box["x"] + 60, box["y"] + 20)
    page.mouse.down()
    write(buyer, "Are you still there?")
    expect(other_page.locator(".row").first).to_have_attribute("data-thread", thread)
    return page, thread


def test_a_pressed_row_does_not_move_before_the_click(pressed):
    page, thread = pressed
    page.mouse.up()
    page.wait_for_url(f"**/threads/{thread}/**")


def test_a_row_pressed_without_a_click_moves_to_its_place_afterwards(pressed):
    page, thread = pressed
    expect(page.locator(".row").last).to_have_attribute("data-thread", thread)
    page.mouse.move(1, 1)
    page.mouse.up()
    expect(page.locator(".row").first).to_have_attribute("data-thread", thread)


def test_refreshed_rows_do_not_replace_the_pressed_row(visit, seeded_pair):
    page, held = visit(seeded_pair.seller), []
    page.goto("about:blank")
    page.route("**/inbox/rows/?*", lambda route: held.append(route))
    with page.expect_request("**/inbox/rows/?*"):
        page.goto("/inbox/")
    page.locator(".row-link").last.hover()
    page.mouse.down()
    with page.expect_response("**/inbox/rows/?*") as answer:
        held[0].continue_()
    answer.value.finished()
    wait_for_frames(page)
    page.mouse.up()
    page.wait_for_url("**/threads/**")


def test_the_list_beside_a_thread_keeps_its_folder(visit, seeded_pair):
    page = live(visit(seeded_pair.seller))
    select_row(page, 1)
    page.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(page.locator(".row")).to_have_count(4)
    page.goto("/inbox/archived/")
    page.locator(".row-link").click()
    live(page)
    expect(page.get_by_role("heading", name="Archived")).to_be_visible()
    expect(page.locator(".row")).to_have_count(1)


def test_without_a_script_every_action_works(visit, seeded_pair):
    page = visit(seeded_pair.seller, java_script_enabled=False)
    page.locator(".row-pick input").nth(0).check()
    page.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(page.get_by_text("Archived.")).to_be_visible()
    expect(page.locator(".row")).to_have_count(4)
    page.goto("/inbox/archived/")
    page.locator(".row-pick input").nth(0).check()
    page.locator(".bulk").get_by_role("button", name="Move to the inbox").click()
    page.goto("/inbox/")
    expect(page.locator(".row")).to_have_count(5)


def test_actions_work_on_a_phone(visit, seeded_pair):
    page = live(visit(seeded_pair.seller, **PHONE))
    page.locator(".row-pick").nth(0).tap()
    page.locator(".row-pick").nth(1).tap()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.locator(".bulk").get_by_role("button", name="Archive").tap()
    expect(page.locator(".row")).to_have_count(3)


def test_a_message_is_found_and_opens_in_its_thread(visit, seeded_pair):
    buyer = live(visit(seeded_pair.buyer, f"/threads/{seeded_pair.thread}/"))
    write(buyer, "The Straßenbahn leaves at noon")
    expect(buyer.locator(".message.mine:not(.sending)").last).to_contain_text("noon")
    page = live(visit(seeded_pair.seller))
    page.get_by_role("link", name="Search your conversations").click()
    wait_for_response(page, "/inbox/search/?q=strassenbahn", 'class="hit')
    page.get_by_role("searchbox").fill("strassenbahn")
    page.get_by_role("searchbox").press("Enter")
    hit = page.locator(".hit")
    expect(hit.locator("mark")).to_have_text("Straßenbahn")
    hit.click()
    expect(live(page).locator(".message:focus")).to_contain_text("leaves at noon")


def test_further_rows_load_while_scrolling_and_are_refreshed_after_an_absence(visit, site):
    size = ("--pairs", "1", "--messages", "1", "--threads-per-user", "40")
    made = read_pair(json.loads(site.seed_load(*size))["pairs"][0])
    page = live(visit(made.seller))
    rows = page.locator(".row")
    expect(rows).to_have_count(15)
    last = rows.last.get_attribute("data-thread")
    row(page, last).scroll_into_view_if_needed()
    # The marker is absent if the first scroll already loaded the rest.
    page.evaluate("document.querySelector('[data-rows-more]')?.scrollIntoView()")
    expect(rows).to_have_count(40)
    expect(page.locator("[data-rows-more]")).to_have_count(0)
    shown = rows.evaluate_all("rows => rows.map((one) => one.dataset.thread)")
    assert len(set(shown)) == 40
    # Rows below the first page are refreshed as well.
    other_page = live(visit(made.seller, f"/threads/{shown[30]}/"))
    page.evaluate("sockets.at(-1).close()")
    other_page.get_by_role("button", name="Conversation options").click()
    other_page.get_by_role("button", name="Archive").click()
    other_page.wait_for_url("**/inbox/")
    expect(row(page, shown[30])).to_have_count(0)
    expect(rows).to_have_count(39)


def count_badge(page, key):
    return page.locator(f'.tabs [data-count="{key}"]')


def test_an_offer_and_a_contract_require_action_live_on_both_screens(visit, seeded_pair):
    """List, count and label agree, and a reloaded page shows the same."""
    action_page = live(visit(seeded_pair.buyer, "/inbox/waiting/"))
    inbox_page = live(visit(seeded_pair.buyer))
    expect(action_page.get_by_text("Nothing is waiting for you")).to_be_visible()
    seller = live(visit(seeded_pair.seller, f"/threads/{seeded_pair.thread}/"))
    make_offer(seller)
    for page in (action_page, inbox_page):
        expect(row(page, seeded_pair.thread).get_by_text("Reply to the offer")).to_be_visible()
        expect(count_badge(page, "waiting")).to_have_text("1")
    step = row(seller, seeded_pair.thread).locator(".row-step")
    expect(step).to_have_text(re.compile("^Waiting for .* to reply to the offer$"))
    expect(count_badge(seller, "waiting")).to_be_hidden()
    # An archived thread is neither listed nor counted, until the undo.
    row(inbox_page, seeded_pair.thread).locator("input").check(force=True)
    inbox_page.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(row(action_page, seeded_pair.thread)).to_have_count(0)
    for page in (action_page, inbox_page):
        expect(count_badge(page, "waiting")).to_be_hidden()
    inbox_page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(row(action_page, seeded_pair.thread)).to_be_visible()
    for page in (action_page, inbox_page):
        expect(count_badge(page, "waiting")).to_have_text("1")
    buyer = live(visit(seeded_pair.buyer, f"/threads/{seeded_pair.thread}/"))
    answer_offer(buyer, "Accept")
    # Both users have to sign now.
    for page in (action_page, inbox_page, seller):
        expect(row(page, seeded_pair.thread).get_by_text("Sign the contract")).to_be_visible()
        expect(count_badge(page, "waiting")).to_have_text("1")
    action_page.reload()
    reloaded = row(live(action_page), seeded_pair.thread)
    expect(reloaded.get_by_text("Sign the contract")).to_be_visible()


def test_a_declined_offer_requires_no_action(visit, seeded_pair):
    action_page = live(visit(seeded_pair.buyer, "/inbox/waiting/"))
    seller = live(visit(seeded_pair.seller, f"/threads/{seeded_pair.thread}/"))
    make_offer(seller)
    expect(row(action_page, seeded_pair.thread)).to_be_visible()
    buyer = live(visit(seeded_pair.buyer, f"/threads/{seeded_pair.thread}/"))
    answer_offer(buyer, "Decline")
    expect(row(action_page, seeded_pair.thread)).to_have_count(0)
    expect(action_page.get_by_text("Nothing is waiting for you")).to_be_visible()
    expect(count_badge(action_page, "waiting")).to_be_hidden()
    expect(row(seller, seeded_pair.thread).locator(".row-step")).to_be_hidden()


def test_a_booking_appears_live_in_the_projects_of_both_users(visit, seeded_pair):
    buyer_page, seller_page = (
        live(visit(one, "/inbox/projects/")) for one in (seeded_pair.buyer, seeded_pair.seller)
    )
    for page in (buyer_page, seller_page):
        expect(page.locator(".row")).to_have_count(0)
    seller = live(visit(seeded_pair.seller, f"/threads/{seeded_pair.thread}/"))
    make_offer(seller)
    buyer = live(visit(seeded_pair.buyer, f"/threads/{seeded_pair.thread}/"))
    answer_offer(buyer, "Accept")
    for page in (buyer_page, seller_page):
        expect(row(page, seeded_pair.thread).get_by_text("Project", exact=True)).to_be_visible()
        expect(page.locator(".row")).to_have_count(1)
    # An archived thread leaves the filter, on the other page as well.
    buyer.goto(f"/threads/{seeded_pair.thread}/")
    live(buyer).get_by_role("button", name="Conversation options").click()
    buyer.get_by_role("button", name="Archive").click()
    buyer.wait_for_url("**/inbox/")
    expect(row(buyer_page, seeded_pair.thread)).to_have_count(0)
    expect(row(seller_page, seeded_pair.thread)).to_be_visible()


def search(page, words):
    path = f"/inbox/search/?q={words}"
    wait_for_response(page, path, 'class="hit')
    page.goto(path)
    return page.locator(".hit")


def test_an_archived_message_is_found_and_opens_in_its_thread(visit, seeded_pair, site):
    buyer = live(visit(seeded_pair.buyer, f"/threads/{seeded_pair.thread}/"))
    write(buyer, "The Xylophon stands in the Kammgarn hall")
    expect(buyer.locator(".message.mine:not(.sending)").last).to_contain_text("Kammgarn")
    page = visit(seeded_pair.seller)
    expect(search(page, "xylophon")).to_have_count(1)
    moved = site.manage("archive_messages", "--older-than", "0d", "--since", today())
    assert not moved.startswith("Archived 0 ")
    hit = search(page, "xylophon")
    expect(hit.locator("mark")).to_have_text("Xylophon")
    hit.click()
    expect(live(page).locator(".message:focus")).to_contain_text("Kammgarn hall")
