"""Creates a booking by HTTP requests, for tests that start with an existing one.

test_project.py and test_booking_lifecycle.py fill in the forms themselves.
"""

import re
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit
from uuid import uuid4

from playwright.sync_api import APIResponse, Page, expect

ACCEPT = re.compile(r"/cards/card_\w+/accept/")
REVIEWED = re.compile(r'name="reviewed" value="([^"]+)"')


def post(page: Page, path: str, fields: dict[str, str]) -> APIResponse:
    """Submits a form of the page without leaving the page."""
    token = page.locator("[name=csrfmiddlewaretoken]").first.input_value()
    form = {"csrfmiddlewaretoken": token, **fields}
    return page.request.post(path, form=form, max_redirects=0)


def make_offer(seller: Page) -> str:
    """Makes an offer from the thread page; returns the path of its message."""
    path = urlsplit(seller.url).path
    starts_at = (datetime.now(UTC) + timedelta(days=14)).replace(hour=10, minute=0)
    leg = {
        "service": "Portraits of the team",
        "starts_at": f"{starts_at:%Y-%m-%dT%H:%M}",
        "ends_at": f"{starts_at + timedelta(hours=6):%Y-%m-%dT%H:%M}",
        "place": "Lisbon",
        "price": "1200",
        "deposit": "400",
        "cancellation": "moderate",
    }
    fields = {"key": str(uuid4()), "title": "Something to measure", "currency": "EUR"}
    fields |= {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1"}
    fields |= {f"form-0-{name}": value for name, value in leg.items()}
    review = post(seller, f"{path}offer/", fields)
    reviewed = REVIEWED.search(review.text())
    assert reviewed, review.text()
    made = post(seller, f"{path}offer/", fields | {"reviewed": reviewed[1]})
    assert made.status == 302, made.text()
    return made.headers["location"]


def answer_offer(page: Page, label: str) -> None:
    """Answers the open offer in the conversation, with or without scripts."""
    card = page.locator(".action-card[data-state=pending]", has=page.locator(".offer"))
    card.get_by_role("link", name=label).click()
    page.get_by_role("button", name=label, exact=True).click()


def book(buyer: Page, seller: Page) -> None:
    """Makes and accepts an offer; both users have the thread page open."""
    message = make_offer(seller)
    card = ACCEPT.search(buyer.request.get(message).text())
    assert card
    accepted = post(buyer, card[0], {"version": "1", "key": "accept-1"})
    assert accepted.status == 302, accepted.text()
    buyer.goto(accepted.headers["location"])
    for page in (buyer, seller):
        expect(page.locator("[data-panel] [data-tab-body=overview]")).to_be_visible()
        # Most tests edit the brief.
        if page.locator("html[data-scripted]").count():
            page.locator("nav [data-show-tab=brief]").click()
