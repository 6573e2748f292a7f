"""The hostile corpus on every surface, in a real browser: no script runs, nothing breaks apart."""

import json

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, live, write
from tests.browser.test_changes import last
from tests.hostile import CORPUS, SCRIPTS, SHAPES
from tests.site import Account, Site

pytestmark = pytest.mark.browser

# Runs inside the service. The thread is a project's, where contact details are nobody's business.
SCENE = """
import json
from importlib import import_module
from uuid import uuid4
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group
from accounts.models import User
from moderation.actions import note, take_case
from moderation.cases import report_person, report_thread
from tests.hostile import CORPUS, SCRIPTS, client_id
from threads import state
from threads.actions.messages import send_message
from threads.actions.requests import accept_request
from threads.actions.start import start_thread
from threads.models import Thread, keys
from threads.models.changes import Change, update

def person(name, **fields):
    tag = "h-" + uuid4().hex[:10]
    return User.objects.create_user(f"{tag}@x.example", "a long password", handle=tag,
                                    display_name=name[:60], **fields)

def session_of(user):
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = user.pk
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session["account_authentication_methods"] = [{"method": "mfa", "at": 1.0}]
    session["account_authentication_methods_user"] = user.pk
    session.save()
    return [user.id, user.email, "", session.session_key]

whole = "\\n".join(CORPUS).replace("\\0", "")
buyer = person(SCRIPTS[1], headline=SCRIPTS[2][:120], about=whole[:2000], city=SCRIPTS[13][:80])
seller = person(SCRIPTS[0], headline=SCRIPTS[14][:120], about=whole[-2000:], city=SCRIPTS[1][:80])
thread = start_thread(buyer, seller=seller, client_id=client_id(), subject=SCRIPTS[0],
                      body=SCRIPTS[3], city=SCRIPTS[13])
accept_request(seller, thread_id=thread)
item = Thread.find(keys.thread_pk(thread), keys.THREAD)
update(item, Change(set={"kind": "project"}), None)
state.forget(thread)
sent = None
for number, text in enumerate(CORPUS):
    who = (buyer, seller)[number % 2]
    sent = send_message(who, thread_id=thread, client_id=client_id(), body=text)
staff = person(SCRIPTS[1], is_staff=True)
staff.groups.add(Group.objects.get(name="Trust and safety"))
case = report_thread(buyer, thread_id=thread, message_id=sent.id, reason="other",
                     comment=whole[:2000])
profile = report_person(buyer, person=seller, reason="other", comment=whole[-2000:])
staff = User.objects.get(pk=staff.pk)
for one in (case, profile):
    take_case(staff, case_id=one.id)
    note(staff, case_id=one.id, text=whole[:2000])
print(json.dumps({"thread": thread, "buyer": session_of(buyer), "staff": session_of(staff),
                  "seller": seller.handle, "case": case.id, "profile": profile.id}))
"""


@pytest.fixture(scope="module")
def scene(site: Site) -> dict:
    return json.loads(site.manage("shell", "-v", "0", "-c", SCENE).splitlines()[-1])


def quoted(case_id: str) -> str:
    return case_id.replace("_", "_5F")


SURFACES = {
    "the conversation": ("buyer", "/threads/{thread}/"),
    "the inbox": ("buyer", "/inbox/"),
    "a profile": ("buyer", "/people/{seller}/"),
    "starting": ("buyer", "/people/{seller}/start/"),
    "reporting": ("buyer", "/threads/{thread}/report/"),
    "one's own settings": ("buyer", "/settings/"),
    "the queue": ("staff", "/admin/moderation/case/"),
    "a case": ("staff", "/admin/moderation/case/{case}/change/"),
    "a case about a profile": ("staff", "/admin/moderation/case/{profile}/change/"),
    "the audit": ("staff", "/admin/moderation/auditentry/"),
}


def unharmed(page: Page) -> None:
    assert page.evaluate("globalThis.hacked") is None
    assert page.evaluate("document.cookie.includes('hacked')") is False
    # Nothing that a script could hang on to got in.
    harm = "[onerror],[onload],[onfocus],[ontoggle],[onmouseover],iframe,object,embed,[srcdoc]"
    assert page.locator(harm).count() == 0
    links = page.locator("a[href]").evaluate_all("all => all.map((one) => one.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("surface", SURFACES)
def test_nothing_runs_and_nothing_breaks_apart(visit, scene, surface, options):
    who, path = SURFACES[surface]
    names = scene | {"case": quoted(scene["case"]), "profile": quoted(scene["profile"])}
    page = visit(Account(*scene[who]), path.format(**names), **options)
    if surface == "the conversation":
        live(page)
        page.locator("[data-scroller]").evaluate("one => one.scrollTo(0, -100000)")
    unharmed(page)
    if who == "buyer":
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_nothing_runs_when_it_is_sent_live(visit, pair):
    writer = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    reader = live(visit(pair.seller, f"/threads/{pair.thread}/"))
    for text in (*SCRIPTS[:4], SCRIPTS[13], SCRIPTS[24], SHAPES[0], SHAPES[2]):
        write(writer, text)
        expect(writer.locator(".message.sending")).to_have_count(0)
    write(writer, "The end")
    expect(last(reader)).to_contain_text("The end")
    for page in (writer, reader):
        unharmed(page)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_corpus_is_as_large_as_we_say():
    assert (len(SCRIPTS), len(SHAPES), len(CORPUS)) == (42, 24, 66)
