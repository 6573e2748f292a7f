"""Two people who do not know each other yet: asking, accepting, declining, blocking, waiting."""

import json
import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, hear_everything, live, write
from tests.site import Account, Site, read_pair

pytestmark = pytest.mark.browser

FOURTEEN_DAYS = 14 * 24 * 3600


@pytest.fixture
def strangers(site: Site) -> tuple[Account, Account, str]:
    """A buyer, a seller, and the seller's handle."""
    one, other = site.pair(), site.pair()
    return one.buyer, other.seller, other.seller.email.partition("@")[0]


def room_of(page: Page) -> str:
    """What one can tell from a conversation; the clock beside a name goes on meanwhile."""
    return re.sub(r"\d\d:\d\d", "", page.locator(".room").inner_text())


def ask(visit, strangers, text: str = "Are you free in May?", **options) -> Page:
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


def test_a_request_arrives_quietly_and_is_accepted(visit, strangers):
    _, seller, _ = strangers
    there = live(visit(seller))
    title = there.title()
    buyer = ask(visit, strangers)
    expect(buyer.get_by_text("hasn't accepted your request yet")).to_be_visible()
    # Not in the inbox, and no number in the title: only the requests say so.
    expect(there.locator(".requests-link")).to_contain_text("1")
    expect(there.locator(".row")).to_have_count(1)
    assert there.title() == title
    there.locator(".requests-link").click()
    expect(there.locator(".row").get_by_text("Request", exact=True)).to_be_visible()
    there.locator(".row-link").click()
    live(there)
    expect(there.locator("#compose")).to_have_count(0)
    there.get_by_role("button", name="Accept").click()
    expect(there.locator("#compose")).to_be_visible()
    # Without a reload on the other side.
    write(buyer, "Thank you for accepting")
    expect(there.locator(".prose", has_text="Thank you for accepting")).to_be_visible()
    write(live(there), "Tell me more")
    expect(buyer.locator(".prose", has_text="Tell me more")).to_be_visible()


def test_nothing_shows_that_it_was_read_or_that_somebody_is_there(visit, strangers):
    _, seller, _ = strangers
    buyer = ask(visit, strangers)
    there = open_request(visit(seller))
    expect(there.get_by_text("Are you free in May?").last).to_be_visible()
    expect(there.locator(".row")).to_have_attribute("data-unread", "0")
    hear_everything(buyer)
    assert buyer.locator("[data-presence]").all_inner_texts() in ([], [""], ["", ""])
    for _ in ("live", "fresh"):
        tick = buyer.locator(".message.mine [data-ticks]").last
        expect(tick).to_have_attribute("data-tick", "sent")
        buyer.reload()
        live(buyer)


def test_a_declined_one_is_gone_and_the_other_cannot_tell(visit, strangers):
    _, seller, _ = strangers
    buyer = ask(visit, strangers)
    shown = room_of(buyer)
    there = open_request(visit(seller))
    there.get_by_role("button", name="Decline").click()
    expect(there.get_by_text("Declined. They won't be notified.")).to_be_visible()
    expect(there.get_by_text("No requests")).to_be_visible()
    buyer.reload()
    live(buyer)
    assert room_of(buyer) == shown
    # One may think again.
    there.goto("/inbox/archived/")
    there.locator(".row-link").click()
    there.get_by_role("button", name="Accept").click()
    expect(buyer.locator("#compose")).to_be_visible()


def test_a_request_is_a_limited_preview(visit, strangers):
    """To be read and answered with yes or no: no link, no picture, nothing to write with."""
    _, seller, _ = strangers
    buyer = ask(
        visit, strangers, "See [my bank](https://example.com/pay) and https://example.com/x"
    )
    expect(buyer.locator(".message .prose a")).to_have_count(2)
    expect(buyer.locator("#compose")).to_have_count(0)
    expect(buyer.locator("[data-attach], input[type=file]")).to_have_count(0)
    there = open_request(visit(seller))
    expect(there.locator(".message .prose")).to_contain_text(
        "See my bank and https://example.com/x"
    )
    expect(there.locator(".message .prose a")).to_have_count(0)
    expect(there.locator("#compose")).to_have_count(0)
    expect(there.get_by_text("links don't open")).to_be_visible()
    there.get_by_role("button", name="Accept").click()
    expect(there.locator("#compose")).to_be_visible()
    expect(there.locator(".message .prose a")).to_have_count(2)


def test_a_reported_one_is_with_staff_and_the_other_cannot_tell(visit, strangers):
    _, seller, _ = strangers
    buyer = ask(visit, strangers)
    shown = room_of(buyer)
    there = open_request(visit(seller))
    there.get_by_role("link", name="Report").first.click()
    there.get_by_label("What's wrong?").select_option("spam")
    there.get_by_role("button", name="Report").click()
    expect(there.get_by_text("Thank you")).to_be_visible()
    buyer.reload()
    live(buyer)
    assert room_of(buyer) == shown


@pytest.mark.parametrize("how", ["Block", "Spam"])
def test_blocked_or_spam_on_the_same_screen(visit, strangers, how):
    _, seller, _ = strangers
    ask(visit, strangers)
    there = open_request(visit(seller, **PHONE))
    there.get_by_role("button", name=how).click()
    expect(there.get_by_text("They won't be notified.")).to_be_visible()
    there.goto("/inbox/spam/" if how == "Spam" else "/inbox/archived/")
    expect(there.locator(".row")).to_have_count(1)


def require(visit, seller: Account, *what: str) -> None:
    settings = visit(seller, "/settings/")
    for one in what:
        settings.get_by_label(one).check()
    settings.get_by_role("region", name="First messages").get_by_role("button").click()
    expect(
        settings.get_by_text("Your settings for first messages have been saved.")
    ).to_be_visible()


def test_somebody_who_asks_for_a_date_and_a_budget_gets_both(visit, strangers):
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
    # Both are there for whoever asked for them, before they accept.
    there = open_request(visit(seller))
    for text in ("In May", "About 900 EUR"):
        expect(there.locator(".message .prose", has_text=text)).to_be_visible()


def test_who_wants_to_hear_from_verified_people_only_does(visit, strangers, site):
    buyer, seller, handle = strangers
    require(visit, seller, "Verified people only")
    page = visit(buyer, f"/people/{handle}/start/", expected_status=403)
    page.get_by_label("What is it about?").fill("Portraits")
    page.get_by_label("Message").fill("Hello")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert").first).to_contain_text("verified")
    expect(page.get_by_label("Message")).to_have_value("Hello")
    there = visit(seller, "/inbox/requests/")
    expect(there.get_by_text("No requests")).to_be_visible()
    verify = f"from accounts.models import User; User.objects.filter(pk={buyer.id!r})"
    site.manage("shell", "-c", f"{verify}.update(verified=True)")
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/threads/**")
    expect(open_request(there).get_by_role("button", name="Accept")).to_be_visible()


def test_nobody_answers_and_it_expires_when_the_clock_says_so(visit, strangers, site):
    buyer, seller, handle = strangers
    asked = urlsplit(ask(visit, strangers).url).path
    with site.another(ahead=FOURTEEN_DAYS - 3600) as almost:
        there = live(visit(seller, f"{almost.url}/inbox/requests/"))
        expect(there.locator(".row")).to_have_count(1)
        there.close()
    with site.another(ahead=FOURTEEN_DAYS + 3600) as later:
        there = live(visit(seller, f"{later.url}/inbox/requests/"))
        expect(there.get_by_text("No requests")).to_be_visible()
        expect(there.locator(".requests-link")).to_be_hidden()
        there.goto(f"{later.url}{asked}")
        expect(there.get_by_role("heading", name="This request has expired")).to_be_visible()
        expect(there.get_by_role("button", name="Accept")).to_have_count(0)
        here = visit(buyer, f"{later.url}{asked}")
        expect(here.get_by_text("didn't answer your request, and it has expired")).to_be_visible()
        expect(here.locator("#compose")).to_have_count(0)
        # Then one may ask once more, and be accepted.
        here.goto(f"{later.url}/people/{handle}/start/")
        here.get_by_label("What is it about?").fill("Portraits")
        here.get_by_label("Message").fill("And in June?")
        here.get_by_role("button", name="Send").click()
        here.wait_for_url("**/threads/**")
        live(here)
        there.goto(f"{later.url}/inbox/requests/")
        there.locator(".row-link").click()
        there.get_by_role("button", name="Accept").click()
        expect(here.locator("#compose")).to_be_visible()
        for page in (here, there):
            page.close()


def test_one_may_not_ask_twice_and_those_who_talked_need_not_ask(visit, strangers):
    _, seller, handle = strangers
    buyer = ask(visit, strangers)
    again = visit(strangers[0], f"/people/{handle}/start/", expected_status=403)
    again.get_by_label("What is it about?").fill("Portraits")
    again.get_by_label("Message").fill("Hello again")
    again.get_by_role("button", name="Send").click()
    expect(again.get_by_role("alert").first).to_contain_text("hasn't accepted your request yet")
    expect(again.get_by_label("Message")).to_have_value("Hello again")
    there = open_request(visit(seller))
    there.get_by_role("button", name="Accept").click()
    expect(buyer.locator("#compose")).to_be_visible()
    again.get_by_role("button", name="Send").click()
    again.wait_for_url("**/threads/**")
    expect(live(again).locator("#compose")).to_be_visible()
    there.goto("/inbox/requests/")
    expect(there.get_by_text("No requests")).to_be_visible()
    there.goto("/inbox/")
    expect(there.locator(".row", has_text="Hello again")).to_be_visible()


def test_a_blocked_one_cannot_tell_and_cannot_ask_again(visit, strangers):
    _, seller, handle = strangers
    buyer = ask(visit, strangers)
    shown = room_of(buyer)
    there = open_request(visit(seller))
    there.get_by_role("button", name="Block").click()
    expect(there.get_by_text("They won't be notified.")).to_be_visible()
    buyer.reload()
    live(buyer)
    assert room_of(buyer) == shown
    again = visit(strangers[0], f"/people/{handle}/start/", expected_status=403)
    again.get_by_label("What is it about?").fill("Portraits")
    again.get_by_label("Message").fill("Hello again")
    again.get_by_role("button", name="Send").click()
    expect(again.get_by_role("alert").first).to_contain_text("hasn't accepted your request yet")
    expect(again.get_by_label("Message")).to_have_value("Hello again")


def test_a_new_account_asks_three_in_an_hour_and_keeps_what_it_typed(visit, site):
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
