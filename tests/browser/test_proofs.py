"""Rounds of proofs between seller and buyer until they are approved."""

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.test_attachments import photo, wait_for_images
from tests.browser.test_cards import booked, card, propose, shown_dialog  # noqa: F401
from tests.browser.test_cards import pytestmark as pytestmark  # noqa: PLC0414
from tests.browser.test_project import tab


def show_proofs(seller: Page) -> None:
    dialog = propose(seller, "Share proofs")
    dialog.get_by_label("Photos from this device").set_input_files(
        [photo("door.jpg"), photo("stairs.jpg", "red"), photo("roof.jpg", "green")]
    )
    dialog.get_by_label("Maximum selections").fill("1")
    dialog.get_by_label("Note").fill("The first looks.")
    dialog.get_by_role("button", name="Share proofs").click()
    expect(dialog).to_be_hidden()


def test_proofs_are_revised_until_they_are_approved(booked):  # noqa: F811
    buyer, seller = booked
    show_proofs(seller)
    first = card(buyer, "pending")
    expect(first.locator(".proof-name")).to_have_text(["door.jpg", "stairs.jpg", "roof.jpg"])
    expect(first.get_by_text("Waiting for you")).to_be_visible()
    wait_for_images(buyer, ".gallery img")

    first.get_by_role("link", name="Request changes").click()
    dialog = shown_dialog(buyer)
    dialog.get_by_label("stairs.jpg").fill("Less contrast, please.")
    dialog.get_by_role("button", name="Request changes").click()
    asked = card(seller, "changes_requested")
    expect(asked).to_contain_text("Less contrast, please.")
    expect(asked.get_by_text("Waiting for you")).to_be_visible()
    expect(card(buyer, "changes_requested")).to_contain_text("Waiting for")

    asked.get_by_role("link", name="Share another round").click()
    dialog = shown_dialog(seller)
    expect(dialog).to_contain_text("Less contrast, please.")
    for name in ("door.jpg", "roof.jpg"):
        dialog.get_by_role("checkbox", name=name).check()
    dialog.get_by_label("Photos from this device").set_input_files(
        [photo("stairs again.jpg", "blue")]
    )
    dialog.get_by_label("Maximum selections").fill("2")
    dialog.get_by_role("button", name="Share another round").click()
    second = card(buyer, "pending")
    expect(second).to_contain_text("Replaces")
    expect(second.locator(".proof-name")).to_have_count(3)
    expect(card(buyer, "changes_requested").locator("summary")).to_be_visible()
    expect(
        card(seller, "changes_requested").get_by_role("link", name="Share another")
    ).to_be_hidden()

    second.get_by_role("link", name="Approve").click()
    dialog = shown_dialog(buyer)
    box = dialog.get_by_role("checkbox", name="stairs again.jpg")
    box.focus()
    buyer.keyboard.press("Space")
    expect(box).to_be_checked()
    dialog.get_by_role("button", name="Approve").click()
    for page in booked:
        done = card(page, "approved")
        expect(done.locator("summary")).to_contain_text("round 2")
        done.locator("summary").click()
        expect(done.locator(".proof.chosen .proof-name")).to_contain_text("stairs again.jpg")
        files = tab(page, "files")
        expect(files.get_by_label("Approved proofs").locator(".proof-name")).to_have_text(
            ["stairs again.jpg"]
        )
    wait_for_images(buyer, "[data-tab-body=files] .proof img")


def test_proofs_are_shown_and_approved_without_a_script(booked, visit, pair):  # noqa: F811
    path = f"/threads/{pair.thread}/"
    plain = {"java_script_enabled": False, **PHONE}
    seller, buyer = visit(pair.seller, path, **plain), visit(pair.buyer, path, **plain)
    seller.goto(f"{path}cards/proofs/")
    seller.get_by_label("Photos from this device").set_input_files(
        [photo("door.jpg"), photo("roof.jpg")]
    )
    seller.get_by_role("button", name="Share proofs").click()
    expect(card(seller, "pending")).to_be_visible()
    buyer.goto(path)
    card(buyer, "pending").get_by_role("link", name="Approve").click()
    buyer.get_by_role("checkbox", name="roof.jpg").check()
    buyer.get_by_role("button", name="Approve").click()
    expect(card(buyer, "approved")).to_be_visible()
    buyer.goto(f"{path}panel/files/")
    approved = buyer.get_by_label("Approved proofs")
    expect(approved.locator(".proof-name")).to_have_text(["roof.jpg"])
