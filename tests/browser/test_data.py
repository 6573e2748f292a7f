"""Taking one's data along, and deleting the account, as people do it."""

import json
import zipfile

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, live, write

pytestmark = pytest.mark.browser


def test_a_conversation_is_exported_from_its_menu_and_fetched_when_it_is_ready(
    visit, pair, tmp_path
):
    page = live(visit(pair.buyer, f"/threads/{pair.thread}/", **PHONE))
    write(page, "Something to keep")
    expect(page.locator(".message:not(.sending)", has_text="Something to keep")).to_be_visible()
    page.locator("[popovertarget=thread-menu]").click()
    page.get_by_role("button", name="Export").click()
    page.wait_for_url("**/settings/data/")
    # By itself, without a reload.
    download = page.get_by_role("link", name="Download")
    expect(download).to_be_visible(timeout=60_000)
    with page.expect_download() as fetched:
        download.click()
    path = tmp_path / "export.zip"
    fetched.value.save_as(path)
    with zipfile.ZipFile(path) as parcel:
        said = json.loads(parcel.read("conversation.json"))["messages"]
        assert said[-1]["body"] == "Something to keep"
        assert "Something to keep" in parcel.read("conversation.html").decode()


def test_who_deletes_the_account_is_out_everywhere_and_the_other_keeps_the_talk(visit, pair):
    other = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    elsewhere = live(visit(pair.seller))
    page = live(visit(pair.seller, f"/threads/{pair.thread}/"))
    write(page, "Good bye")
    expect(other.locator(".prose", has_text="Good bye")).to_be_visible()
    page.goto("/settings/data/")
    page.get_by_role("link", name="Delete your account").click()
    page.get_by_label("Your password").fill("not this one")
    page.get_by_role("button", name="Delete your account for good").click()
    expect(page.get_by_text("This is not your password.")).to_be_visible()
    page.get_by_label("Your password").fill(pair.seller.password)
    page.get_by_role("button", name="Delete your account for good").click()
    expect(page.get_by_text("Your account is deleted.")).to_be_visible()
    # Where they were signed in as well, at once.
    elsewhere.wait_for_url("**/accounts/login/**")
    expect(other.locator("[data-type=system]").last).to_contain_text(
        "Deleted person left", timeout=60_000
    )
    other.reload()
    live(other)
    expect(other.locator(".prose", has_text="Good bye")).to_be_visible()
    expect(other.locator(".message", has_text="Good bye")).to_contain_text("Deleted person")
