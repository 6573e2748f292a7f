"""Access to the admin: every page for every kind of staff.

A page without a row fails. "in" redirects to sign-in or to a second factor; "head" is the page of a
case without its evidence, "all" includes the evidence.
"""

import io
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from django.contrib.admin.utils import quote
from django.contrib.auth.models import Group
from django.http import HttpResponse
from django.test import Client
from django.urls import get_resolver, reverse

from accounts.models import User
from core.outbox.models import OutboxEntry
from files.actions import accept_file
from moderation.models import AuditEntry, Case
from people.models import VerificationRequest
from people.verification import request_verification
from tests.moderation.conftest import make_person, make_staff, report, sign_in, taken
from tests.test_access import names
from tests.threads.conftest import messages_of, say, start

SECRET = "What only the two of us know"
KINDS = (
    "anonymous",  # not signed in
    "user",  # not staff
    "one factor",  # trust and safety, signed in with a password only
    "no role",  # staff without a role
    "support",  # not the assignee of the case
    "support with it",
    "safety",  # trust and safety, not the assignee
    "safety with it",
    "superuser",  # not the assignee
)


@dataclass
class Scenario:
    staff: dict[str, User | None]
    cases: dict[str, Case]
    verification: VerificationRequest

    def case_for(self, kind: str) -> Case:
        return self.cases.get(kind, self.cases["support with it"])


@pytest.fixture
def scenario(db: None) -> Scenario:
    staff: dict[str, User | None] = {
        "anonymous": None,
        "user": make_person("Pat"),
        "one factor": make_staff("Ole", "Trust and safety"),
        "no role": make_staff("Nia"),
        "support": make_staff("Sy", "Support"),
        "support with it": make_staff("Sue", "Support"),
        "safety": make_staff("Tor", "Trust and safety"),
        "safety with it": make_staff("Tia", "Trust and safety"),
        "superuser": make_staff("Root"),
    }
    User.objects.filter(pk=staff["superuser"].pk).update(is_superuser=True)
    staff["superuser"] = User.objects.get(pk=staff["superuser"].pk)
    cases = {kind: _case_of(staff[kind]) for kind in ("support with it", "safety with it")}
    words = io.BytesIO(b"Words")
    verification = request_verification(
        make_person("Vera"), link="https://vera.example", document=words, name="a.txt"
    )
    return Scenario(staff, cases, verification)


def _case_of(assignee: User) -> Case:
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    photo = accept_file(seller, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))
    message = say(seller, thread, SECRET, attachments=[photo.id])
    return taken(assignee, report(buyer, thread, message.id))


def file_of(case: Case) -> str:
    return messages_of(case.thread_id)[-1].attachments[0]["id"]


def row(*expected: object) -> dict[str, object]:
    return dict(zip(KINDS, expected, strict=True))


#            anon. user  1 fact. role  supp.  with   safety with   root
INSIDE = row("in", 403, "in", 200, 200, 200, 200, 200, 200)
SUPER = row("in", 403, "in", 403, 403, 403, 403, 403, 200)
NEVER = row("in", 403, "in", 403, 403, 403, 403, 403, 403)
QUEUE = row("in", 403, "in", 403, 200, 200, 200, 200, 200)
AUDIT = row("in", 403, "in", 403, 403, 403, 200, 200, 200)
HOLDERS = row("in", 403, "in", 404, 403, 302, 403, 302, 403)

ROWS: dict[str, dict[str, object]] = {
    "index": INSIDE,
    "login": row("in", 403, "in", 302, 302, 302, 302, 302, 302),
    "logout": row(302, 302, 302, 200, 200, 200, 200, 200, 200),
    "password_change": INSIDE,
    "password_change_done": INSIDE,
    "jsi18n": INSIDE,
    "autocomplete": NEVER,
    "view_on_site": row("in", 403, "in", 404, 404, 404, 404, 404, 404),
    "app_list": row("in", 403, "in", 404, 200, 200, 200, 200, 200),
    "None": row("in", 403, "in", 404, 404, 404, 404, 404, 404),
    "moderation_case_changelist": QUEUE,
    "moderation_case_change": row("in", 403, "in", 404, "head", "all", "head", "all", "head"),
    "moderation_case_take": row("in", 403, "in", 404, 302, 302, 302, 302, 302),
    "moderation_case_act": HOLDERS | dict.fromkeys(("support", "safety", "superuser"), 302),
    "moderation_case_file": row("in", 403, "in", 404, 404, 200, 404, 200, 404),
    "moderation_case_note": HOLDERS,
    "moderation_case_read": HOLDERS | {"support with it": "all", "safety with it": "all"},
    "moderation_case_records": HOLDERS,
    "moderation_case_resolve": HOLDERS,
    "moderation_case_reopen": row("in", 403, "in", 404, 302, 302, 302, 302, 302),
    "moderation_case_export": HOLDERS | {"support with it": 403, "safety with it": 200},
    "moderation_case_add": NEVER,
    "moderation_case_delete": NEVER,
    "moderation_case_history": QUEUE,
    "moderation_auditentry_changelist": AUDIT,
    "moderation_auditentry_change": AUDIT,
    "moderation_auditentry_history": AUDIT,
    "moderation_auditentry_add": NEVER,
    "moderation_auditentry_delete": NEVER,
    "accounts_user_changelist": SUPER,
    "accounts_user_change": SUPER,
    "accounts_user_history": SUPER,
    "accounts_user_add": NEVER,
    "accounts_user_delete": NEVER,
    "accounts_outboxentry_changelist": SUPER,
    "accounts_outboxentry_change": SUPER,
    "accounts_outboxentry_history": SUPER,
    "accounts_outboxentry_add": NEVER,
    "accounts_outboxentry_delete": NEVER,
}
ROWS |= {
    "people_verificationrequest_changelist": QUEUE,
    "people_verificationrequest_change": row("in", 403, "in", 404, 200, 200, 200, 200, 200),
    "people_verificationrequest_history": QUEUE,
    "people_verificationrequest_decide": row("in", 403, "in", 404, 302, 302, 302, 302, 302),
    "people_verificationrequest_document": row("in", 403, "in", 404, 200, 200, 200, 200, 200),
    "people_verificationrequest_add": NEVER,
    "people_verificationrequest_delete": NEVER,
}
# Pages of Django's own admin.
for page in ("changelist", "add", "change", "delete", "history"):
    ROWS[f"auth_group_{page}"] = SUPER


def admin_pages() -> set[str]:
    return {name for name in names(get_resolver()) if name.startswith("admin:")}


def test_every_page_of_the_admin_has_a_row():
    assert {name.removeprefix("admin:") for name in admin_pages()} == set(ROWS)


POSTS: dict[str, dict[str, str]] = {
    "logout": {},
    "moderation_case_take": {},
    "moderation_case_act": {"name": "message.hide", "reason": "Because"},
    "moderation_case_note": {"text": "A thought"},
    "moderation_case_read": {"reason": "To understand"},
    "moderation_case_records": {"reason": "To understand"},
    "moderation_case_resolve": {"reason": "Done"},
    "moderation_case_reopen": {"reason": "Again"},
    "moderation_case_export": {"reason": "For the court"},
    "people_verificationrequest_decide": {"decision": "approve"},
}


def address_of(name: str, scenario: Scenario, kind: str) -> str:
    if name == "None":
        return "/admin/nowhere/at/all/"
    if name == "view_on_site":
        return "/admin/r/1/1/"
    if name == "app_list":
        return "/admin/moderation/"
    case = scenario.case_for(kind)
    if name == "moderation_case_file":
        return reverse(f"admin:{name}", args=[case.id, file_of(case)])
    if name.startswith("people_") and not name.endswith(("add", "changelist")):
        is_ours = name.endswith(("decide", "document"))
        request_id = scenario.verification.id
        return reverse(f"admin:{name}", args=[request_id if is_ours else quote(request_id)])
    if name in POSTS and name.startswith("moderation_case"):
        return reverse(f"admin:{name}", args=[case.id])
    if name.startswith("moderation_case") and not name.endswith(("add", "changelist")):
        return reverse(f"admin:{name}", args=[quote(case.id)])
    if name.startswith("moderation_audit") and not name.endswith(("add", "changelist")):
        return reverse(f"admin:{name}", args=[AuditEntry.objects.last().number])
    if name.startswith("accounts_user") and not name.endswith(("add", "changelist")):
        return reverse(f"admin:{name}", args=[quote(scenario.staff["user"].id)])
    if name.startswith("accounts_outbox") and not name.endswith(("add", "changelist")):
        return reverse(f"admin:{name}", args=[OutboxEntry.objects.latest("id").pk])
    if name.startswith("auth_group") and not name.endswith(("add", "changelist")):
        return reverse(f"admin:{name}", args=[Group.objects.get(name="Support").pk])
    return reverse(f"admin:{name}")


def get_result(name: str, scenario: Scenario, kind: str) -> object:
    person = scenario.staff[kind]
    client = Client() if person is None else sign_in(person, second_factor=kind != "one factor")
    url = address_of(name, scenario, kind)
    if name in POSTS:
        data = dict(POSTS[name])
        if name == "moderation_case_act":
            data["target"] = messages_of(scenario.case_for(kind).thread_id)[-1].id
        response = client.post(url, data)
    else:
        response = client.get(url)
    return _result_of(client, response, is_login=name == "logout")


def _result_of(client, response: HttpResponse, *, is_login: bool) -> object:
    """Follows the redirects to the sign-in pages."""
    while response.status_code == 302 and not is_login:
        where = urlsplit(response["Location"]).path
        if where.startswith(("/accounts/login/", "/accounts/2fa/")):
            return "in"
        if where != "/admin/login/":
            break
        response = client.get(response["Location"])
    if response.streaming:
        assert b"".join(response.streaming_content)
        return response.status_code
    if response.status_code == 200 and b'class="case"' in response.content:
        return "all" if SECRET in response.content.decode() else "head"
    return response.status_code


@pytest.mark.parametrize("name", sorted(POSTS))
def test_staff_actions_match_the_table(name, scenario):
    assert {kind: get_result(name, scenario, kind) for kind in KINDS} == ROWS[name]


def test_staff_pages_match_the_table(scenario):
    """One test for all pages, since preparing the scenario takes longer than the requests."""
    pages = sorted(set(ROWS) - set(POSTS))
    got = {name: {kind: get_result(name, scenario, kind) for kind in KINDS} for name in pages}
    assert got == {name: ROWS[name] for name in pages}


def test_every_view_of_the_evidence_is_recorded(scenario):
    for kind in ("support", "safety", "superuser", "support with it"):
        before = AuditEntry.objects.filter(act="case.look").count()
        result = get_result("moderation_case_change", scenario, kind)
        assert AuditEntry.objects.filter(act="case.look").count() - before == (result == "all")


def test_reading_more_of_a_thread_needs_a_reason_and_records_it(scenario):
    kind = "support with it"
    case, client = scenario.case_for(kind), sign_in(scenario.staff[kind])
    address = reverse("admin:moderation_case_read", args=[case.id])
    assert client.post(address, {"reason": " "}).status_code == 302
    assert not AuditEntry.objects.filter(act="thread.read").exists()
    assert "Are you free" in client.post(address, {"reason": "What led to it"}).content.decode()
    entry = AuditEntry.objects.get(act="thread.read")
    assert (entry.reason, entry.target, entry.case) == ("What led to it", case.thread_id, case.id)


def test_changes_need_a_post_with_a_csrf_token(scenario):
    kind = "safety with it"
    for name, data in POSTS.items():
        if name == "logout":
            continue
        address = address_of(name, scenario, kind)
        client = sign_in(scenario.staff[kind])
        assert client.get(address).status_code == 405
        strict = Client(enforce_csrf_checks=True)
        strict.cookies = client.cookies
        assert strict.post(address, data).status_code == 403
