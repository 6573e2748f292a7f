"""Cards that call staff: shown to both users, decided in the admin, then active again."""

from playwright.sync_api import Locator, Page, expect

from tests.browser.test_cards import booked, call_staff, card, propose  # noqa: F401
from tests.browser.test_cards import pytestmark as pytestmark  # noqa: PLC0414
from tests.browser.test_safety import moderator, open_case, submit_action  # noqa: F401


def open_card_case(page: Page) -> Locator:
    return page.locator("section", has=page.get_by_role("heading", name="Needs a decision"))


def test_a_dispute_is_shown_to_both_and_the_booking_continues_after_the_decision(
    visit,
    pair,
    booked,  # noqa: F811
    moderator,  # noqa: F811
):
    buyer, seller = booked
    dialog = call_staff(buyer, "Open a dispute")
    dialog.get_by_label("Not as agreed").check()
    dialog.get_by_label("What happened").fill("Half of it is missing.")
    dialog.get_by_role("button", name="Open a dispute").click()
    expect(dialog).to_be_hidden()
    for page in booked:
        shown = card(page, "open")
        expect(shown).to_contain_text("Half of it is missing.")
        expect(shown).to_contain_text("Our safety team is reviewing this")
        expect(page.get_by_role("button", name="Send")).to_be_visible()

    staff = visit(moderator, "/admin/moderation/case/")
    open_case(staff, pair.thread)
    staff.get_by_role("button", name="Take this case").click()
    expect(open_card_case(staff)).to_contain_text("not as agreed")
    submit_action(staff, open_card_case(staff), "Decide", reason="The rest is delivered by Friday.")
    expect(open_card_case(staff)).to_have_count(0)
    for page in booked:
        expect(card(page, "resolved").locator("summary")).to_contain_text("Resolved")
        notice = page.locator(
            ".message[data-type=system]", has_text="The rest is delivered by Friday."
        )
        expect(notice).to_be_visible()

    dialog = propose(seller, "Propose overtime")
    dialog.get_by_label("Minutes").fill("60")
    dialog.get_by_role("button", name="Review").click()
    dialog.get_by_role("button", name="Propose overtime").click()
    card(buyer, "pending").get_by_role("button", name="Accept").click()
    expect(card(seller, "accepted")).to_be_visible()


def test_a_safety_call_stops_the_conversation_until_staff_have_decided(
    visit,
    pair,
    booked,  # noqa: F811
    moderator,  # noqa: F811
):
    buyer, seller = booked
    dialog = call_staff(buyer, "Get help from our safety team")
    dialog.get_by_label("Harassment or insults").check()
    dialog.get_by_label("What happened").fill("He shouts at me.")
    dialog.get_by_role("button", name="Get help from our safety team").click()
    for page in booked:
        expect(card(page, "open")).to_contain_text("Our safety team has been asked for help")
        expect(page.locator("[data-banners]")).to_contain_text("on hold")
        expect(page.get_by_role("button", name="Send")).to_be_hidden()
    assert "He shouts at me." not in seller.content()

    staff = visit(moderator, "/admin/moderation/case/")
    open_case(staff, pair.thread)
    staff.get_by_role("button", name="Take this case").click()
    expect(staff.locator(".case")).to_contain_text("He shouts at me.")
    submit_action(staff, open_card_case(staff), "Decide", reason="We have spoken with both.")
    for page in booked:
        expect(card(page, "resolved")).to_be_visible()
        expect(page.get_by_role("button", name="Send")).to_be_visible()
