"""A project: offer, panel on both screens, brief, contract and payments."""

import hashlib
import re

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.browser.booking import answer_offer, book, make_offer
from tests.browser.conftest import PHONE, live, write
from tests.browser.test_attachments import PAGE, photo, wait_for_images
from tests.wait import wait_until

pytestmark = pytest.mark.browser


@pytest.fixture
def two_pages(visit, pair) -> tuple[Page, Page]:
    path = f"/threads/{pair.thread}/"
    return visit(pair.buyer, path), visit(pair.seller, path)


def fill_in_offer(seller: Page) -> None:
    seller.get_by_role("link", name="Make an offer").first.click()
    seller.get_by_label("Service").fill("Portraits of the team")
    seller.get_by_label("Place", exact=True).fill("Lisbon")
    seller.get_by_label("Price").fill("1,200")
    seller.get_by_label("Deposit").fill("400")
    seller.get_by_role("button", name="Review").click()
    expect(seller.locator(".review")).to_contain_text("EUR 1,200.00")
    seller.get_by_role("button", name="Send offer").click()
    expect(seller.locator(".action-card[data-state=pending]")).to_be_visible()


def tab(page: Page, name: str):
    page.locator(f'nav [data-show-tab="{name}"]').click()
    return page.locator(f'[data-tab-body="{name}"]')


def test_an_accepted_offer_opens_the_panel_on_both_screens(two_pages):
    buyer, seller = two_pages
    expect(buyer.locator("[data-panel]")).to_be_hidden()
    fill_in_offer(seller)
    url = seller.url
    expect(buyer.locator(".action-card.to-answer")).to_contain_text("EUR 1,200.00")
    answer_offer(buyer, "Accept")
    for page in (seller, buyer):
        expect(page.locator("[data-panel] [data-tab-body=overview]")).to_be_visible()
    expect(seller.locator(".action-card[data-state=accepted]")).to_be_visible()
    for page in two_pages:
        expect(page.locator("[data-part=next-step]")).to_contain_text("Sign the contract")
    assert seller.url == url


def test_a_row_shows_the_next_step_whether_it_is_read_or_not(two_pages, visit, pair):
    buyer, seller = two_pages
    make_offer(seller)
    inbox = live(visit(pair.seller, "/inbox/"))
    row = inbox.locator(f'.row[data-thread="{pair.thread}"]')
    step = row.get_by_text(re.compile("Waiting for .* to reply to the offer"))
    expect(step).to_be_visible()
    # The messages stay unread.
    seller.close()
    write(buyer, "One question first.")
    expect(row.locator("[data-row-unread]")).to_have_text("1")
    expect(step).to_be_visible()


def test_concurrent_edits_of_the_brief_lose_nothing(visit, pair):
    path = f"/threads/{pair.thread}/"
    buyer, seller = visit(pair.buyer, path), visit(pair.seller, path, expected_status=409)
    book(buyer, seller)
    buyers_text, sellers_text = (page.get_by_label("Goals") for page in (buyer, seller))
    # The seller's edit is held back until the buyer's is saved.
    held_routes: list[Route] = []
    seller.route(re.compile("/panel/brief/"), lambda route: held_routes.append(route))
    sellers_text.fill("Hard light")
    sellers_text.blur()
    buyers_text.fill("Warm light")
    buyers_text.blur()
    expect(buyer.locator("[data-edit=goals] [data-edit-state]")).to_have_text("Saved")
    for route in held_routes:
        route.continue_()
    seller.unroute(re.compile("/panel/brief/"))
    conflict = seller.locator(".conflict")
    expect(conflict).to_contain_text("Warm light")
    expect(conflict).to_contain_text("Hard light")
    conflict.get_by_role("button", name="Keep both").click()
    expect(sellers_text).to_have_value("Warm light\n\nHard light")
    expect(seller.locator("[data-edit=goals] [data-edit-state]")).to_have_text("Saved")
    expect(buyers_text).to_have_value("Warm light\n\nHard light")


def test_unsaved_text_survives_a_reload(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    buyer.context.set_offline(True)
    buyer.get_by_label("Must-haves").fill("The blue door")
    expect(buyer.locator("[data-edit=musts] .failed")).to_be_visible()
    assert "The blue door" in buyer.evaluate("Object.values(localStorage).join()")
    buyer.context.set_offline(False)
    buyer.reload()
    expect(buyer.get_by_label("Must-haves")).to_have_value("The blue door")
    expect(seller.get_by_label("Must-haves")).to_have_value("The blue door")


def test_typed_text_and_events_before_the_panel_script_runs_are_not_lost(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    held_routes: list[Route] = []
    buyer.route(re.compile(r"/threads/panel(\.\w+)?\.js"), lambda route: held_routes.append(route))
    thread = buyer.locator("[data-timeline]").get_attribute("data-thread")
    buyer.goto(f"/threads/{thread}/panel/brief/", wait_until="commit")
    # The socket is open, but the panel script that handles its events is not loaded yet.
    expect(buyer.locator("html[data-live=yes]")).to_be_attached()
    seller.get_by_label("Goals").fill("Warm light")
    expect(seller.locator("[data-edit=goals] [data-edit-state]")).to_have_text("Saved")
    buyer.get_by_label("Must-haves").fill("The blue door")
    write(seller, "The goals are in")
    expect(buyer.locator(".message", has_text="The goals are in")).to_be_visible()
    expect(buyer.get_by_label("Goals")).to_have_value("")
    for route in held_routes:
        route.continue_()
    expect(buyer.get_by_label("Goals")).to_have_value("Warm light")
    buyer.get_by_label("Must-haves").blur()
    expect(seller.get_by_label("Must-haves")).to_have_value("The blue door")


def test_a_pin_dragged_on_one_screen_moves_on_the_other(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    board, other = tab(buyer, "moodboard"), tab(seller, "moodboard")
    for name in ("one", "two", "three"):
        board.get_by_label("Link to pin").fill(f"https://{name}.example/")
        board.get_by_role("button", name="Pin", exact=True).click()
        expect(board.locator(".pin", has_text=f"{name}.example")).to_be_visible()
    expect(other.locator(".pin")).to_have_count(3)
    board.locator(".pin").nth(2).drag_to(board.locator(".pin").nth(0))
    names = other.locator(".pin-link span:not(.visually-hidden)")
    expect(names).to_have_text(["three.example", "one.example", "two.example"])


def test_the_shot_list_count_is_shown_to_both_users(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    shots = tab(buyer, "shotlist")
    shots.get_by_label("Add a shot").fill("The door")
    shots.get_by_role("button", name="Add").click()
    expect(shots.locator(".shot")).to_have_count(1)
    shots.get_by_role("button", name="The door: done").click()
    for page in (buyer, seller):
        expect(page.locator("[data-progress]")).to_contain_text("1 of 1")


def sign(page: Page, name: str) -> None:
    tab(page, "docs").get_by_role("link", name="Review and sign").click()
    page.locator("[data-read-end]").scroll_into_view_if_needed()
    page.get_by_label("Your legal name").fill(name)
    page.get_by_role("button", name="Sign").click()
    expect(page.locator(".signers", has_text=name)).to_be_visible()


def test_both_sign_and_the_file_matches_the_shown_checksum(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    sign(buyer, "Beatrice Buyer")
    sign(seller, "Samuel Seller")
    expect(seller.locator(".chip", has_text="In force")).to_be_visible()
    seller.locator(".checksum summary").click()
    shown = seller.locator(".checksum code").inner_text()
    with seller.expect_download() as download:
        seller.get_by_role("link", name="Download PDF").click()
    with open(download.value.path(), "rb") as file:
        assert hashlib.sha256(file.read()).hexdigest() == shown


def test_a_contract_can_be_signed_only_after_it_was_scrolled_to_the_end(visit, pair, two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    link = tab(buyer, "docs").get_by_role("link", name="Review and sign").get_attribute("href")
    small = visit(pair.buyer, link, **PHONE)
    button = small.get_by_role("button", name="Sign")
    expect(button).to_be_disabled()
    small.locator("[data-read-end]").scroll_into_view_if_needed()
    expect(button).to_be_enabled()


def test_payments_add_up_on_both_screens(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    buyers_text, sellers_text = tab(buyer, "expenses"), tab(seller, "expenses")
    expect(buyers_text.get_by_role("link", name="Record a payment")).to_be_hidden()
    pay(sellers_text, "400")
    for account in (buyers_text, seller.locator("[data-tab-body=expenses]")):
        expect(account.locator("tr", has_text="Receipt 1")).to_contain_text("−EUR 400.00")
        expect(account.locator("tr", has_text="Outstanding")).to_contain_text("EUR 800.00")
    pay(seller.locator("[data-tab-body=expenses]"), "300.50", left="€499.50")
    seller.locator("[data-tab-body=expenses]").get_by_role("link", name="Receipt 1").click()
    seller.get_by_role("link", name="Reverse").click()
    after = seller.locator("tr", has_text="Balance afterwards")
    expect(after).to_contain_text("€899.50 outstanding")
    seller.get_by_role("button", name="Reverse").click()
    expect(seller.get_by_role("heading", name="Reversal receipt 3")).to_be_visible()
    expect(seller.get_by_role("link", name="Reverse")).to_have_count(0)
    expect(buyers_text.locator("tr", has_text="Reversal receipt 3")).to_contain_text("+EUR 400.00")
    expect(buyers_text.locator("tr", has_text="Outstanding")).to_contain_text("EUR 899.50")
    buyers_text.get_by_role("link", name="Receipt 1", exact=True).click()
    expect(buyer.get_by_role("heading", name="Receipt 1")).to_be_visible()
    expect(buyer.locator("tr", has_text="Amount")).to_contain_text("€400.00")
    expect(buyer.locator("tr", has_text="Reversed")).to_contain_text("reversal receipt 3")


def pay(account: Locator, amount: str, *, left: str = "") -> None:
    """Fills in the form, then confirms the summary that shows the amount to be recorded."""
    page = account.page
    account.get_by_role("link", name="Record a payment").click()
    page.get_by_label("Amount").fill(amount)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Check before you record")).to_be_visible()
    if left:
        expect(page.locator("tr", has_text="Outstanding afterwards")).to_contain_text(left)
    page.get_by_role("button", name="Record €").click()
    expect(page.locator("[data-tab-body=expenses]")).to_be_visible()


def test_on_a_phone_the_panel_is_a_separate_screen(visit, pair, two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    phone = visit(pair.buyer, f"/threads/{pair.thread}/", **PHONE)
    expect(phone.locator("[data-panel]")).to_be_hidden()
    phone.locator("[data-panel-open]").click()
    expect(phone.locator("[data-tab-body=overview]")).to_be_visible()
    expect(phone.locator("[data-timeline]")).to_be_hidden()
    phone.get_by_role("link", name="Back to the conversation").click()
    expect(phone.locator("[data-timeline]")).to_be_visible()


def test_without_a_script_the_panel_is_readable_and_an_offer_can_be_answered(visit, pair):
    path = f"/threads/{pair.thread}/"
    seller, buyer = visit(pair.seller, path), visit(pair.buyer, path, java_script_enabled=False)
    fill_in_offer(seller)
    buyer.reload()
    answer_offer(buyer, "Accept")
    buyer.locator("[data-panel-open]").click()
    expect(buyer.locator("[data-next-step]")).to_contain_text("Sign the contract")
    buyer.locator("nav [data-show-tab=brief]").click()
    goals = buyer.get_by_label("Goals")
    goals.fill("Warm light")
    buyer.locator("[data-edit=goals]").get_by_role("button", name="Save").click()
    expect(goals).to_have_value("Warm light")
    expect(seller.get_by_label("Goals")).to_have_value("Warm light")


def test_a_user_who_was_offline_sees_the_current_panel(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    buyer.context.set_offline(True)
    seller.get_by_label("Goals").fill("While you were away")
    seller.get_by_label("Goals").blur()
    expect(seller.locator("[data-edit=goals] [data-edit-state]")).to_have_text("Saved")
    buyer.context.set_offline(False)
    expect(buyer.get_by_label("Goals")).to_have_value("While you were away")


def test_images_are_pinned_captioned_and_sorted_on_both_screens(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    board, other = tab(buyer, "moodboard"), tab(seller, "moodboard")
    board.locator("[data-panel-upload-input]").set_input_files(
        [photo("one.jpg"), photo("two.jpg", "red")]
    )
    for url in (board, other):
        expect(url.locator(".pin .picture img")).to_have_count(2)
    expect(board.locator(".tray-item")).to_have_count(0)
    wait_for_images(seller, ".pin img")
    board.get_by_label("Caption for one.jpg").fill("This light")
    board.get_by_label("Caption for one.jpg").blur()
    expect(other.locator(".pin textarea").first).to_have_value("This light")
    board.locator(".pin").nth(1).drag_to(board.locator(".pin").nth(0))
    expect(other.locator(".pin img").first).to_have_attribute("alt", "two.jpg")
    other.locator("[data-picture]").first.click()
    large = seller.get_by_role("dialog", name="Photo")
    expect(large).to_contain_text("two.jpg")
    expect(large).to_contain_text("1 of 2")
    large.get_by_role("button", name="Next photo").click()
    expect(large).to_contain_text("This light")


def test_proofs_appear_on_both_screens_and_a_refused_file_affects_no_other(visit, pair):
    path = f"/threads/{pair.thread}/"
    buyer, seller = visit(pair.buyer, path), visit(pair.seller, path, expected_status=415)
    book(buyer, seller)
    buyers_text, sellers_text = tab(buyer, "files"), tab(seller, "files")
    expect(buyers_text.locator("[data-panel-upload]")).to_be_hidden()
    sellers_text.locator("[data-panel-upload-input]").set_input_files(
        [photo("first.jpg"), PAGE, photo("last.jpg")]
    )
    for url in (buyers_text, sellers_text):
        expect(url.locator(".proof-name")).to_have_text(["first.jpg", "last.jpg"])
    expect(buyer.locator(".message", has_text="added 2 proofs")).to_be_visible()
    wait_for_images(buyer, ".proof img")
    expect(sellers_text.locator(".tray-item")).to_contain_text("can't attach")
    sellers_text.get_by_role("button", name="Remove first.jpg").click()
    expect(buyers_text.locator(".proof-name")).to_have_text(["last.jpg"])


def test_without_a_script_an_image_is_pinned_and_a_proof_shown(visit, pair, two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    plain = visit(
        pair.seller, f"/threads/{pair.thread}/panel/moodboard/", java_script_enabled=False
    )
    board = plain.locator("[data-tab-body=moodboard]")
    board.locator("[data-panel-upload-input]").set_input_files([photo("plain.jpg")])
    board.get_by_role("button", name="Upload").click()
    expect(board.locator(".pin img")).to_have_attribute("alt", "plain.jpg")
    plain.goto(f"{plain.url.split('/threads/')[0]}/threads/{pair.thread}/panel/files/")
    proofs = plain.locator("[data-tab-body=files]")
    proofs.locator("[data-panel-upload-input]").set_input_files([photo("proof.jpg")])
    proofs.get_by_role("button", name="Upload").click()
    expect(proofs.locator(".proof-name")).to_have_text(["proof.jpg"])
    expect(tab(buyer, "files").locator(".proof-name")).to_have_text(["proof.jpg"])


def test_the_saved_status_stays_visible_while_another_user_edits(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    seller.get_by_label("Goals").fill("Warm light")
    seller.get_by_label("Goals").blur()
    status = seller.locator("[data-edit=goals] [data-edit-state]")
    expect(status).to_have_text("Saved")
    buyer.get_by_label("Must-haves").fill("The blue door")
    buyer.get_by_label("Must-haves").blur()
    expect(seller.get_by_label("Must-haves")).to_have_value("The blue door")
    expect(status).to_have_text("Saved")


def test_an_item_being_typed_survives_changes_by_others(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    mine, theirs = tab(buyer, "shotlist"), tab(seller, "shotlist")
    mine.get_by_label("Add a shot").press_sequentially("The do")
    theirs.get_by_label("Add a shot").fill("The window")
    theirs.get_by_role("button", name="Add").click()
    expect(mine.locator(".shot")).to_have_count(1)
    buyer.keyboard.type("or")
    expect(mine.get_by_label("Add a shot")).to_have_value("The door")
    mine.get_by_role("button", name="Add").click()
    expect(theirs.locator(".shot")).to_have_count(2)
    expect(mine.get_by_label("Add a shot")).to_have_value("")


def test_an_item_typed_while_the_one_before_is_being_added_is_kept(two_pages):
    buyer, seller = two_pages
    book(buyer, seller)
    shots = tab(buyer, "shotlist")
    in_flight: list[Route] = []
    buyer.route(re.compile("/panel/shotlist/"), lambda route: in_flight.append(route))
    shots.get_by_label("Add a shot").fill("The door")
    with buyer.expect_request(re.compile("/panel/shotlist/")):
        shots.get_by_role("button", name="Add").click()
    shots.get_by_label("Add a shot").fill("The window")
    with buyer.expect_response(re.compile("/panel/shotlist/")):
        in_flight[0].continue_()
    expect(shots.locator(".shot")).to_have_count(1)
    expect(shots.get_by_label("Add a shot")).to_have_value("The window")


def test_a_page_fetched_before_a_save_does_not_undo_it(visit, pair):
    """The page's events are dropped, so that only its fetched content could show the text again."""
    path = f"/threads/{pair.thread}/"
    buyer = visit(pair.buyer, path)
    seller = visit(pair.seller, path, drop_types=("panel.changed",))
    book(buyer, seller)
    buyer.get_by_label("Must-haves").fill("The blue door")
    buyer.get_by_label("Must-haves").blur()
    expect(buyer.locator("[data-edit=musts] [data-edit-state]")).to_have_text("Saved")
    held: list[Route] = []
    seller.route(path, lambda route: route.continue_() if held else held.append(route))
    seller.evaluate("sockets.at(-1).close()")
    wait_until(lambda: seller.title() and held)
    fetched = held[0].fetch()
    seller.get_by_label("Goals").fill("Warm light")
    seller.get_by_label("Goals").blur()
    expect(seller.locator("[data-edit=goals] [data-edit-state]")).to_have_text("Saved")
    held[0].fulfill(response=fetched)
    expect(seller.get_by_label("Must-haves")).to_have_value("The blue door")
    expect(seller.get_by_label("Goals")).to_have_value("Warm light")
