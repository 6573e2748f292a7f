"""Message requests between strangers: sent, accepted, declined, blocked, expired."""

import json
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, live, wait_for_events, write
from tests.site import Account, Site, read_pair

pytestmark = pytest.mark.browser

FOURTEEN_DAYS = 14 * 24 * 3600


@pytest.fixture
def strangers(site: Site) -> tuple[Account, Account, str]:
    """A buyer, a seller, and the seller's handle."""
    one, other = site.pair(), site.pair()
    return one.buyer, other.seller, other.seller.email.partition("@")[0]


def visible_text(page: Page) -> str:
    """The visible text of a conversation without its clock times."""
    return re.sub(r"\d\d:\d\d", "", page.locator(".room").inner_text())


def send_request(visit, strangers, text: str = "Are you free in May?", **options) -> Page:
    buyer, _, handle = strangers
    page = visit(buyer, f"/people/{handle}/start/", **options)
    expect(page.get_by_text("as a request")).to_be_visible()
    page.get_by_label("What is it about?").fill("Portraits")
    page.get_by_label("Message").fill(text)
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/threads/**")
    return live(page)


def open_request(page: Page) -> Page:
    page.goto("/inbox/requests/")
    page.locator(".row-link").click()
    return live(page)


def test_a_request_arrives_without_an_unread_count_and_is_accepted(visit, strangers):
    _, seller, _ = strangers
    sellers_page = live(visit(seller))
    title = sellers_page.title()
    buyer = send_request(visit, strangers)
    expect(buyer.get_by_text("hasn't accepted your request yet")).to_be_visible()
    # Only the requests link shows it: neither the inbox nor the title does.
    expect(sellers_page.locator(".requests-link")).to_contain_text("1")
    expect(sellers_page.locator(".row")).to_have_count(1)
    assert sellers_page.title() == title
    sellers_page.locator(".requests-link").click()
    expect(sellers_page.locator(".row").get_by_text("Request", exact=True)).to_be_visible()
    sellers_page.locator(".row-link").click()
    live(sellers_page)
    expect(sellers_page.locator("#compose")).to_have_count(0)
    expect(sellers_page.locator(".request .facts")).to_contain_text("Joined")
    sellers_page.get_by_role("button", name="Accept").click()
    expect(sellers_page.locator("#compose")).to_be_visible()
    # The other page changes without a reload.
    write(buyer, "Thank you for accepting")
    expect(sellers_page.locator(".prose", has_text="Thank you for accepting")).to_be_visible()
    write(live(sellers_page), "Tell me more")
    expect(buyer.locator(".prose", has_text="Tell me more")).to_be_visible()


def test_a_request_reveals_neither_reading_nor_presence(visit, strangers):
    _, seller, _ = strangers
    buyer = send_request(visit, strangers)
    sellers_page = open_request(visit(seller))
    expect(sellers_page.get_by_text("Are you free in May?").last).to_be_visible()
    expect(sellers_page.locator(".row")).to_have_attribute("data-unread", "0")
    wait_for_events(buyer)
    assert buyer.locator("[data-presence]").all_inner_texts() in ([], [""], ["", ""])
    for _ in ("live", "fresh"):
        tick = buyer.locator(".message.mine [data-ticks]").last
        expect(tick).to_have_attribute("data-tick", "sent")
        buyer.reload()
        live(buyer)


def test_a_declined_request_disappears_and_the_sender_cannot_tell(visit, strangers):
    _, seller, _ = strangers
    buyer = send_request(visit, strangers)
    shown = visible_text(buyer)
    sellers_page = open_request(visit(seller))
    sellers_page.get_by_role("button", name="Decline").click()
    expect(sellers_page.get_by_text("Declined. They won't be notified.")).to_be_visible()
    expect(sellers_page.get_by_text("No requests")).to_be_visible()
    buyer.reload()
    live(buyer)
    assert visible_text(buyer) == shown
    # A declined request can still be accepted.
    sellers_page.goto("/inbox/archived/")
    sellers_page.locator(".row-link").click()
    sellers_page.get_by_role("button", name="Accept").click()
    expect(buyer.locator("#compose")).to_be_visible()


def test_a_request_is_a_limited_preview(visit, strangers):
    """A request can be read and answered: it has no links, no images and no composer."""
    _, seller, _ = strangers
    buyer = send_request(
        visit, strangers, "See [my bank](https://example.com/pay) and https://example.com/x"
    )
    expect(buyer.locator(".message .prose a")).to_have_count(2)
    expect(buyer.locator("#compose")).to_have_count(0)
    expect(buyer.locator("[data-attach], input[type=file]")).to_have_count(0)
    sellers_page = open_request(visit(seller))
    expect(sellers_page.locator(".message .prose")).to_contain_text(
        "See my bank and https://example.com/x"
    )
    expect(sellers_page.locator(".message .prose a")).to_have_count(0)
    expect(sellers_page.locator("#compose")).to_have_count(0)
    expect(sellers_page.get_by_text("links don't open")).to_be_visible()
    sellers_page.get_by_role("button", name="Accept").click()
    expect(sellers_page.locator("#compose")).to_be_visible()
    expect(sellers_page.locator(".message .prose a")).to_have_count(2)


def test_a_reported_request_reaches_staff_and_the_sender_cannot_tell(visit, strangers):
    _, seller, _ = strangers
    buyer = send_request(visit, strangers)
    shown = visible_text(buyer)
    sellers_page = open_request(visit(seller))
    sellers_page.get_by_role("link", name="Report").first.click()
    sellers_page.get_by_label("What's wrong?").select_option("spam")
    sellers_page.get_by_role("button", name="Report").click()
    expect(sellers_page.get_by_text("Thank you")).to_be_visible()
    buyer.reload()
    live(buyer)
    assert visible_text(buyer) == shown


@pytest.mark.parametrize("how", ["Block", "Spam"])
def test_a_request_can_be_blocked_or_marked_as_spam(visit, strangers, how):
    _, seller, _ = strangers
    send_request(visit, strangers)
    sellers_page = open_request(visit(seller, **PHONE))
    sellers_page.get_by_role("button", name=how).click()
    expect(sellers_page.get_by_text("They won't be notified.")).to_be_visible()
    sellers_page.goto("/inbox/spam/" if how == "Spam" else "/inbox/archived/")
    expect(sellers_page.locator(".row")).to_have_count(1)


def require(visit, seller: Account, *what: str) -> None:
    settings = visit(seller, "/settings/")
    for one in what:
        settings.get_by_label(one).check()
    settings.get_by_role("region", name="First messages").get_by_role("button").click()
    expect(
        settings.get_by_text("Your settings for first messages have been saved.")
    ).to_be_visible()


def test_a_required_date_and_budget_are_sent_with_the_request(visit, strangers):
    buyer, seller, handle = strangers
    require(visit, seller, "A date", "A budget")
    page = visit(buyer, f"/people/{handle}/start/", expected_status=400)
    page.get_by_label("What is it about?").fill("Portraits")
    page.get_by_label("Message").fill("Hello")
    for label, text in (("When", "In May"), ("Budget", "About 900 EUR")):
        page.get_by_role("button", name="Send").click()
        assert page.get_by_label(label).evaluate("field => field.matches(':invalid')")
        page.get_by_label(label).fill(text)
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/threads/**")
    # The seller, who requires both, sees them before accepting.
    sellers_page = open_request(visit(seller))
    for text in ("In May", "About 900 EUR"):
        expect(sellers_page.locator(".message .prose", has_text=text)).to_be_visible()


def test_requests_can_be_limited_to_verified_users(visit, strangers, site):
    buyer, seller, handle = strangers
    require(visit, seller, "Verified people only")
    page = visit(buyer, f"/people/{handle}/start/", expected_status=403)
    page.get_by_label("What is it about?").fill("Portraits")
    page.get_by_label("Message").fill("Hello")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert").first).to_contain_text("verified")
    expect(page.get_by_label("Message")).to_have_value("Hello")
    sellers_page = visit(seller, "/inbox/requests/")
    expect(sellers_page.get_by_text("No requests")).to_be_visible()
    verify = f"from accounts.models import User; User.objects.filter(pk={buyer.id!r})"
    site.manage("shell", "-c", f"{verify}.update(verified=True)")
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/threads/**")
    expect(open_request(sellers_page).get_by_role("button", name="Accept")).to_be_visible()


def test_an_unanswered_request_expires(visit, strangers, site):
    buyer, seller, handle = strangers
    request_page = urlsplit(send_request(visit, strangers).url).path
    with site.another(ahead=FOURTEEN_DAYS - 3600) as almost:
        sellers_page = live(visit(seller, f"{almost.url}/inbox/requests/"))
        expect(sellers_page.locator(".row")).to_have_count(1)
        sellers_page.close()
    with site.another(ahead=FOURTEEN_DAYS + 3600) as later:
        sellers_page = live(visit(seller, f"{later.url}/inbox/requests/"))
        expect(sellers_page.get_by_text("No requests")).to_be_visible()
        expect(sellers_page.locator(".requests-link")).to_be_hidden()
        sellers_page.goto(f"{later.url}{request_page}")
        expect(sellers_page.get_by_role("heading", name="This request has expired")).to_be_visible()
        expect(sellers_page.get_by_role("button", name="Accept")).to_have_count(0)
        buyers_page = visit(buyer, f"{later.url}{request_page}")
        expect(
            buyers_page.get_by_text("didn't answer your request, and it has expired")
        ).to_be_visible()
        expect(buyers_page.locator("#compose")).to_have_count(0)
        # After the expiry the buyer may send another request.
        buyers_page.goto(f"{later.url}/people/{handle}/start/")
        buyers_page.get_by_label("What is it about?").fill("Portraits")
        buyers_page.get_by_label("Message").fill("And in June?")
        buyers_page.get_by_role("button", name="Send").click()
        buyers_page.wait_for_url("**/threads/**")
        live(buyers_page)
        sellers_page.goto(f"{later.url}/inbox/requests/")
        sellers_page.locator(".row-link").click()
        sellers_page.get_by_role("button", name="Accept").click()
        expect(buyers_page.locator("#compose")).to_be_visible()
        for page in (buyers_page, sellers_page):
            page.close()


def test_a_second_request_is_refused_and_acquainted_users_need_none(visit, strangers):
    _, seller, handle = strangers
    buyer = send_request(visit, strangers)
    again = visit(strangers[0], f"/people/{handle}/start/", expected_status=403)
    again.get_by_label("What is it about?").fill("Portraits")
    again.get_by_label("Message").fill("Hello again")
    again.get_by_role("button", name="Send").click()
    expect(again.get_by_role("alert").first).to_contain_text("hasn't accepted your request yet")
    expect(again.get_by_label("Message")).to_have_value("Hello again")
    sellers_page = open_request(visit(seller))
    sellers_page.get_by_role("button", name="Accept").click()
    expect(buyer.locator("#compose")).to_be_visible()
    again.get_by_role("button", name="Send").click()
    again.wait_for_url("**/threads/**")
    expect(live(again).locator("#compose")).to_be_visible()
    sellers_page.goto("/inbox/requests/")
    expect(sellers_page.get_by_text("No requests")).to_be_visible()
    sellers_page.goto("/inbox/")
    expect(sellers_page.locator(".row", has_text="Hello again")).to_be_visible()


def test_a_blocked_sender_cannot_tell_and_cannot_send_another_request(visit, strangers):
    _, seller, handle = strangers
    buyer = send_request(visit, strangers)
    shown = visible_text(buyer)
    sellers_page = open_request(visit(seller))
    sellers_page.get_by_role("button", name="Block").click()
    expect(sellers_page.get_by_text("They won't be notified.")).to_be_visible()
    buyer.reload()
    live(buyer)
    assert visible_text(buyer) == shown
    again = visit(strangers[0], f"/people/{handle}/start/", expected_status=403)
    again.get_by_label("What is it about?").fill("Portraits")
    again.get_by_label("Message").fill("Hello again")
    again.get_by_role("button", name="Send").click()
    expect(again.get_by_role("alert").first).to_contain_text("hasn't accepted your request yet")
    expect(again.get_by_label("Message")).to_have_value("Hello again")


def test_a_new_account_may_send_three_requests_an_hour_and_keeps_its_text(visit, site):
    made = json.loads(site.seed_load("--pairs", "5", "--messages", "1"))["pairs"]
    buyer, *others = (read_pair(pair) for pair in made)
    page = visit(buyer.buyer, expected_status=429)
    for number, other in enumerate(others, 1):
        page.goto(f"/people/{other.seller.email.partition('@')[0]}/start/")
        page.get_by_label("What is it about?").fill("Portraits")
        page.get_by_label("Message").fill(f"Question {number}")
        page.get_by_role("button", name="Send").click()
        if number <= 3:
            page.wait_for_url("**/threads/**")
    expect(page.get_by_role("alert").first).to_be_visible()
    expect(page.get_by_label("Message")).to_have_value("Question 4")
