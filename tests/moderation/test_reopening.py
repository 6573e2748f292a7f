"""Evidence is readable only by the assignee of an open case; a resolved case can be reopened."""

import io

import pytest
from django.urls import reverse

from accounts.models import User
from contracts.models.cards import ClockStop
from core.refusals import Refusal
from files.actions import accept_file
from moderation import export
from moderation.actions import cases as actions
from moderation.actions.cases import resolve_case, take_case
from moderation.actions.interventions import take_action
from moderation.models import AuditEntry, Case
from tests.moderation.conftest import make_staff, report, sign_in, taken
from tests.threads.conftest import say, thread_item

pytestmark = pytest.mark.storage

SECRET = "What only the two of us know"


@pytest.fixture
def file(thread, seller):
    return accept_file(seller, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))


@pytest.fixture
def case(thread, buyer, seller, moderator, file):
    message = say(seller, thread, SECRET, attachments=[file.id])
    return taken(moderator, report(buyer, thread, message.id))


@pytest.fixture
def superuser(db):
    staff = make_staff("Root")
    User.objects.filter(pk=staff.pk).update(is_superuser=True)
    return User.objects.get(pk=staff.pk)


def page(staff, case) -> str:
    address = reverse("admin:moderation_case_change", args=[case.id])
    return sign_in(staff).get(address).content.decode()


def post(staff, case, name, **data):
    return sign_in(staff).post(reverse(f"admin:moderation_case_{name}", args=[case.id]), data)


def reads(staff, case, file) -> set[str]:
    """Lists the pages and downloads through which a user can read the evidence."""
    address = reverse("admin:moderation_case_file", args=[case.id, file.id])
    ways = {
        "page": SECRET in page(staff, case),
        "file": sign_in(staff).get(address).status_code == 200,
        "read": SECRET in post(staff, case, "read", reason="Why").content.decode(),
        "export": post(staff, case, "export", reason="Why").status_code == 200,
    }
    return {name for name, is_open in ways.items() if is_open}


ALL = {"page", "file", "read", "export"}


def test_evidence_is_read_by_the_assignee_while_the_case_is_open(
    case, file, moderator, support, superuser
):
    assert reads(moderator, case, file) == ALL
    assert reads(support, case, file) == reads(superuser, case, file) == set()
    resolve_case(moderator, case_id=case.id, reason="Warned them")
    assert reads(moderator, case, file) == reads(superuser, case, file) == set()
    with pytest.raises(Refusal):
        export.export_case(moderator, case_id=case.id, reason="Again")
    with pytest.raises(Refusal):
        actions.read_more(moderator, case_id=case.id, reason="Again", before="")
    text = page(moderator, case)
    assert "Warned them" in text
    assert "Reopen" in text


def test_a_reassigned_case_is_closed_to_its_previous_assignee(case, file, moderator, support):
    take_case(support, case_id=case.id)
    assert reads(moderator, case, file) == set()
    assert reads(support, case, file) == ALL - {"export"}


def test_a_reopened_case_offers_everything_again(case, thread, file, moderator, support):
    take_action(moderator, case_id=case.id, name="thread.lock", reason="Threats.")
    resolve_case(moderator, case_id=case.id, reason="Locked for good")
    assert not ClockStop.objects.filter(thread_id=thread, why="case").exists()
    with pytest.raises(Refusal):
        take_action(moderator, case_id=case.id, name="thread.unlock", reason="They made up")
    assert post(moderator, case, "reopen").status_code == 302
    assert Case.objects.get(pk=case.pk).status == "resolved", "A reason is needed."
    post(moderator, case, "reopen", reason="They made up")
    again = Case.objects.get(pk=case.pk)
    assert (again.status, again.assignee, again.resolved_at) == ("assigned", moderator, None)
    assert reads(moderator, case, file) == ALL
    assert "Unlock" in page(moderator, case)
    assert ClockStop.objects.filter(thread_id=thread, why="case").exists()
    take_action(moderator, case_id=case.id, name="thread.unlock", reason="They made up")
    assert thread_item(thread).status == "open"
    entry = AuditEntry.objects.get(act="case.reopen")
    assert (entry.actor, entry.case, entry.reason) == (moderator.id, case.id, "They made up")


def test_reopening_a_case_assigns_it(case, file, moderator, support):
    resolve_case(moderator, case_id=case.id, reason="Done")
    actions.reopen_case(support, case_id=case.id, reason="More came to light")
    assert Case.objects.get(pk=case.pk).assignee == support
    assert reads(moderator, case, file) == set()


def test_an_open_case_is_not_reopened(case, support, moderator):
    with pytest.raises(Refusal) as refusal:
        actions.reopen_case(support, case_id=case.id, reason="Mine")
    assert refusal.value.code == "ACTION_INVALID_STATE"
    assert Case.objects.get(pk=case.pk).assignee == moderator


def test_one_case_of_a_conversation_is_open_at_a_time(case, thread, buyer, moderator):
    resolve_case(moderator, case_id=case.id, reason="Done")
    newer = report(buyer, thread, comment="It goes on")
    with pytest.raises(Refusal, match=newer.id) as refusal:
        actions.reopen_case(moderator, case_id=case.id, reason="It goes on")
    assert refusal.value.code == "ACTION_INVALID_STATE"
    assert Case.objects.get(pk=case.pk).status == "resolved"


def test_a_resolved_case_cannot_be_resolved_again(case, moderator):
    resolve_case(moderator, case_id=case.id, reason="First")
    with pytest.raises(Refusal):
        resolve_case(moderator, case_id=case.id, reason="Second")
    assert Case.objects.get(pk=case.pk).outcome == "First"
