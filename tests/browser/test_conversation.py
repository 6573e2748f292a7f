import re
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, live, texts, write

pytestmark = pytest.mark.browser

PASSWORD = "correct horse battery"


def sign_up(page: Page, site, name: str) -> str:
    email = f"{uuid4().hex}@parley.example"
    page.goto("/accounts/signup/")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Your name").fill(name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name=re.compile("Create")).click()
    page.wait_for_url("**/confirm-email/")
    page.goto(confirmation_link(site.folder / "mail", email))
    page.get_by_role("button", name=re.compile("Confirm")).click()
    page.wait_for_url(lambda url: "confirm-email" not in url)
    # No response of that page may still arrive and set a cookie again.
    page.goto("about:blank")
    page.context.clear_cookies()
    return email


def confirmation_link(folder: Path, email: str) -> str:
    mails = [path.read_text() for path in folder.iterdir()]
    (mail,) = [mail for mail in mails if email in mail]
    return re.search(r"http://\S+/confirm-email/\S+", mail)[0]


def sign_in(page: Page, email: str, password: str = PASSWORD) -> Page:
    page.goto("/accounts/login/")
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password", exact=True).fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(re.compile("/(inbox|onboarding/profile)/$"))
    if "onboarding" in page.url:
        skip_onboarding(page)
    return page


def skip_onboarding(page: Page) -> None:
    for step in ("profile", "work"):
        page.wait_for_url(f"**/onboarding/{step}/")
        page.get_by_role("button", name="Skip").click()
    page.get_by_role("button", name="Browse all people").click()
    page.wait_for_url("**/people/")
    page.goto("/inbox/")


@pytest.mark.parametrize("device", [{}, PHONE], ids=["desktop", "phone"])
def test_from_sign_up_to_a_conversation_that_survives_a_reload(site, visit, device):
    buyer, seller = visit(None, "/", **device), visit(None, "/", **device)
    sign_in(buyer, sign_up(buyer, site, "Bea Buyer"))
    sign_in(seller, sign_up(seller, site, "Sam Seller"))
    seller.goto("/settings/")
    handle = seller.get_by_label("Handle").input_value()
    seller.goto("/inbox/")

    buyer.goto(f"/people/{handle}/")
    buyer.get_by_role("link", name=re.compile("Start a conversation")).click()
    buyer.get_by_label("What is it about?").fill("Portraits of our team")
    buyer.get_by_label("Budget").fill("900 EUR")
    buyer.get_by_label("Message").fill("Are you free in **May**?")
    buyer.get_by_role("button", name=re.compile("Send|Start")).click()
    buyer.wait_for_url("**/threads/**")

    # The request appears on the seller's page without a reload, and is accepted.
    expect(seller.locator(".requests-link")).to_contain_text("1")
    seller.locator(".requests-link").click()
    row = seller.locator(".row[data-thread]").first
    expect(row).to_contain_text("Portraits of our team")
    row.locator(".row-link").click()
    live(seller).get_by_role("button", name="Accept").click()
    expect(seller.locator("#compose")).to_be_visible()
    live(seller), live(buyer)

    write(seller, "In May, yes")
    expect(buyer.locator(".message").last).to_contain_text("In May, yes")
    write(buyer, "Good. The week of the 11th?")
    expect(seller.locator(".message").last).to_contain_text("The week of the 11th?")
    expect(buyer.locator(".message.sending")).to_have_count(0)

    messages = texts(buyer)
    assert len(messages) == 3
    for page in (buyer, seller):
        page.reload()
        assert texts(page) == messages
    expect(buyer.locator(".message strong").first).to_have_text("May")


def test_works_without_javascript(site, visit, pair):
    buyer = visit(pair.buyer, f"/threads/{pair.thread}/", java_script_enabled=False)
    seller = visit(pair.seller, "/inbox/", java_script_enabled=False)

    write(buyer, "Sent by a *form*")
    expect(buyer.locator(".message").last).to_contain_text("Sent by a form")
    seller.reload()
    row = seller.locator(f".row[data-thread='{pair.thread}']")
    expect(row).to_contain_text("Sent by a form")
    row.get_by_role("link").click()
    expect(seller.locator(".message em").last).to_have_text("form")
    seller.get_by_role("button", name="Mark as read").click()
    expect(seller.locator(f".row[data-thread='{pair.thread}']")).to_have_attribute(
        "data-unread", "0"
    )
    write(seller, "And answered by one")
    buyer.reload()
    assert texts(buyer)[-2:] == ["Sent by a form", "And answered by one"]
    expect(buyer.locator(".message").nth(-2)).to_have_class(re.compile("mine"))


def test_submitting_the_same_form_twice_without_javascript_stores_one_message(visit, pair):
    page = visit(pair.buyer, f"/threads/{pair.thread}/", java_script_enabled=False)
    page.locator("#compose").fill("Only once")
    form = page.locator("[data-composer]")
    data = {
        name: form.locator(f"[name={name}]").input_value()
        for name in ("csrfmiddlewaretoken", "client_id", "seen_seq", "body")
    }
    for _ in range(2):
        assert page.request.post(f"/threads/{pair.thread}/messages/", form=data).ok
    page.reload()
    assert texts(page).count("Only once") == 1


def test_without_javascript_a_refusal_keeps_the_typed_text(visit, pair):
    page = visit(
        pair.buyer, f"/threads/{pair.thread}/", java_script_enabled=False, expected_status=400
    )
    long = "word " * 1700
    write(page, long)
    expect(page.locator("[data-composer-error]")).to_contain_text("8,000 characters")
    assert page.locator("#compose").input_value().strip() == long.strip()


def test_the_inbox_of_both_users_updates_without_a_reload(site, visit, pair):
    buyer = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    seller = visit(pair.seller)
    row = seller.locator(f".row[data-thread='{pair.thread}']")
    before = int(row.locator("[data-row-unread]").inner_text())
    write(buyer, "Look at your inbox")
    expect(row.locator("[data-row-text]")).to_have_text("Look at your inbox")
    expect(row.locator("[data-row-unread]")).to_have_text(str(before + 1))
    buyers_row = buyer.locator(f".row[data-thread='{pair.thread}']")
    expect(buyers_row.locator("[data-row-text]")).to_have_text("Look at your inbox")
    expect(buyers_row).to_have_attribute("data-mine", "")


def test_reading_clears_the_count(visit, pair):
    seller = live(visit(pair.seller, f"/threads/{pair.thread}/"))
    row = seller.locator(f".row[data-thread='{pair.thread}']")
    expect(row).to_have_attribute("data-unread", "0")
    seller.reload()
    expect(row).to_have_attribute("data-unread", "0")


def test_a_refused_message_shows_the_reason_and_can_be_edited_again(visit, pair):
    # The event of the block is dropped, so that the page is refused on sending.
    page = visit(pair.buyer, f"/threads/{pair.thread}/", drop_types=("thread.changed",))
    buyer = live(page)
    seller = visit(pair.seller, f"/threads/{pair.thread}/")
    seller.get_by_role("button", name="Conversation options").click()
    seller.get_by_role("button", name=re.compile("^Block")).click()
    seller.wait_for_load_state()

    write(buyer, "Are you there?")
    failed = buyer.locator(".message.failed")
    expect(failed).to_contain_text("You can't message each other.")
    failed.get_by_role("button", name="Discard").click()
    expect(failed).to_have_count(0)
    expect(buyer.locator("#compose")).to_have_value("Are you there?")


def test_markup_in_a_message_is_shown_as_text(visit, pair):
    buyer = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    seller = live(visit(pair.seller, f"/threads/{pair.thread}/"))
    hostile = "<img src=x onerror=document.title='owned'><script>document.title='owned'</script>"
    write(buyer, hostile)
    for page in (buyer, seller):
        expect(page.locator(".message:not(.sending) .prose").last).to_have_text(hostile)
        assert "owned" not in page.title()
