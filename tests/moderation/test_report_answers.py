"""Reporters learn what came of their reports; nobody else learns that they reported anything."""

import pytest
from django.test import Client

from accounts.models import User
from moderation.actions import reopen_case, resolve_case, take_action
from moderation.reports import report_person
from tests.moderation.conftest import BACKEND, report, sign_in, taken
from tests.threads.conftest import say

pytestmark = pytest.mark.storage

ADDRESS = "/settings/reports/"


def page(user, address: str = ADDRESS) -> str:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get(address).content.decode()


@pytest.fixture
def case(thread, buyer, seller, moderator):
    said = say(seller, thread, "You fool")
    return taken(moderator, report(buyer, thread, said.id, comment="A secret of mine"))


def close(staff, case, answer: str, outcome: str = "Muted Sam for a week") -> None:
    answers = {one.pk: answer for one in case.reports.all()}
    resolve_case(staff, case_id=case.id, reason=outcome, answers=answers)


def test_the_reporter_is_told_the_outcome_and_nothing_of_sanctions(
    case, thread, buyer, seller, moderator, delivered
):
    assert "We are looking at it." in page(buyer)
    take_action(
        moderator, case_id=case.id, name="person.mute", target=seller.id, reason="Rude", days=7
    )
    close(moderator, case, "acted")
    assert [event["type"] for event in delivered.to(buyer, "report.answered")] == [
        "report.answered"
    ]
    assert "has answered a report of yours" in page(buyer, "/inbox/")
    assert "New answer" in page(buyer, "/settings/")
    shown = page(buyer)
    assert "We found a breach of our rules and acted on it." in shown
    assert "A message in “A wedding in May”" in shown
    for secret in ("Muted", "week", "Rude", "A secret of mine", moderator.display_name, case.id):
        assert secret not in shown
    assert "has answered a report of yours" not in page(buyer, "/inbox/"), "It has been read."


def test_nobody_else_learns_that_there_was_a_report(
    case, thread, seller, stranger, moderator, delivered
):
    close(moderator, case, "acted")
    for other in (seller, stranger):
        assert delivered.to(other, "report.answered") == []
        assert "have not reported anything" in page(other)
        assert "has answered" not in page(other, "/inbox/")
    assert "report" not in str(delivered.to(seller, "thread.changed"))


def test_of_two_who_reported_each_other_each_sees_their_own_answer(
    case, thread, buyer, seller, moderator
):
    report(seller, thread, reason="fraud", comment="He does not pay")
    one, other = case.reports.all()
    answers = {one.pk: "acted", other.pk: "no_breach"}
    resolve_case(moderator, case_id=case.id, reason="Done", answers=answers)
    assert "acted on it" in page(buyer)
    assert "no breach" not in page(buyer)
    assert "no breach" in page(seller)
    assert "acted on it" not in page(seller)
    assert buyer.display_name not in page(seller).split("<h1>")[1].split("</main>")[0]


def test_a_reopened_case_is_in_review_again_and_answered_again(case, buyer, moderator):
    close(moderator, case, "no_breach")
    page(buyer)
    reopen_case(moderator, case_id=case.id, reason="More came to light")
    assert "We are looking at it again." in page(buyer)
    assert "no breach" not in page(buyer)
    close(moderator, case, "acted")
    assert User.objects.get(pk=buyer.pk).has_new_report_answer
    assert "acted on it" in page(buyer)


def test_a_report_about_a_profile_is_answered(buyer, seller, moderator):
    case = taken(moderator, report_person(buyer, person=seller, reason="fraud", comment=""))
    close(moderator, case, "unclear")
    assert f"The profile of {seller.display_name}" in page(buyer)
    assert "We could not tell" in page(buyer)


def test_staff_choose_an_answer_for_each_reporter(case, buyer, moderator):
    address = f"/admin/moderation/case/{case.id}/resolve/"
    sign_in(moderator).post(address, {"reason": "Done"})
    case.refresh_from_db()
    assert case.is_open, "Without an answer nothing is resolved."
    field = f"answer_{case.reports.get().pk}"
    sign_in(moderator).post(address, {"reason": "Done", field: "no_breach"})
    case.refresh_from_db()
    assert not case.is_open
    assert "no breach" in page(buyer)
