"""The hostile corpus on every page in a real browser: no script runs, no layout breaks."""

import json
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import live, turn_into_phone, wider_than_window, write
from tests.browser.test_changes import last
from tests.hostile import CORPUS, SCRIPTS, SHAPES
from tests.site import Account, Site

pytestmark = pytest.mark.browser

# Runs inside the service. In a project thread, contact details are not restricted.
SCENE = """
import io
import json
from importlib import import_module
from uuid import uuid4
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Group
from accounts.models import User
from contracts.models import Card, Leg
from inbox.search.indexer import index_queued
from moderation.actions.cases import add_note, take_case
from moderation.actions.reports import report_person, report_thread
from tests.contracts.card_helpers import GIVEN, answer, new_time, propose
from tests.contracts.conftest import pay, terms
from tests.files.conftest import picture
from tests.hostile import CORPUS, SCRIPTS, SHAPES, client_id
from threads import cache
from threads.dynamodb import keys
from projects.actions.bookings import (
    accept_offer, deliver_finals, link_bookings, make_offer, sign_contract
)
from threads.actions.messages import send_message
from projects.actions.panel import edit_tab
from threads.actions.requests import accept_request
from threads.actions.start import start_thread
from threads.actions.uploads import upload_file
from threads.models import Thread
from threads.dynamodb.change import Change
from threads.dynamodb.transactions import update
from projects.panel.editable_tabs import BRIEF_FIELDS

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
cache.invalidate(thread)
sent = None
for number, text in enumerate(CORPUS):
    who = (buyer, seller)[number % 2]
    sent = send_message(who, thread_id=thread, client_id=client_id(), body=text)

# A booking, with contract, payment, delivery, change and group.
def line(number, most):
    return SCRIPTS[number][:most]

deal = start_thread(buyer, seller=seller, client_id=client_id(), subject=line(0, 120), body="Hello")
offer = make_offer(seller, thread_id=deal, key=client_id(), title=line(1, 120), currency="EUR",
                   terms=[terms(service=line(13, 120), place=(SHAPES[2] + SCRIPTS[1])[:200])])
accept_offer(buyer, offer_id=offer.id)
leg = Leg.objects.get(offer=offer)
for who in (buyer, seller):
    sign_contract(who, document_id=leg.contract.id, number=1, address="192.0.2.7", has_read=True,
                  user_agent=line(1, 120), legal_name="Ann " + line(1, 100))
receipt = pay(leg)
listing = f"{'0' * 64} 12 https://files.example/a.jpg {line(1, 120)}"
manifest = deliver_finals(seller, leg_id=leg.id, key="1", title=line(14, 120), listing=listing)
change = make_offer(seller, thread_id=deal, key=client_id(), title=line(2, 120), currency="EUR",
                    terms=[terms(service=line(15, 120), place=SHAPES[0])], changes=leg.id)
third = person(SCRIPTS[4], city=SHAPES[0][:80])
beside = start_thread(buyer, seller=third, client_id=client_id(), subject=line(3, 120), body="Hi")
accept_request(third, thread_id=beside)
other = make_offer(third, thread_id=beside, key=client_id(), title=line(5, 120), currency="EUR",
                   terms=[terms(service=line(6, 120), place=SHAPES[1])])
accept_offer(buyer, offer_id=other.id)
legs = [leg.id, Leg.objects.get(offer=other).id]
group = link_bookings(buyer, title=line(16, 120), leg_ids=legs)

def edit(tab, op, text, **more):
    version = cache.reload(deal).tabs[tab].version
    edit_tab(buyer, thread_id=deal, tab=tab, op=op, version=version, text=text, **more)

for number, part in enumerate(BRIEF_FIELDS):
    edit("brief", "edit", whole[number * 300:][:200], part=part)
for text in (*SCRIPTS[:8], *SHAPES[:4]):
    edit("shotlist", "add", text[:200])
for number in range(3):
    link = f"https://files.example/?q={number}%22%3E%3Cscript%3E"
    edit("moodboard", "add", link, part=f"pin{number}")
    edit("moodboard", "edit", line(number, 200), part=f"pin{number}")
file = upload_file(seller, thread_id=deal, name=SCRIPTS[1] + ".txt", content=io.BytesIO(b"Words"))
send_message(seller, thread_id=deal, client_id=client_id(), body=SHAPES[2], attachments=[file.id],
             links=[{"title": line(0, 120), "url": "https://files.example/"}])

# Cards, with hostile text in every field.
extras = {"items": [{"title": text[:120], "quantity": 1, "unit": "1"} for text in SCRIPTS[:10]],
          "note": whole[:1000]}
propose("extras", leg, given=extras)
propose("reschedule", leg, buyer, given=new_time(leg) | {"reason": whole[-1000:]})
name = SCRIPTS[1] + ".jpg"
looks = [upload_file(seller, thread_id=deal, name=name, content=io.BytesIO(picture())).id
         for _ in range(2)]
asked = propose("proofs", leg, given=GIVEN["proofs"](leg) | {"note": whole[:1000]}, file_ids=looks)
notes = [{"id": each, "note": whole[:300]} for each in looks]
answer(buyer, asked, "request_changes", given={"note": whole[:1000], "notes": notes})
asked.refresh_from_db()
answer(seller, asked, "answer", given=GIVEN["proofs"](leg) | {"note": SHAPES[2]}, file_ids=looks)
proofs = Card.objects.get(counters=asked)

# A request from a new user, and the search index.
asker = person(SCRIPTS[5], headline=SCRIPTS[6][:120], city=SHAPES[2][:80])
request = start_thread(asker, seller=buyer, client_id=client_id(), subject=line(7, 120),
                       body=SCRIPTS[8] + SHAPES[1], city=line(9, 80))
index_queued()

staff = person(SCRIPTS[1], is_staff=True)
staff.groups.add(Group.objects.get(name="Trust and safety"))
case = report_thread(buyer, thread_id=thread, message_id=sent.id, reason="other",
                     comment=whole[:2000])
profile = report_person(buyer, person=seller, reason="other", comment=whole[-2000:])
staff = User.objects.get(pk=staff.pk)
files = report_thread(buyer, thread_id=deal, reason="other", comment=SHAPES[0])
for one in (case, profile, files):
    take_case(staff, case_id=one.id)
    add_note(staff, case_id=one.id, text=whole[:2000])
print(json.dumps({"thread": thread, "buyer": session_of(buyer), "staff": session_of(staff),
                  "seller": seller.handle, "case": case.id, "profile": profile.id,
                  "files": files.id, "deal": deal, "offer": change.card.id, "leg": leg.id,
                  "contract": leg.contract.id, "receipt": receipt.id, "manifest": manifest.id,
                  "group": group.id, "request": request, "asked": asked.id,
                  "proofs": proofs.id}))
"""


@pytest.fixture(scope="module")
def scene(site: Site) -> dict:
    return json.loads(site.manage("shell", "-v", "0", "-c", SCENE).splitlines()[-1])


def quoted(case_id: str) -> str:
    return case_id.replace("_", "_5F")


TABS = ("overview", "brief", "moodboard", "shotlist", "files", "docs", "expenses", "actions")
CASE = "/admin/moderation/case/{%s}/change/"
SURFACES = {
    "the conversation": ("buyer", "/threads/{thread}/"),
    "the inbox": ("buyer", "/inbox/"),
    "the requests": ("buyer", "/inbox/requests/"),
    "a request": ("buyer", "/threads/{request}/"),
    "search results": ("buyer", "/inbox/search/?q=hacked"),
    "a search that finds nothing": ("buyer", f"/inbox/search/?q={quote(SCRIPTS[15])}"),
    "a profile": ("buyer", "/people/{seller}/"),
    "starting": ("buyer", "/people/{seller}/start/"),
    "reporting": ("buyer", "/threads/{thread}/report/"),
    "one's own settings": ("buyer", "/settings/"),
    **{f"the tab {tab}": ("buyer", f"/threads/{{deal}}/panel/{tab}/") for tab in TABS},
    "making an offer": ("buyer", "/threads/{deal}/offer/"),
    "an offer": ("buyer", "/cards/{offer}/"),
    "a contract": ("buyer", "/contracts/{contract}/"),
    "a receipt": ("buyer", "/receipts/{receipt}/"),
    "what was delivered": ("buyer", "/deliverables/{manifest}/"),
    "cards in a conversation": ("buyer", "/threads/{deal}/"),
    "a card": ("buyer", "/cards/{asked}/"),
    "choosing proofs": ("buyer", "/cards/{proofs}/approve/"),
    "asking for changes": ("buyer", "/cards/{proofs}/request_changes/"),
    "linking bookings": ("buyer", "/bookings/{leg}/link/"),
    "bookings that belong together": ("buyer", "/bookings/{group}/"),
    "the queue": ("staff", "/admin/moderation/case/"),
    "a case": ("staff", CASE % "case"),
    "a case about a profile": ("staff", CASE % "profile"),
    "a case with files": ("staff", CASE % "files"),
    "the audit": ("staff", "/admin/moderation/auditentry/"),
}
# On these pages a part may be wider than a phone, if it scrolls separately.
TABLES = ("the queue", "the audit")


def check_is_harmless(page: Page) -> None:
    assert page.evaluate("globalThis.hacked") is None
    assert page.evaluate("document.cookie.includes('hacked')") is False
    # The page contains no element or attribute that could run a script.
    harmful = "[onerror],[onload],[onfocus],[ontoggle],[onmouseover],iframe,object,embed,[srcdoc]"
    assert page.locator(harmful).count() == 0
    links = page.locator("a[href]").evaluate_all("all => all.map((one) => one.protocol)")
    assert set(links) <= {"http:", "https:", "mailto:"}


@pytest.mark.parametrize("surface", SURFACES)
def test_no_script_runs_and_no_layout_breaks(visit, scene, surface):
    who, path = SURFACES[surface]
    names = scene | {name: quoted(scene[name]) for name in ("case", "profile", "files")}
    page = visit(Account(*scene[who]), path.format(**names))
    if surface == "the conversation":
        live(page)
        page.locator("[data-scroller]").evaluate("one => one.scrollTo(0, -100000)")
    check_is_harmless(page)
    assert page.locator("main, .case, #changelist").first.inner_text().strip()
    if surface == "search results":
        assert page.locator("main a[href*='/messages/']").count() > 0
    if surface in TABLES:
        return
    assert wider_than_window(page) <= 0, "on a desktop"
    # Only the width of the page depends on the size of the screen.
    turn_into_phone(page)
    assert wider_than_window(page) <= 0, "on a phone"


def pixels_above(page: Page, text: Locator) -> bytes:
    """The pixels above the text, which belong to other content."""
    box = text.bounding_box()
    assert box is not None
    clip = {"x": 0, "y": max(0, box["y"] - 100), "width": 1440, "height": min(box["y"], 90)}
    return page.screenshot(clip=clip, animations="disabled", caret="hide")


@pytest.mark.parametrize(
    ("path", "where"),
    [("/threads/{deal}/", ".message [data-body]"), ("/inbox/search/?q=algo", ".hit-text")],
)
def test_stacked_marks_do_not_paint_over_other_content(visit, scene, path, where):
    page = visit(Account(*scene["buyer"]), path.format(**scene))
    if "deal" in path:
        live(page)
    text = page.locator(where, has_text="algo").last
    text.scroll_into_view_if_needed()
    stacked = pixels_above(page, text)
    text.evaluate("one => (one.textContent = one.textContent.replace(/\\p{M}/gu, ''))")
    assert pixels_above(page, text) == stacked


def test_no_script_runs_in_a_live_message(visit, pair):
    writer = live(visit(pair.buyer, f"/threads/{pair.thread}/"))
    reader = live(visit(pair.seller, f"/threads/{pair.thread}/"))
    for text in (*SCRIPTS[:4], SCRIPTS[13], SCRIPTS[24], SHAPES[0], SHAPES[2]):
        write(writer, text)
        expect(writer.locator(".message.sending")).to_have_count(0)
    write(writer, "The end")
    expect(last(reader)).to_contain_text("The end")
    for page in (writer, reader):
        check_is_harmless(page)
        assert wider_than_window(page) <= 0


def test_the_corpus_has_its_documented_size():
    assert (len(SCRIPTS), len(SHAPES), len(CORPUS)) == (42, 24, 66)
