"""Data export and account deletion in the browser."""

import hashlib
import json
import zipfile

import pytest
from playwright.sync_api import expect

from tests.browser.booking import book
from tests.browser.conftest import PHONE, live, write
from tests.browser.test_project import tab

pytestmark = pytest.mark.browser


def test_a_conversation_is_exported_from_its_menu_and_downloaded_when_ready(visit, pair, tmp_path):
    page = live(visit(pair.buyer, f"/threads/{pair.thread}/", **PHONE))
    write(page, "Something to keep")
    expect(page.locator(".message:not(.sending)", has_text="Something to keep")).to_be_visible()
    page.locator("[popovertarget=thread-menu]").click()
    page.get_by_role("button", name="Export").click()
    page.wait_for_url("**/settings/data/")
    # The link appears without a reload.
    download = page.get_by_role("link", name="Download")
    expect(download).to_be_visible(timeout=60_000)
    with page.expect_download() as fetched:
        download.click()
    path = tmp_path / "export.zip"
    fetched.value.save_as(path)
    with zipfile.ZipFile(path) as archive:
        messages = json.loads(archive.read("conversation.json"))["messages"]
        assert messages[-1]["body"] == "Something to keep"
        assert "Something to keep" in archive.read("conversation.html").decode()


def test_account_deletion_signs_out_everywhere_and_the_other_user_keeps_the_thread(visit, pair):
    other = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    other_session = live(visit(pair.seller))
    page = live(visit(pair.seller, f"/threads/{pair.thread}/"))
    write(page, "Good bye")
    expect(other.locator(".prose", has_text="Good bye")).to_be_visible()
    page.goto("/settings/data/")
    page.get_by_role("link", name="Delete your account").click()
    page.get_by_label("Your password").fill("not this one")
    page.get_by_role("button", name="Delete your account permanently").click()
    expect(page.get_by_text("Incorrect password.")).to_be_visible()
    page.get_by_label("Your password").fill(pair.seller.password)
    page.get_by_role("button", name="Delete your account permanently").click()
    expect(page.get_by_text("Your account has been deleted.")).to_be_visible()
    # Other sessions of the user are signed out immediately.
    other_session.wait_for_url("**/accounts/login/**")
    expect(other.locator("[data-type=system]").last).to_contain_text(
        "Deleted person left", timeout=60_000
    )
    other.reload()
    live(other)
    expect(other.locator(".prose", has_text="Good bye")).to_be_visible()
    expect(other.locator(".message", has_text="Good bye")).to_contain_text("Deleted person")


# Moves the booking two days into the past and records full payment.
FINISH_BOOKING = """
from datetime import timedelta
from django.utils import timezone
from contracts.models import Leg
from tests.contracts.conftest import pay
leg = Leg.objects.get(thread_id="{thread}")
pay(leg)
past = timezone.now() - timedelta(days=2)
Leg.objects.filter(pk=leg.pk).update(starts_at=past, ends_at=past + timedelta(hours=1))
"""


def test_the_other_user_keeps_contract_and_receipt_after_an_account_deletion(visit, pair, site):
    path = f"/threads/{pair.thread}/"
    buyer, seller = live(visit(pair.buyer, path)), live(visit(pair.seller, path))
    name = buyer.locator(".rows .row-name").first.inner_text()
    book(buyer, seller)
    write(seller, "Thank you for the work")
    expect(buyer.locator(".prose", has_text="Thank you for the work")).to_be_visible()
    seller.goto("/settings/data/delete/")
    expect(seller.get_by_text("hasn't taken place yet")).to_be_visible()
    site.manage("shell", "-c", FINISH_BOOKING.format(thread=pair.thread))
    documents = _document_hashes(buyer, path)
    seller.reload()
    seller.get_by_label("Your password").fill(pair.seller.password)
    seller.get_by_role("button", name="Delete your account permanently").click()
    expect(seller.get_by_text("Your account has been deleted.")).to_be_visible()
    left = buyer.locator("[data-type=system]", has_text="Deleted person left")
    expect(left).to_be_visible(timeout=60_000)
    assert _document_hashes(buyer, path) == documents
    expect(buyer.locator(".prose", has_text="Thank you for the work")).to_be_visible()
    expect(buyer.locator(".rows .row-name").first).to_contain_text("Deleted person")
    expect(buyer.locator(".rows")).not_to_contain_text(name.strip())


def _document_hashes(page, path) -> dict[str, str]:
    """The links of contract and receipt with the hashes of their files."""
    page.goto(path)
    contract = tab(live(page), "docs").get_by_role("link", name="PDF").first
    links = [contract.get_attribute("href")]
    receipt = tab(page, "expenses").get_by_role("link", name="Receipt").first
    links.append(f"{receipt.get_attribute('href')}pdf/")
    found = {link: page.request.get(link) for link in links}
    assert all(response.ok for response in found.values())
    return {link: hashlib.sha256(response.body()).hexdigest() for link, response in found.items()}
