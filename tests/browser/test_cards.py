"""Cards: a new time with a counter-proposal, and extras up to the receipt."""

from datetime import datetime, timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.booking import book
from tests.browser.conftest import PHONE, live
from tests.browser.test_project import pay, tab

pytestmark = pytest.mark.browser


@pytest.fixture
def booked(visit, pair) -> tuple[Page, Page]:
    path = f"/threads/{pair.thread}/"
    buyer, seller = visit(pair.buyer, path), visit(pair.seller, path)
    book(buyer, seller)
    return live(buyer), live(seller)


def propose(page: Page, what: str) -> Locator:
    page.get_by_role("button", name="Photos, files and proposals").click()
    page.locator("#add-menu").get_by_role("link", name=what).click()
    return shown_dialog(page)


def call_staff(page: Page, what: str) -> Locator:
    page.get_by_role("button", name="Conversation options").click()
    page.locator("#thread-menu").get_by_role("link", name=what).click()
    return shown_dialog(page)


def shown_dialog(page: Page) -> Locator:
    dialog = page.locator("#card-dialog")
    expect(dialog).to_be_visible()
    return dialog


def move_start_by(dialog: Locator, days: int) -> str:
    for name in ("New start", "New end"):
        field = dialog.get_by_label(name)
        moment = datetime.fromisoformat(field.input_value()) + timedelta(days=days)
        field.fill(moment.strftime("%Y-%m-%dT%H:%M"))
    return f"{moment:%a} {moment.day} {moment:%b %Y}"


def card(page: Page, state: str) -> Locator:
    """A card in this state, other than the offer that made the booking."""
    return page.locator(f".action-card[data-state={state}]:not(:has(.offer))")


def test_a_new_time_is_proposed_countered_and_accepted(booked):
    buyer, seller = booked
    dialog = propose(seller, "Propose a new time")
    first = move_start_by(dialog, 1)
    dialog.get_by_label("Reason").fill("Rain is forecast.")
    dialog.get_by_role("button", name="Propose a new time").click()
    expect(dialog).to_be_hidden()
    waiting = card(buyer, "pending")
    expect(waiting).to_contain_text(first)
    expect(waiting.get_by_text("Waiting for you")).to_be_visible()
    expect(waiting.locator("time")).to_be_visible()
    expect(waiting.get_by_role("button", name="Accept")).to_be_visible()
    expect(waiting.get_by_role("button", name="Withdraw")).to_be_hidden()
    expect(card(seller, "pending").get_by_role("button", name="Accept")).to_be_hidden()
    waiting.get_by_role("link", name="Suggest another time").click()
    dialog = shown_dialog(buyer)
    second = move_start_by(dialog, 3)
    dialog.get_by_role("button", name="Suggest another time").click()
    expect(card(seller, "countered")).to_be_visible()
    answer = card(seller, "pending")
    expect(answer).to_contain_text("Replaces")
    expect(answer).to_contain_text(second)
    answer.get_by_role("button", name="Accept").click()
    for page in booked:
        expect(card(page, "accepted").locator("summary")).to_contain_text(second)
        expect(card(page, "pending")).to_have_count(0)
    expect(tab(buyer, "docs")).to_contain_text("Version 2")
    buyer.reload()
    expect(card(buyer, "accepted").locator("summary")).to_contain_text(second)


def test_extras_are_accepted_and_paid(booked):
    buyer, seller = booked
    dialog = propose(seller, "Propose extras")
    dialog.get_by_label("Description").fill("Retouching")
    dialog.get_by_label("Quantity").fill("3")
    dialog.get_by_label("Unit price").fill("25.50")
    dialog.get_by_role("button", name="Add another").click()
    expect(dialog.get_by_label("Description")).to_have_count(2)
    dialog.get_by_label("Description").nth(1).fill("A second backdrop")
    dialog.get_by_label("Unit price").nth(1).fill("40")
    dialog.get_by_role("button", name="Review").click()
    expect(dialog.locator("[data-review]")).to_contain_text("EUR 116.50")
    expect(dialog.locator("[data-review]")).to_be_focused()
    dialog.get_by_role("button", name="Propose extras").click()
    waiting = card(buyer, "pending")
    expect(waiting).to_contain_text("EUR 116.50")
    waiting.get_by_role("button", name="Accept").click()
    expect(card(seller, "accepted")).to_be_visible()
    expenses = tab(seller, "expenses")
    expect(expenses).to_contain_text("EUR 1,316.50")
    pay(expenses, "1316.50", left="€0.00")
    expect(seller.locator("[data-tab-body=expenses]")).to_contain_text("Receipt 1")


def test_a_form_error_is_shown_at_its_field(visit, pair):
    path = f"/threads/{pair.thread}/"
    buyer, seller = visit(pair.buyer, path), visit(pair.seller, path, expected_status=400)
    book(buyer, seller)
    dialog = propose(live(seller), "Propose extras")
    dialog.get_by_label("Description").fill("Retouching")
    dialog.get_by_label("Unit price").fill("a lot")
    dialog.get_by_role("button", name="Review").click()
    expect(dialog).to_contain_text("Enter an amount in digits, for example 1200 or 1200.50.")
    expect(dialog.get_by_label("Description")).to_have_value("Retouching")


def test_a_card_is_proposed_and_answered_without_a_script(booked, visit, pair):
    path = f"/threads/{pair.thread}/"
    plain = {"java_script_enabled": False, **PHONE}
    seller, buyer = visit(pair.seller, path, **plain), visit(pair.buyer, path, **plain)
    seller.goto(f"{path}cards/extras/")
    seller.get_by_label("Description").fill("Retouching")
    seller.get_by_label("Unit price").fill("40")
    seller.get_by_role("button", name="Review").click()
    expect(seller.locator("[data-review]")).to_contain_text("EUR 40.00")
    seller.get_by_role("button", name="Propose extras").click()
    expect(card(seller, "pending")).to_be_visible()
    buyer.goto(path)
    waiting = card(buyer, "pending")
    expect(waiting.get_by_text("Waiting for you")).to_be_visible()
    expect(waiting.get_by_role("button", name="Withdraw")).to_be_hidden()
    waiting.get_by_role("button", name="Accept").click()
    expect(card(buyer, "accepted")).to_be_visible()
