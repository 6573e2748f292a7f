"""Blocks, reports, hidden messages and locks, shown live on both screens."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import live, write
from tests.browser.test_changes import last, press_action, send_and_wait
from tests.browser.test_changes import two_pages as two_pages  # noqa: PLC0414
from tests.site import Account, Site

pytestmark = pytest.mark.browser

STAFF = """
import json
from importlib import import_module
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group
from accounts.models import User
from uuid import uuid4
tag = "mo-" + uuid4().hex[:10]
user = User.objects.create_user(f"{tag}@x.example", "a long password", handle=tag,
                                display_name="Mo", is_staff=True)
user.groups.add(Group.objects.get(name="Trust and safety"))
session = import_module(settings.SESSION_ENGINE).SessionStore()
session[SESSION_KEY] = user.pk
session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
session[HASH_SESSION_KEY] = user.get_session_auth_hash()
session["account_authentication_methods"] = [{"method": "mfa", "at": 1.0}]
session["account_authentication_methods_user"] = user.pk
session.save()
print(json.dumps([user.id, user.email, "", session.session_key]))
"""


@pytest.fixture(scope="module")
def moderator(site: Site) -> Account:
    return Account(*json.loads(site.manage("shell", "-v", "0", "-c", STAFF).splitlines()[-1]))


def report_last(page: Page) -> None:
    press_action(page, last(page), "Report")
    page.get_by_label("What's wrong?").select_option("harassment")
    page.get_by_label("What should we know?").fill("He insults me")
    page.get_by_role("button", name="Report").click()
    expect(page.get_by_text("Our safety team will review it")).to_be_visible()


def submit_action(page: Page, place, label: str, **fields: str) -> None:
    opened = place.locator(
        "details", has=page.locator("summary", has_text=re.compile(f"^{label}$"))
    )
    opened.first.locator("summary").click()
    for name, value in fields.items():
        opened.first.locator(f"[name={name}]").fill(value)
    # Wait for the next page, since the previous one may show the same text.
    with page.expect_navigation():
        opened.first.get_by_role("button").click()
    expect(page.get_by_text("Done.", exact=True)).to_be_visible()


def open_case(page: Page, thread: str) -> None:
    """Opens the case of this thread in the queue."""
    page.goto(f"/admin/moderation/case/?q={thread}")
    page.locator("#result_list tbody th a").click()


def thread_section(page: Page) -> Locator:
    return page.locator("section", has=page.get_by_role("heading", name="Conversation", exact=True))


def test_staff_hide_a_reported_message_and_it_disappears_on_both_screens(
    visit, site, pair, two_pages, moderator
):
    buyer, seller = two_pages
    send_and_wait(seller, "You utter fool", buyer)
    reporting = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    report_last(reporting)
    # The reporter still sees the message, and its author is not notified.
    expect(last(buyer)).to_contain_text("You utter fool")

    staff = visit(moderator, "/admin/moderation/case/")
    open_case(staff, pair.thread)
    expect(staff.locator(".case")).not_to_contain_text("You utter fool")
    staff.get_by_role("button", name="Take this case").click()
    reported = staff.locator(".case-message.is-reported")
    expect(reported).to_contain_text("You utter fool")
    submit_action(staff, reported, "Hide", reason="An insult")
    for page in (buyer, seller):
        expect(last(page)).to_contain_text("Our safety team hid this message.")
        assert "You utter fool" not in page.locator("[data-timeline]").inner_text()

    conversation = thread_section(staff)
    submit_action(staff, conversation, "Lock", reason="Please keep calm.")
    for page in (buyer, seller):
        expect(page.locator("[data-banners]")).to_contain_text("Please keep calm.")
        expect(page.get_by_role("button", name="Send")).to_be_hidden()
    submit_action(staff, conversation, "Unlock", reason="They have calmed down")
    write(buyer, "Let us begin anew")
    expect(last(seller)).to_contain_text("Let us begin anew")


def test_a_user_who_was_offline_sees_the_lock_on_return(visit, pair, two_pages, moderator):
    buyer, seller = two_pages
    send_and_wait(seller, "You fool", buyer)
    reporting = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    report_last(reporting)
    seller.context.set_offline(True)
    seller.evaluate("sockets.at(-1).close()")
    expect(seller.locator("html")).to_have_attribute("data-live", "no")
    staff = visit(moderator, "/admin/moderation/case/")
    open_case(staff, pair.thread)
    staff.get_by_role("button", name="Take this case").click()
    submit_action(staff, thread_section(staff), "Lock", reason="Keep calm.")
    seller.context.set_offline(False)
    expect(seller.locator("[data-banners]")).to_contain_text("Keep calm.")
    expect(seller.get_by_role("button", name="Send")).to_be_hidden()


def test_a_block_is_shown_live_on_every_page_of_both_users(visit, pair, two_pages):
    buyer, seller = two_pages
    second = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    seller.locator("[popovertarget=thread-menu]").click()
    seller.locator("#thread-menu").get_by_role("button", name=re.compile("^Block")).click()
    expect(seller.locator("[data-banners]")).to_contain_text("You blocked")
    for page in (buyer, second):
        expect(page.get_by_text("You can't message each other.")).to_be_visible()
        expect(page.get_by_role("button", name="Send")).to_be_hidden()
    seller.locator("[data-banners]").get_by_role("button", name="Unblock").click()
    for page in (buyer, second):
        expect(page.get_by_role("button", name="Send")).to_be_visible()
    write(buyer, "Thank you")
    expect(last(live(seller))).to_contain_text("Thank you")


def test_the_warning_is_shown_even_if_the_event_arrives_before_the_acknowledgement(visit, pair):
    seller = live(visit(pair.seller, f"/threads/{pair.thread}/", echo_first=True))
    write(seller, "Call me on 0171 3920042")
    expect(last(seller)).to_contain_text("0171 3920042")
    note = seller.locator("[data-composer-error]")
    expect(note).to_contain_text("This looks like a telephone number")


def test_contact_details_are_first_warned_about_then_blocked_with_a_reason(visit, pair, two_pages):
    buyer, seller = two_pages
    write(seller, "Call me on 0171 3920042")
    expect(last(buyer)).to_contain_text("0171 3920042")
    note = seller.locator("[data-composer-error]")
    expect(note).to_contain_text("This looks like a telephone number")
    expect(buyer.locator("[data-composer-error]")).to_be_empty()
    write(seller, "Or mail me@lumenfold.example, pay me by PayPal, 0171 3920042, no fee for us")
    failed = seller.locator(".message.failed")
    expect(failed).to_contain_text("Not sent: this looks like")
    expect(failed).to_contain_text("It protects you both")
    # The typed text is kept. Only its author is held until staff decide.
    expect(failed).to_contain_text("me@lumenfold.example")
    expect(seller.get_by_text("You can't send messages here for now.")).to_be_visible()
    write(buyer, "Are you still there?")
    expect(last(seller)).to_contain_text("Are you still there?")
    expect(buyer.get_by_text("You can't send messages here for now.")).to_have_count(0)
    assert "me@lumenfold.example" not in buyer.locator("[data-timeline]").inner_text()
