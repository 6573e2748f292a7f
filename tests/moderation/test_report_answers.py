"""Reporters are informed of the outcome of their reports; no other user learns of a report."""

import pytest
from django.test import Client

from accounts.models import User
from moderation.actions.cases import reopen_case, resolve_case
from moderation.actions.interventions import take_action
from moderation.actions.reports import report_person
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
    message = say(seller, thread, "You fool")
    return taken(moderator, report(buyer, thread, message.id, comment="A secret of mine"))


def resolve_with(staff, case, answer: str, outcome: str = "Muted Sam for a week") -> None:
    answers = {one.pk: answer for one in case.reports.all()}
    resolve_case(staff, case_id=case.id, reason=outcome, answers=answers)


def test_the_reporter_sees_the_outcome_but_no_sanctions(
    case, thread, buyer, seller, moderator, delivered
):
    assert "We're reviewing it." in page(buyer)
    take_action(
        moderator, case_id=case.id, name="person.mute", target=seller.id, reason="Rude", days=7
    )
    resolve_with(moderator, case, "acted")
    assert [event["type"] for event in delivered.to(buyer, "report.answered")] == [
        "report.answered"
    ]
    assert "answered your report" in page(buyer, "/inbox/")
    assert "New answer" in page(buyer, "/settings/")
    shown = page(buyer)
    assert "We found a breach of our rules and took action." in shown
    assert "A message in “A wedding in May”" in shown
    for secret in ("Muted", "week", "Rude", "A secret of mine", moderator.display_name, case.id):
        assert secret not in shown
    assert "answered your report" not in page(buyer, "/inbox/"), "It has been read."


def test_other_users_do_not_learn_of_the_report(
    case, thread, seller, stranger, moderator, delivered
):
    resolve_with(moderator, case, "acted")
    for other in (seller, stranger):
        assert delivered.to(other, "report.answered") == []
        assert "haven't reported anything" in page(other)
        assert "has answered" not in page(other, "/inbox/")
    assert "report" not in str(delivered.to(seller, "thread.changed"))


def test_two_users_who_reported_each_other_see_only_their_own_answer(
    case, thread, buyer, seller, moderator
):
    report(seller, thread, reason="fraud", comment="He does not pay")
    one, other = case.reports.all()
    answers = {one.pk: "acted", other.pk: "no_breach"}
    resolve_case(moderator, case_id=case.id, reason="Done", answers=answers)
    assert "took action" in page(buyer)
    assert "no breach" not in page(buyer)
    assert "no breach" in page(seller)
    assert "took action" not in page(seller)
    assert buyer.display_name not in page(seller).split("<h1>")[1].split("</main>")[0]


def test_a_reopened_case_is_in_review_again_and_answered_again(case, buyer, moderator):
    resolve_with(moderator, case, "no_breach")
    page(buyer)
    reopen_case(moderator, case_id=case.id, reason="More came to light")
    assert "We're reviewing it again." in page(buyer)
    assert "no breach" not in page(buyer)
    resolve_with(moderator, case, "acted")
    assert User.objects.get(pk=buyer.pk).has_new_report_answer
    assert "took action" in page(buyer)


def test_a_report_about_a_profile_is_answered(buyer, seller, moderator):
    case = taken(moderator, report_person(buyer, person=seller, reason="fraud", comment=""))
    resolve_with(moderator, case, "unclear")
    assert f"{seller.display_name}&#x27;s profile" in page(buyer)
    assert "tell from what we have" in page(buyer)


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
