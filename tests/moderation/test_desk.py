"""The index page of the admin, readable audit entries, and the records of a disputed booking."""

import ast
import inspect
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from contracts.money import format_amount
from moderation.actions import cases as case_actions
from moderation.actions.cases import read_records, resolve_case
from moderation.actions.interventions import CASE_ACTIONS, take_action
from moderation.desk import MAX_LISTED, OVERDUE_AFTER
from moderation.models import AuditEntry, Case
from moderation.sentences import SENTENCES, describe, with_names
from tests.contracts.conftest import book, pay
from tests.moderation.conftest import make_person, make_staff, report, sign_in, taken
from tests.threads.conftest import say, start

INDEX = "/admin/"
Priority = Case.Priority


def make_case(priority=Priority.NORMAL, age=timedelta(), **fields):
    case = Case.objects.create(
        about="person", person=make_person("Rob"), priority=priority, **fields
    )
    Case.objects.filter(pk=case.pk).update(opened_at=timezone.now() - age)
    return case


def desk_of(staff):
    context = sign_in(staff).get(INDEX).context
    return {one.query.partition("=")[2]: one for one in context["desk"]}


# --- The index page


def test_the_desk_lists_cases_by_severity_and_then_by_age(moderator):
    hour = timedelta(hours=1)
    low = make_case(Priority.LOW, 2 * hour)
    newer, older = make_case(age=hour), make_case(age=2 * hour)
    high = make_case(Priority.HIGH)
    listed = [case.id for case in desk_of(moderator)["unassigned"].cases]
    assert listed == [high.id, older.id, newer.id, low.id]


def test_the_desk_shows_what_is_mine_overdue_and_unassigned(moderator):
    mine = make_case(assignee=moderator, status="assigned")
    other = make_case(assignee=make_staff("Ann", "Support"), status="assigned")
    done = make_case(age=timedelta(days=30), assignee=moderator, status="resolved")
    late = [make_case(priority, limit * 1.1) for priority, limit in OVERDUE_AFTER.items()]
    for priority, limit in OVERDUE_AFTER.items():
        make_case(priority, limit * 0.9)
    desk = desk_of(moderator)
    assert [case.id for case in desk["mine"].cases] == [mine.id]
    assert [case.id for case in desk["overdue"].cases] == [case.id for case in late]
    assert desk["unassigned"].count == 6
    shown = {case.id for one in desk.values() for case in one.cases}
    assert not shown & {other.id, done.id}


def test_the_desk_links_to_lists_with_the_same_cases(moderator):
    for _ in range(MAX_LISTED + 2):
        make_case(age=timedelta(days=9))
    client = sign_in(moderator)
    for name, one in desk_of(moderator).items():
        page = client.get(f"{reverse('admin:moderation_case_changelist')}?desk={name}")
        assert page.context["cl"].result_count == one.count
    assert "Show all 14" in client.get(INDEX).content.decode()


def test_the_desk_makes_a_fixed_number_of_queries(moderator):
    client = sign_in(moderator)

    def count():
        with CaptureQueriesContext(connection) as queries:
            assert client.get(INDEX).status_code == 200
        return len(queries)

    count()
    before = count()
    for _ in range(20):
        make_case(age=timedelta(days=9), assignee=moderator, status="assigned")
    assert count() == before


def test_staff_without_a_role_see_no_cases(db):
    make_case()
    page = sign_in(make_staff("Nia")).get(INDEX)
    assert "desk" not in page.context
    assert "Your account has no role yet" in page.content.decode()


def test_only_staff_have_a_link_to_the_desk(moderator, client):
    link = 'href="/admin/"'
    assert link in sign_in(moderator).get("/inbox/").content.decode()
    client.force_login(make_person("Bea"))
    for page in ("/inbox/", "/calendar/"):
        assert link not in client.get(page).content.decode()


# --- The audit


def test_every_action_of_staff_has_a_sentence():
    recorded = {
        node.value
        for node in ast.walk(ast.parse(inspect.getsource(case_actions)))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith(("case.", "thread.", "file.", "records."))
    }
    assert recorded >= {"case.take", "records.read", "file.look"}
    of_verification = {f"verification.{name}" for name in ("approve", "decline", "document")}
    assert set(SENTENCES) == recorded | set(CASE_ACTIONS) | {"case.export"} | of_verification


@pytest.fixture
def case(buyer, seller, thread, moderator):
    message = say(seller, thread, "You fool")
    return taken(moderator, report(buyer, thread, message.id))


def sentences():
    return [describe(entry) for entry in with_names(AuditEntry.objects.order_by("number"))]


@pytest.mark.storage
def test_entries_read_as_sentences(case, moderator, seller):
    message_id = case.reports.get().message_id
    fields = {"case_id": case.id, "target": message_id, "reason": "Insults"}
    take_action(moderator, name="message.hide", **fields)
    person = fields | {"target": seller.id}
    take_action(moderator, name="person.mute", **person, days=7)
    resolve_case(moderator, case_id=case.id, reason="Warned")
    assert sentences() == [
        "Mo took the case.",
        "Mo hid a message: Insults",
        "Mo muted Sam for 7 days: Insults",
        "Mo resolved the case: Warned",
    ]


def test_a_refused_action_says_so(case, moderator):
    fields = {"case_id": case.id, "target": "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV", "reason": "Why"}
    with pytest.raises(Exception, match="THREAD_NOT_FOUND|MSG"):
        take_action(moderator, name="message.hide", **fields)
    assert "was refused" in sentences()[-1]


def test_the_list_of_the_audit_shows_sentences_in_a_fixed_number_of_queries(case, moderator):
    client = sign_in(moderator)
    url = reverse("admin:moderation_auditentry_changelist")

    def count():
        with CaptureQueriesContext(connection) as queries:
            page = client.get(url)
        assert page.status_code == 200
        return len(queries), page.content.decode()

    count()
    before, content = count()
    assert "Mo took the case." in content
    for _ in range(10):
        client.get(reverse("admin:moderation_case_change", args=[case.id]))
    after, content = count()
    assert after == before
    assert "Mo viewed the evidence." in content


def test_the_case_page_shows_its_activity_as_sentences(case, moderator):
    page = sign_in(moderator).get(reverse("admin:moderation_case_change", args=[case.id]))
    assert "Mo took the case." in page.content.decode()


# --- Records of the booking


@pytest.fixture
def disputed(buyer, seller, moderator):
    thread = start(buyer, seller)
    leg = book(thread, buyer, seller)
    pay(leg)
    return taken(moderator, report(buyer, thread)), leg


def page_of(case, staff):
    url = reverse("admin:moderation_case_change", args=[case.id])
    return sign_in(staff).get(url).content.decode()


def test_records_are_shown_once_a_reason_is_recorded(disputed, moderator):
    case, leg = disputed
    assert leg.service not in page_of(case, moderator)
    url = reverse("admin:moderation_case_records", args=[case.id])
    client = sign_in(moderator)
    client.post(url, {"reason": ""})
    assert leg.service not in page_of(case, moderator)
    client.post(url, {"reason": "The buyer disputes the price"})
    entry = AuditEntry.objects.get(act="records.read")
    assert (entry.actor, entry.reason) == (moderator.id, "The buyer disputes the price")
    page = page_of(case, moderator)
    for part in (
        leg.service,
        format_amount(leg.price_cents, leg.currency),
        "Payment",
        "Version 1",
        leg.place,
    ):
        assert part in page, part


def test_records_need_the_assignee_and_an_open_case(disputed, moderator):
    case, leg = disputed
    read_records(moderator, case_id=case.id, reason="The price")
    colleague = make_staff("Ann", "Trust and safety")
    taken(colleague, case)
    assert leg.service not in page_of(case, moderator), "Another staff member has taken it."
    assert leg.service not in page_of(case, colleague), "They have given no reason."
    read_records(colleague, case_id=case.id, reason="The price")
    assert leg.service in page_of(case, colleague)
    resolve_case(colleague, case_id=case.id, reason="Done")
    assert leg.service not in page_of(case, colleague)


def test_a_case_without_a_booking_offers_no_records(case, moderator):
    assert "Read records" not in page_of(case, moderator)
