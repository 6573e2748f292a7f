"""A booking from the first offer to the last payment: every amount and text, also in the PDFs."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from pypdf import PdfReader

from tests.browser.booking import answer_offer
from tests.browser.conftest import live
from tests.browser.test_attachments import photo
from tests.browser.test_cards import card, propose, shown_dialog
from tests.browser.test_project import pay, sign, tab

pytestmark = pytest.mark.browser


def fill_in(dialog: Locator, *, price: str, deposit: str, shown: str, send: str) -> None:
    dialog.get_by_label("Price").fill(price)
    dialog.get_by_label("Deposit").fill(deposit)
    dialog.get_by_role("button", name="Review").click()
    expect(dialog.locator(".review")).to_contain_text(shown)
    dialog.get_by_role("button", name=send).click()
    expect(dialog).to_be_hidden()


def offer(page: Page, *, service: str, **amounts: str) -> None:
    """Makes an offer in a dialog of the conversation."""
    page.get_by_role("button", name="Photos, files and proposals").click()
    page.locator("#add-menu").get_by_role("link", name="Make an offer").click()
    dialog = shown_dialog(page)
    dialog.get_by_label("Service").fill(service)
    dialog.get_by_label("Place").fill("Lisbon")
    fill_in(dialog, send="Send offer", **amounts)


def offer_card(page: Page, state: str) -> Locator:
    return page.locator(f".action-card[data-state={state}]:has(.offer)")


def expect_text(pages: tuple[Page, Page], text: str) -> None:
    for page in pages:
        expect(page.locator(".message", has_text=text).last).to_be_visible()


def expect_sums(pages: tuple[Page, Page], service: str, sums: dict[str, str]) -> None:
    for page in pages:
        account = tab(page, "expenses").locator("article", has_text=service)
        for label, amount in sums.items():
            row = account.locator("tr.sum", has=page.get_by_role("rowheader", name=label))
            expect(row).to_contain_text(amount)


def pdf_text(page: Page, link: Locator) -> str:
    with page.expect_download() as download:
        link.click()
    pages = PdfReader(download.value.path()).pages
    return re.sub(r"\s+", " ", " ".join(one.extract_text() for one in pages))


def test_from_the_first_offer_to_the_last_payment(visit, pair):
    path = f"/threads/{pair.thread}/"
    buyer, seller = both = visit(pair.buyer, path), visit(pair.seller, path)

    # An offer, replaced by the buyer's counter-offer.
    offer(seller, service="Portraits", price="1,200", deposit="400", shown="EUR 1,200.00")
    for page in both:
        expect(offer_card(page, "pending")).to_contain_text("EUR 1,200.00")
    offer_card(buyer, "pending").get_by_role("link", name="Suggest a change").click()
    fill_in(
        shown_dialog(buyer),
        price="1100.00",
        deposit="300",
        shown="EUR 1,100.00",
        send="Suggest this change",
    )
    for page in both:
        expect(offer_card(page, "countered")).to_contain_text("Replaced")
        expect(offer_card(page, "pending").locator("s", has_text="EUR 1,200.00")).to_be_visible()
        expect(offer_card(page, "pending")).to_contain_text("1 earlier offer")
    answer_offer(seller, "Accept")
    expect_text(both, "accepted the offer: ")
    for page in both:
        page.goto(path)
        live(page)
        expect(page.locator("[data-panel] [data-tab-body=overview]")).to_be_visible()
    expect_text(both, "accepted the offer: ")
    expect_sums(both, "Portraits", {"Total": "EUR 1,100.00", "Outstanding": "EUR 1,100.00"})

    # After both signatures the deposit is due.
    sign(buyer, "Beatrice Buyer")
    sign(seller, "Samuel Seller")
    contract = pdf_text(seller, seller.get_by_role("link", name="Download PDF"))
    assert "EUR 1,100.00" in contract
    assert "EUR 300.00" in contract
    for page in both:
        page.goto(path)
        live(page)
    expect_text(both, "You've both signed, so it's now in force.")
    expect_sums(both, "Portraits", {"Outstanding": "EUR 1,100.00", "Due now": "EUR 300.00"})

    # Extras increase the amount due.
    dialog = propose(seller, "Propose extras")
    dialog.get_by_label("Description").fill("Retouching")
    dialog.get_by_label("Quantity").fill("3")
    dialog.get_by_label("Unit price").fill("25.50")
    dialog.get_by_role("button", name="Review").click()
    expect(dialog.locator("[data-review]")).to_contain_text("EUR 76.50")
    dialog.get_by_role("button", name="Propose extras").click()
    card(buyer, "pending").get_by_role("button", name="Accept").click()
    expect(card(seller, "accepted")).to_be_visible()
    expect_sums(both, "Portraits", {"Total": "EUR 1,176.50", "Outstanding": "EUR 1,176.50"})

    # After approved proofs and completion everything is due, and no payment is recorded.
    dialog = propose(seller, "Share proofs")
    dialog.get_by_label("Photos from this device").set_input_files([photo("door.jpg")])
    dialog.get_by_role("button", name="Share proofs").click()
    expect(dialog).to_be_hidden()
    card(buyer, "pending").get_by_role("link", name="Approve").click()
    dialog = shown_dialog(buyer)
    dialog.get_by_role("button", name="Approve").click()
    expect(card(seller, "approved")).to_be_visible()
    dialog = propose(seller, "Mark as completed")
    dialog.get_by_role("button", name="Mark as completed").click()
    expect(dialog).to_be_hidden()
    expect(card(buyer, "pending")).to_contain_text("It doesn't record a payment")
    card(buyer, "pending").get_by_role("button", name="Accept").click()
    expect_text(both, "accepted the work: Portraits.")
    expect_sums(both, "Portraits", {"Paid": "EUR 0.00", "Due now": "EUR 1,176.50"})

    # Two payments, of which the first is reversed.
    pay(tab(seller, "expenses"), "400", left="€776.50")
    pay(seller.locator("[data-tab-body=expenses]"), "776.50", left="€0.00")
    expect_sums(both, "Portraits", {"Paid": "EUR 1,176.50", "Outstanding": "EUR 0.00"})
    seller.locator("[data-tab-body=expenses]").get_by_role("link", name="Receipt 1").click()
    seller.get_by_role("link", name="Reverse").click()
    after = seller.locator("tr", has_text="Balance afterwards")
    expect(after).to_contain_text("€400.00 outstanding")
    seller.get_by_role("button", name="Reverse").click()
    expect(seller.get_by_role("heading", name="Reversal receipt 3")).to_be_visible()
    reversal = pdf_text(seller, seller.get_by_role("link", name="Download PDF"))
    assert "EUR 400.00" in reversal
    assert "Reverses" in reversal
    seller.goto(path)
    expect_sums(both, "Portraits", {"Paid": "EUR 776.50", "Outstanding": "EUR 400.00"})

    # A second booking is cancelled before it begins.
    offer(seller, service="A second day", price="500", deposit="100", shown="EUR 500.00")
    answer_offer(buyer, "Accept")
    for page in both:
        page.goto(path)
        live(page)
    expect_sums(both, "A second day", {"Total": "EUR 500.00"})
    dialog = propose(seller, "Cancel the booking")
    dialog.get_by_label("Reason").fill("The studio is flooded.")
    dialog.get_by_role("button", name="Cancel the booking").click()
    expect(dialog).to_be_hidden()
    expect(card(buyer, "pending")).to_contain_text("EUR 500.00")
    card(buyer, "pending").get_by_role("link", name="Agree to cancel").click()
    dialog = shown_dialog(buyer)
    dialog.get_by_role("button", name="Agree to cancel").click()
    expect_text(both, "A second day")
    expect_sums(both, "A second day", {"Total": "EUR 0.00", "Outstanding": "EUR 0.00"})
    # The first booking is unchanged.
    expect_sums(both, "Portraits", {"Paid": "EUR 776.50", "Outstanding": "EUR 400.00"})
