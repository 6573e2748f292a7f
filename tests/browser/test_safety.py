"""Blocked, reported, hidden, locked: seen at once on both screens."""

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import live, write
from tests.browser.test_changes import act, last, say
from tests.browser.test_changes import two as two  # noqa: PLC0414
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
    act(page, last(page), "Report")
    page.get_by_label("What's wrong?").select_option("harassment")
    page.get_by_label("What should we know?").fill("He insults me")
    page.get_by_role("button", name="Report").click()
    expect(page.get_by_text("Our safety team will review it")).to_be_visible()


def fold(page: Page, place, label: str, **fields: str) -> None:
    opened = place.locator(
        "details", has=page.locator("summary", has_text=re.compile(f"^{label}$"))
    )
    opened.first.locator("summary").click()
    for name, value in fields.items():
        opened.first.locator(f"[name={name}]").fill(value)
    # The page before may say so, too: only what is said by the next one counts.
    with page.expect_navigation():
        opened.first.get_by_role("button").click()
    expect(page.get_by_text("Done.", exact=True)).to_be_visible()


def open_case(page: Page, thread: str) -> None:
    """The one about this conversation, whatever else waits in the queue."""
    page.goto(f"/admin/moderation/case/?q={thread}")
    page.locator("#result_list tbody th a").click()


def conversation_of(page: Page) -> Locator:
    return page.locator("section", has=page.get_by_role("heading", name="Conversation", exact=True))


def test_staff_hide_a_reported_message_and_it_disappears_on_both_screens(
    visit, site, pair, two, moderator
):
    buyer, seller = two
    say(seller, "You utter fool", buyer)
    reporting = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    report_last(reporting)
    # Nothing is hidden from whoever reported, and the other one learns nothing.
    expect(last(buyer)).to_contain_text("You utter fool")

    staff = visit(moderator, "/admin/moderation/case/")
    open_case(staff, pair.thread)
    expect(staff.locator(".case")).not_to_contain_text("You utter fool")
    staff.get_by_role("button", name="Take this case").click()
    reported = staff.locator(".case-message.is-reported")
    expect(reported).to_contain_text("You utter fool")
    fold(staff, reported, "Hide", reason="An insult")
    for page in (buyer, seller):
        expect(last(page)).to_contain_text("Our safety team hid this message.")
        assert "You utter fool" not in page.locator("[data-timeline]").inner_text()

    conversation = conversation_of(staff)
    fold(staff, conversation, "Lock", reason="Please keep calm.")
    for page in (buyer, seller):
        expect(page.locator("[data-banners]")).to_contain_text("Please keep calm.")
        expect(page.get_by_role("button", name="Send")).to_be_hidden()
    fold(staff, conversation, "Unlock", reason="They have calmed down")
    write(buyer, "Let us begin anew")
    expect(last(seller)).to_contain_text("Let us begin anew")


def test_who_was_away_when_it_was_locked_sees_it_on_return(visit, pair, two, moderator):
    buyer, seller = two
    say(seller, "You fool", buyer)
    reporting = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    report_last(reporting)
    seller.context.set_offline(True)
    seller.evaluate("sockets.at(-1).close()")
    expect(seller.locator("html")).to_have_attribute("data-live", "no")
    staff = visit(moderator, "/admin/moderation/case/")
    open_case(staff, pair.thread)
    staff.get_by_role("button", name="Take this case").click()
    fold(staff, conversation_of(staff), "Lock", reason="Keep calm.")
    seller.context.set_offline(False)
    expect(seller.locator("[data-banners]")).to_contain_text("Keep calm.")
    expect(seller.get_by_role("button", name="Send")).to_be_hidden()


def test_a_block_is_seen_live_on_every_page_of_both(visit, pair, two):
    buyer, seller = two
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


def test_the_word_is_said_even_if_the_message_is_seen_before_the_answer(visit, pair):
    seller = live(visit(pair.seller, f"/threads/{pair.thread}/", echo_first=True))
    write(seller, "Call me on 0171 3920042")
    expect(last(seller)).to_contain_text("0171 3920042")
    note = seller.locator("[data-composer-error]")
    expect(note).to_contain_text("This looks like a telephone number")


def test_from_a_word_to_a_pause_to_a_block_with_the_author_told_why(visit, pair, two):
    buyer, seller = two
    write(seller, "Call me on 0171 3920042")
    expect(last(buyer)).to_contain_text("0171 3920042")
    note = seller.locator("[data-composer-error]")
    expect(note).to_contain_text("This looks like a telephone number")
    expect(buyer.locator("[data-composer-error]")).to_be_empty()
    write(seller, "Or mail me@lumenfold.example, pay me by PayPal, 0171 3920042, no fee for us")
    failed = seller.locator(".message.failed")
    expect(failed).to_contain_text("Not sent: this looks like")
    expect(failed).to_contain_text("it protects you both")
    # What was typed is still there. Its author waits for staff, and nobody else does.
    expect(failed).to_contain_text("me@lumenfold.example")
    expect(seller.get_by_text("You can't send messages here for now.")).to_be_visible()
    write(buyer, "Are you still there?")
    expect(last(seller)).to_contain_text("Are you still there?")
    expect(buyer.get_by_text("You can't send messages here for now.")).to_have_count(0)
    assert "me@lumenfold.example" not in buyer.locator("[data-timeline]").inner_text()
