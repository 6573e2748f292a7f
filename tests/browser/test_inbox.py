"""The list of conversations: moved, muted, marked, many at once, taken back; live on all pages."""

import json
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.browser.booking import make_offer
from tests.browser.conftest import PHONE, live, wait_for_answer, wait_for_frames, write
from tests.site import Pair, read_pair

pytestmark = pytest.mark.browser


@pytest.fixture
def many(seeded) -> Pair:
    """Two people with five conversations."""
    return seeded(5)


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def row(page, thread):
    return page.locator(f'.rows [data-thread="{thread}"]')


def pick(page, number):
    page.locator(".row-pick input").nth(number).check(force=True)


def test_many_are_archived_at_once_and_come_back_by_undo(visit, many):
    page = live(visit(many.seller))
    expect(page.locator(".row")).to_have_count(5)
    for number in (0, 2, 3):
        pick(page, number)
    expect(page.get_by_text("3 selected")).to_be_visible()
    page.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(page.locator(".row")).to_have_count(2)
    expect(page.locator(".bulk")).to_be_hidden()
    toast = page.locator(".toast")
    expect(toast).to_contain_text("Archived: 3 conversations")
    toast.get_by_role("button", name="Undo").click()
    expect(page.locator(".row")).to_have_count(5)


def test_what_is_done_on_one_page_shows_on_the_other(visit, many):
    here, there = live(visit(many.seller)), live(visit(many.seller))
    page = live(visit(many.seller, f"/threads/{many.thread}/"))
    page.get_by_role("button", name="Conversation options").click()
    page.get_by_role("button", name="Mute for an hour").click()
    for other in (here, there):
        expect(row(other, many.thread).locator(".row-muted")).to_be_visible()
    page.get_by_role("button", name="Conversation options").click()
    expect(page.get_by_role("button", name="Unmute")).to_be_visible()
    page.keyboard.press("Escape")
    pick(here, 4)
    here.locator(".bulk").get_by_role("button", name="More").click()
    here.get_by_role("button", name="Pin to the top").click()
    expect(there.locator(".row").first).to_have_attribute("data-pinned", "")


def test_marked_as_unread_stays_so_until_one_looks_again(visit, many):
    elsewhere = live(visit(many.seller, "/inbox/unread/"))
    expect(elsewhere.get_by_text("You're all caught up")).to_be_visible()
    page = live(visit(many.seller, f"/threads/{many.thread}/"))
    page.get_by_role("button", name="Conversation options").click()
    page.get_by_role("button", name="Mark as unread").click()
    page.wait_for_url("**/inbox/")
    expect(row(page, many.thread)).to_have_attribute("data-marked", "")
    expect(row(elsewhere, many.thread)).to_be_visible()
    expect(elsewhere.locator('.tabs [data-count="unread"]')).to_have_text("1")
    row(page, many.thread).locator("a").click()
    expect(elsewhere.get_by_text("You're all caught up")).to_be_visible()
    expect(elsewhere.locator('.tabs [data-count="unread"]')).to_be_hidden()


def test_a_message_brings_an_archived_one_back_and_says_who_has_to_answer(visit, many):
    seller = live(visit(many.seller))
    row(seller, many.thread).locator("input").check(force=True)
    seller.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(row(seller, many.thread)).to_have_count(0)
    buyer = live(visit(many.buyer, f"/threads/{many.thread}/"))
    write(buyer, "Are you still there?")
    mine = row(seller, many.thread)
    expect(mine).to_be_visible()
    expect(mine.get_by_text("Waiting for you")).to_be_visible()
    expect(mine.get_by_text("Waiting for them")).to_be_hidden()
    expect(row(buyer, many.thread).get_by_text("Waiting for you")).to_be_hidden()
    expect(row(buyer, many.thread).get_by_text("Waiting for them")).to_be_visible()
    expect(seller.locator('.tabs [data-count="unread"]')).to_have_text("1")


@pytest.fixture
def pressed(visit, many):
    """The last row of a list, with the mouse down on it while a message makes it the first."""
    page, elsewhere = live(visit(many.seller)), live(visit(many.seller))
    thread = page.locator(".row").last.get_attribute("data-thread")
    buyer = live(visit(many.buyer, f"/threads/{thread}/"))
    box = page.locator(".row-link").last.bounding_box()
    # Right after another click: what that one put off must not end this one.
    page.mouse.click(1, 1)
    page.mouse.move(box["x"] + 60, box["y"] + 20)
    page.mouse.down()
    write(buyer, "Are you still there?")
    expect(elsewhere.locator(".row").first).to_have_attribute("data-thread", thread)
    return page, thread


def test_a_row_that_is_pressed_stays_until_it_is_clicked(pressed):
    page, thread = pressed
    page.mouse.up()
    page.wait_for_url(f"**/threads/{thread}/**")


def test_a_row_that_was_pressed_and_not_clicked_goes_where_it_belongs(pressed):
    page, thread = pressed
    expect(page.locator(".row").last).to_have_attribute("data-thread", thread)
    page.mouse.move(1, 1)
    page.mouse.up()
    expect(page.locator(".row").first).to_have_attribute("data-thread", thread)


def test_rows_that_come_anew_leave_the_one_that_is_pressed(visit, many):
    page, held = visit(many.seller), []
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


def test_the_list_beside_stays_the_one_that_it_was_opened_from(visit, many):
    page = live(visit(many.seller))
    pick(page, 1)
    page.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(page.locator(".row")).to_have_count(4)
    page.goto("/inbox/archived/")
    page.locator(".row-link").click()
    live(page)
    expect(page.get_by_role("heading", name="Archived")).to_be_visible()
    expect(page.locator(".row")).to_have_count(1)


def test_without_a_script_all_of_it_works(visit, many):
    page = visit(many.seller, java_script_enabled=False)
    page.locator(".row-pick input").nth(0).check()
    page.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(page.get_by_text("Archived.")).to_be_visible()
    expect(page.locator(".row")).to_have_count(4)
    page.goto("/inbox/archived/")
    page.locator(".row-pick input").nth(0).check()
    page.locator(".bulk").get_by_role("button", name="Move to the inbox").click()
    page.goto("/inbox/")
    expect(page.locator(".row")).to_have_count(5)


def test_on_a_phone_too(visit, many):
    page = live(visit(many.seller, **PHONE))
    page.locator(".row-pick").nth(0).tap()
    page.locator(".row-pick").nth(1).tap()
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.locator(".bulk").get_by_role("button", name="Archive").tap()
    expect(page.locator(".row")).to_have_count(3)


def test_what_was_said_is_found_and_opens_in_its_place(visit, many):
    buyer = live(visit(many.buyer, f"/threads/{many.thread}/"))
    write(buyer, "The Straßenbahn leaves at noon")
    expect(buyer.locator(".message.mine:not(.sending)").last).to_contain_text("noon")
    page = live(visit(many.seller))
    page.get_by_role("link", name="Search your conversations").click()
    wait_for_answer(page, "/inbox/search/?q=strassenbahn", 'class="hit')
    page.get_by_role("searchbox").fill("strassenbahn")
    page.get_by_role("searchbox").press("Enter")
    hit = page.locator(".hit")
    expect(hit.locator("mark")).to_have_text("Straßenbahn")
    hit.click()
    expect(live(page).locator(".message:focus")).to_contain_text("leaves at noon")


def test_the_rest_comes_when_one_scrolls_and_stays_right_after_an_absence(visit, site):
    size = ("--pairs", "1", "--messages", "1", "--threads-per-user", "40")
    made = read_pair(json.loads(site.seed_load(*size))["pairs"][0])
    page = live(visit(made.seller))
    rows = page.locator(".row")
    expect(rows).to_have_count(15)
    last = rows.last.get_attribute("data-thread")
    row(page, last).scroll_into_view_if_needed()
    # Unless that was far enough, and it is gone.
    page.evaluate("document.querySelector('[data-rows-more]')?.scrollIntoView()")
    expect(rows).to_have_count(40)
    expect(page.locator("[data-rows-more]")).to_have_count(0)
    shown = rows.evaluate_all("rows => rows.map((one) => one.dataset.thread)")
    assert len(set(shown)) == 40
    # What is below the first page is looked at again, too.
    elsewhere = live(visit(made.seller, f"/threads/{shown[30]}/"))
    page.evaluate("sockets.at(-1).close()")
    elsewhere.get_by_role("button", name="Conversation options").click()
    elsewhere.get_by_role("button", name="Archive").click()
    elsewhere.wait_for_url("**/inbox/")
    expect(row(page, shown[30])).to_have_count(0)
    expect(rows).to_have_count(39)


def counted(page, key):
    return page.locator(f'.tabs [data-count="{key}"]')


def test_an_offer_and_a_contract_ask_for_action_live_on_both_screens(visit, many):
    """List, number and chip say the same, and a page that is loaded anew says it too."""
    there = live(visit(many.buyer, "/inbox/action-required/"))
    beside = live(visit(many.buyer))
    expect(there.get_by_text("Nothing needs your attention")).to_be_visible()
    seller = live(visit(many.seller, f"/threads/{many.thread}/"))
    make_offer(seller)
    for page in (there, beside):
        expect(row(page, many.thread).get_by_text("Waiting for you")).to_be_visible()
        expect(counted(page, "action-required")).to_have_text("1")
    expect(row(seller, many.thread).get_by_text("Waiting for them")).to_be_visible()
    expect(counted(seller, "action-required")).to_be_hidden()
    # Put away it is neither in the list nor counted; and is again, taken back.
    row(beside, many.thread).locator("input").check(force=True)
    beside.locator(".bulk").get_by_role("button", name="Archive").click()
    expect(row(there, many.thread)).to_have_count(0)
    for page in (there, beside):
        expect(counted(page, "action-required")).to_be_hidden()
    beside.locator(".toast").get_by_role("button", name="Undo").click()
    expect(row(there, many.thread)).to_be_visible()
    for page in (there, beside):
        expect(counted(page, "action-required")).to_have_text("1")
    buyer = live(visit(many.buyer, f"/threads/{many.thread}/"))
    buyer.get_by_role("link", name="Review offer").click()
    buyer.get_by_role("button", name="Accept").click()
    # Now both have to sign.
    for page in (there, beside, seller):
        expect(row(page, many.thread).get_by_text("Waiting for you")).to_be_visible()
        expect(counted(page, "action-required")).to_have_text("1")
    there.reload()
    expect(row(live(there), many.thread).get_by_text("Waiting for you")).to_be_visible()


def test_an_offer_that_is_declined_leaves_nothing_waiting(visit, many):
    there = live(visit(many.buyer, "/inbox/action-required/"))
    seller = live(visit(many.seller, f"/threads/{many.thread}/"))
    make_offer(seller)
    expect(row(there, many.thread)).to_be_visible()
    buyer = live(visit(many.buyer, f"/threads/{many.thread}/"))
    buyer.get_by_role("link", name="Review offer").click()
    buyer.get_by_role("button", name="Decline").click()
    expect(row(there, many.thread)).to_have_count(0)
    expect(there.get_by_text("Nothing needs your attention")).to_be_visible()
    expect(counted(there, "action-required")).to_be_hidden()
    for waits in ("Waiting for you", "Waiting for them"):
        expect(row(seller, many.thread).get_by_text(waits)).to_be_hidden()


def test_what_is_booked_appears_among_the_projects_of_both_by_itself(visit, many):
    mine, theirs = (live(visit(one, "/inbox/projects/")) for one in (many.buyer, many.seller))
    for page in (mine, theirs):
        expect(page.locator(".row")).to_have_count(0)
    seller = live(visit(many.seller, f"/threads/{many.thread}/"))
    make_offer(seller)
    buyer = live(visit(many.buyer, f"/threads/{many.thread}/"))
    buyer.get_by_role("link", name="Review offer").click()
    buyer.get_by_role("button", name="Accept").click()
    for page in (mine, theirs):
        expect(row(page, many.thread).get_by_text("Project", exact=True)).to_be_visible()
        expect(page.locator(".row")).to_have_count(1)
    # Put away it leaves the filter, on the other page too.
    buyer.goto(f"/threads/{many.thread}/")
    live(buyer).get_by_role("button", name="Conversation options").click()
    buyer.get_by_role("button", name="Archive").click()
    buyer.wait_for_url("**/inbox/")
    expect(row(mine, many.thread)).to_have_count(0)
    expect(row(theirs, many.thread)).to_be_visible()


def find(page, words):
    path = f"/inbox/search/?q={words}"
    wait_for_answer(page, path, 'class="hit')
    page.goto(path)
    return page.locator(".hit")


def test_what_was_archived_is_found_and_opens_in_its_place(visit, many, site):
    buyer = live(visit(many.buyer, f"/threads/{many.thread}/"))
    write(buyer, "The Xylophon stands in the Kammgarn hall")
    expect(buyer.locator(".message.mine:not(.sending)").last).to_contain_text("Kammgarn")
    page = visit(many.seller)
    expect(find(page, "xylophon")).to_have_count(1)
    moved = site.manage("archive_messages", "--older-than", "0d", "--since", today())
    assert not moved.startswith("Archived 0 ")
    hit = find(page, "xylophon")
    expect(hit.locator("mark")).to_have_text("Xylophon")
    hit.click()
    expect(live(page).locator(".message:focus")).to_contain_text("Kammgarn hall")
