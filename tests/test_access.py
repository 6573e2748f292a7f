"""Who gets what: every address and every frame against every kind of person.

An address or a command without a row here fails, so that nothing new is open by oversight.
Legend: a number is the status; "in" sends one to sign in; a code is a refusal.
"""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from uuid import uuid4

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.models import User
from contracts.models import Leg
from core.refusals import Refusal
from files.actions import accept_file
from files.exports import request_export
from files.models import File
from moderation.actions.cases import take_case
from moderation.actions.reports import report_thread
from privacy.export.worker import export_next
from projects.actions.bookings import deliver_finals, link_bookings
from realtime.sockets.commands import COMMANDS, handle_command
from tests.contracts.card_helpers import propose
from tests.contracts.conftest import book, offer_in, pay
from tests.threads.conftest import add_friend, make_person, say, start
from threads.actions.blocks import block_person
from threads.actions.participants import add_participant, remove_participant
from threads.models import Message

LISTING = f"{'0' * 64} 12 https://files.example/a.jpg a.jpg"
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
KINDS = ("nobody", "stranger", "invited", "participant", "removed", "blocked", "suspended")
KINDS += ("staff", "holder")


@dataclass
class Scene:
    """A conversation, and somebody of each kind beside it."""

    thread: str
    blocked_thread: str
    message: Message
    people: dict[str, User]
    seller: User
    added: User
    file: File

    def thread_for(self, kind: str) -> str:
        return self.blocked_thread if kind == "blocked" else self.thread

    @cached_property
    def agreed(self) -> "Agreed":
        """Between buyer and seller, for what needs it: whoever was added has no part in it."""
        return agree(self.thread, self.people["participant"], self.seller)


@dataclass
class Agreed:
    leg: Leg
    group_id: str
    offer_id: str
    card_id: str
    receipt_id: str
    manifest_id: str


@pytest.fixture
def scene(db: None) -> Scene:
    buyer, seller, removed, added = (make_person(n) for n in ("Bea", "Sam", "Rob", "Ada"))
    blocked = make_person("Bo")
    thread = start(buyer, seller)
    for person in (removed, added):
        add_friend(buyer, thread_id=thread, user=person)
    remove_participant(buyer, thread_id=thread, user_id=removed.id)
    blocked_thread = start(blocked, seller)
    block_person(seller, blocked=blocked)
    suspended = make_person("Sue")
    add_friend(buyer, thread_id=thread, user=suspended)
    User.objects.filter(pk=suspended.pk).update(is_active=False)
    invited = make_person("Ivy")
    add_participant(buyer, thread_id=thread, user=invited)
    staff, holder = make_person("Max"), make_person("Hal")
    User.objects.filter(pk__in=[staff.pk, holder.pk]).update(is_staff=True, is_superuser=True)
    people = {
        "stranger": make_person("Stig"),
        "invited": invited,
        "participant": buyer,
        "removed": removed,
        "blocked": blocked,
        "suspended": suspended,
        "staff": User.objects.get(pk=staff.pk),
        "holder": User.objects.get(pk=holder.pk),
    }
    message = say(buyer, thread, "For the two of us")
    case = report_thread(seller, thread_id=thread, reason="other", comment="")
    take_case(people["holder"], case_id=case.id)
    photo = accept_file(buyer, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))
    say(buyer, thread, "With a file", attachments=[photo.id])
    return Scene(thread, blocked_thread, message, people, seller, added, photo)


def agree(thread: str, buyer: User, seller: User) -> Agreed:
    """A booking with all that can come of it, and an offer that is still open."""
    leg = book(thread, buyer, seller)
    other = make_person("Mia")
    second = book(start(buyer, other), buyer, other)
    group = link_bookings(buyer, title="A day", leg_ids=[leg.id, second.id])
    receipt = pay(leg)
    manifest = deliver_finals(seller, leg_id=leg.id, key="1", title="Finals", listing=LISTING)
    offer = offer_in(thread, seller, changes=leg.id)
    card = propose("extras", leg)
    return Agreed(leg, group.id, offer.id, card.id, receipt.id, manifest.id)


def row(**expected: object) -> dict[str, object]:
    """All kinds, in order; `others` stands for those that are not named. Staff who have taken a
    case of this very thread read it there, and nowhere else: here they are staff like all."""
    others = expected.pop("others", None)
    # Somebody invited is a stranger, but for the invitation itself.
    expected.setdefault("invited", expected.get("stranger", others))
    expected.setdefault("holder", expected.get("staff", others))
    full = {kind: expected.get(kind, others) for kind in KINDS}
    assert None not in full.values(), "every kind of person needs an answer"
    return full


# Staff are nobody special outside a case, superusers neither.
OPEN = row(others=200)
SIGNED_IN = row(others=200, nobody="in", suspended="in")
SIGNED_IN_POST = row(others=302, nobody="in", suspended="in")
OF_THREAD = row(nobody="in", suspended="in", participant=200, blocked=200, others=404)
ACT = row(nobody="in", suspended="in", participant=302, blocked=302, others=404)

Args = Callable[[Scene, str], list[str]]
Data = Callable[[Scene, str], dict[str, object]]


def nothing(scene: Scene, kind: str) -> list[str]:
    return []


def of_thread(scene: Scene, kind: str) -> list[str]:
    return [scene.thread_for(kind)]


def of_message(scene: Scene, kind: str) -> list[str]:
    return [scene.thread, scene.message.id]


def handle_of_seller(scene: Scene, kind: str) -> list[str]:
    return [scene.seller.handle]


@dataclass
class View:
    expected: dict[str, object]
    args: Args = nothing
    post: Data | None = None
    query: str = ""


def posting(**data: object) -> Data:
    return lambda scene, kind: data


def a_message(scene: Scene, kind: str) -> dict[str, object]:
    return {"client_id": str(uuid4()), "body": "Hello", "seen_seq": 0}


def the_newest(scene: Scene, kind: str) -> dict[str, object]:
    message = scene.message
    return {"message": message.id, "seq": message.seq, "tally": message.tally}


def an_export(scene: Scene) -> str:
    owner = scene.people["participant"]
    if not owner.exports.exists():
        request_export(owner, thread_id=scene.thread, about="Ours")
        assert export_next()
    return owner.exports.get().id


A_REPORT = posting(reason="spam", comment="Again and again")

VIEWS: dict[str, View] = {
    "welcome": View(row(nobody=200, suspended=200, others=302)),
    "healthz": View(OPEN),
    "readyz": View(OPEN),
    "styleguide": View(OPEN),
    "accounts:profile": View(SIGNED_IN, handle_of_seller),
    "accounts:settings": View(SIGNED_IN),
    "accounts:requirements": View(SIGNED_IN_POST, post=posting(requires_date="on")),
    "accounts:safe_mode": View(SIGNED_IN_POST, post=posting(safe_mode="on")),
    "accounts:theme": View(row(others=302), post=posting(theme="dark")),
    "inbox:inbox": View(SIGNED_IN),
    "inbox:folder": View(SIGNED_IN, lambda scene, kind: ["archived"]),
    "inbox:rows": View(SIGNED_IN),
    "inbox:row": View(OF_THREAD | {"invited": 200}, of_thread),
    "inbox:counts": View(SIGNED_IN),
    "inbox:search": View(SIGNED_IN, query="?q=hello"),
    "inbox:find": View(SIGNED_IN, query="?q=hello"),
    "inbox:keys": View(SIGNED_IN),
    "inbox:act": View(
        ACT | {"invited": 302},
        post=lambda scene, kind: {"act": "pin", "thread": scene.thread_for(kind)},
    ),
    "threads:start": View(
        SIGNED_IN
        | {"blocked": 403, "participant": 302, "stranger": 302, "removed": 302}
        | {"staff": 302, "holder": 302, "invited": 302},
        handle_of_seller,
        post=lambda scene, kind: {"what": "A shoot", "message": "Hello", "client_id": str(uuid4())},
    ),
    "privacy:data": View(SIGNED_IN),
    "privacy:export_everything": View(SIGNED_IN_POST, post=posting()),
    "privacy:export_thread": View(ACT, of_thread, post=posting()),
    # Of the one who asked for it, and of nobody else.
    "privacy:export": View(
        row(nobody="in", suspended="in", participant=200, others=404),
        lambda scene, kind: [an_export(scene)],
    ),
    "privacy:delete_account": View(
        SIGNED_IN | {"staff": 409, "holder": 409}, post=posting(password="not mine")
    ),
    "threads:devices": View(SIGNED_IN),
    "threads:sign_out_others": View(SIGNED_IN_POST, post=posting()),
    "threads:sign_out_device": View(
        row(others=404, nobody="in", suspended="in"),
        lambda scene, kind: ["999999999"],
        post=posting(),
    ),
    "threads:thread": View(OF_THREAD | {"invited": 200}, of_thread),
    "threads:messages": View(
        row(nobody="in", suspended="in", participant=302, blocked=403, others=404),
        of_thread,
        post=a_message,
    ),
    "threads:message": View(OF_THREAD | {"blocked": 404}, of_message),
    "threads:upload": View(
        row(nobody="in", suspended="in", participant=201, blocked=403, others=404),
        of_thread,
        post=lambda scene, kind: {"file": SimpleUploadedFile("a.txt", b"Words")},
    ),
    "threads:file": View(OF_THREAD | {"blocked": 404}, lambda scene, kind: [scene.file.id]),
    "threads:read": View(ACT | {"blocked": 400}, of_thread, post=the_newest),
    "threads:accept": View(ACT | {"invited": 302}, of_thread, post=posting()),
    "threads:decline": View(ACT | {"invited": 302}, of_thread, post=posting()),
    "threads:add": View(
        ACT | {"blocked": 403},
        of_thread,
        post=lambda scene, kind: {"handle": scene.people["stranger"].handle},
    ),
    "threads:remove": View(
        ACT | {"blocked": 403},
        of_thread,
        post=lambda scene, kind: {"user_id": scene.added.id},
    ),
    "threads:leave": View(ACT, of_thread, post=posting()),
    "moderation:report_thread": View(ACT, of_thread, post=A_REPORT),
    "moderation:report_message": View(ACT | {"blocked": 404}, of_message, post=A_REPORT),
    "moderation:reports": View(SIGNED_IN),
    "moderation:report_person": View(SIGNED_IN_POST, handle_of_seller, post=A_REPORT),
    "threads:safe_mode": View(
        ACT | {"blocked": 403},
        lambda scene, kind: [scene.thread_for(kind), "off"],
        post=posting(),
    ),
    "threads:block": View(ACT, of_thread, post=lambda scene, kind: {"user_id": scene.seller.id}),
    "threads:unblock": View(ACT, of_thread, post=lambda scene, kind: {"user_id": scene.seller.id}),
}

# Of the parties, and of nobody else: not of somebody who was added to their conversation either.
PARTIES = row(nobody="in", suspended="in", participant=200, others=404)
PARTIES_POST = PARTIES | {"participant": 302}
NOT_HERS = PARTIES | {"participant": 403}


def of_panel(scene: Scene, kind: str) -> list[str]:
    assert scene.agreed.leg.thread_id == scene.thread
    return [scene.thread_for(kind), "docs"]


def of_booked(scene: Scene, kind: str) -> list[str]:
    return of_panel(scene, kind)[:1]


def of_leg(scene: Scene, kind: str) -> list[str]:
    return [scene.agreed.leg.id]


def of_contract(scene: Scene, kind: str) -> list[str]:
    return [scene.agreed.leg.contract.id]


VIEWS |= {
    "projects:panel_tab": View(PARTIES, of_panel),
    # The seller shows proofs, and takes them back.
    "projects:proofs": View(NOT_HERS, of_booked, post=posting(file_ids="")),
    "projects:proof_remove": View(
        NOT_HERS, lambda scene, kind: [*of_booked(scene, kind), scene.file.id], post=posting()
    ),
    "projects:offer_new": View(OF_THREAD, of_thread),
    "projects:card_new": View(
        PARTIES, lambda scene, kind: [scene.agreed.leg.thread_id, "reschedule"]
    ),
    "projects:card": View(PARTIES, lambda scene, kind: [scene.agreed.card_id]),
    "projects:card_transition": View(
        PARTIES_POST,
        lambda scene, kind: [scene.agreed.card_id, "decline"],
        post=posting(version="1", key="decline-1"),
    ),
    "projects:calendar": View(PARTIES, of_leg),
    "projects:offer": View(PARTIES, lambda scene, kind: [scene.agreed.offer_id]),
    "projects:offer_answer": View(
        PARTIES_POST, lambda scene, kind: [scene.agreed.offer_id, "accept"], post=posting()
    ),
    "projects:contract": View(PARTIES, of_contract),
    "projects:contract_pdf": View(PARTIES, lambda scene, kind: [scene.agreed.leg.contract.id, "1"]),
    "projects:contract_sign": View(
        PARTIES_POST,
        of_contract,
        post=posting(number="1", has_read="on", legal_name="Beatrice Test"),
    ),
    # She is the buyer: what has been paid, the seller records, who also delivers.
    "projects:payment": View(NOT_HERS, of_leg, post=posting(key="2", amount="1", method="cash")),
    "projects:reverse_payment": View(
        NOT_HERS, lambda scene, kind: [scene.agreed.receipt_id], post=posting(key="3")
    ),
    "projects:deliver": View(PARTIES | {"participant": 404}, of_thread),
    "projects:link": View(PARTIES, of_leg),
    "projects:booking_group": View(PARTIES, lambda scene, kind: [scene.agreed.group_id]),
    "projects:receipt": View(PARTIES, lambda scene, kind: [scene.agreed.receipt_id]),
    "projects:receipt_pdf": View(PARTIES, lambda scene, kind: [scene.agreed.receipt_id]),
    "projects:manifest": View(PARTIES, lambda scene, kind: [scene.agreed.manifest_id]),
}

# Of others' making: allauth lets everybody in to sign in, and nobody else to the rest.
FOR_SIGNING_IN = row(nobody=200, suspended=200, others=302)
VIEWS |= {
    "account_login": View(FOR_SIGNING_IN),
    "account_signup": View(FOR_SIGNING_IN),
    "account_logout": View(SIGNED_IN),
    "account_inactive": View(OPEN),
    "account_email": View(SIGNED_IN),
    "account_email_verification_sent": View(OPEN),
    "account_confirm_email": View(OPEN, lambda scene, kind: ["no-such-key"]),
    "account_change_password": View(SIGNED_IN),
    "account_set_password": View(row(nobody="in", suspended="in", others=302)),
    "account_reset_password": View(OPEN),
    "account_reset_password_done": View(OPEN),
    "account_reset_password_from_key": View(OPEN, lambda scene, kind: ["1", "no-such-key"]),
    "account_reset_password_from_key_done": View(OPEN),
    "account_reauthenticate": View(SIGNED_IN),
    "account_confirm_login_code": View(row(nobody="in", suspended="in", others=302)),
    "mfa_index": View(SIGNED_IN),
    "mfa_authenticate": View(row(nobody="in", suspended="in", others=302)),
    "mfa_reauthenticate": View(SIGNED_IN_POST),
    # Asks for the password once more, before anything about it is shown.
    "mfa_activate_totp": View(SIGNED_IN_POST),
    "mfa_deactivate_totp": View(row(nobody="in", suspended="in", others=404)),
    "mfa_view_recovery_codes": View(row(nobody="in", suspended="in", others=404)),
    "mfa_generate_recovery_codes": View(SIGNED_IN_POST),
    "mfa_download_recovery_codes": View(row(nobody="in", suspended="in", others=404)),
    # Here without a second factor; tests/moderation/test_admin_access.py has every page of it.
    "admin:*": View(row(others=302)),
}


def names(resolver: URLResolver, prefix: str = "") -> Iterator[str]:
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{pattern.namespace}:" if pattern.namespace else prefix
            yield from names(pattern, inner)
        elif isinstance(pattern, URLPattern):
            yield f"{prefix}{pattern.name}"


def test_every_address_has_a_row_and_every_row_an_address():
    found = {"admin:*" if name.startswith("admin:") else name for name in names(get_resolver())}
    assert found == set(VIEWS)


def answer(name: str, view: View, scene: Scene, kind: str) -> object:
    client = Client()
    if kind != "nobody":
        client.force_login(scene.people[kind], backend=BACKEND)
    url = "/admin/" if name == "admin:*" else reverse(name, args=view.args(scene, kind))
    if view.post is None:
        response = client.get(url + view.query)
    else:
        response = client.post(url, view.post(scene, kind))
    if response.status_code == 302 and response["Location"].startswith(reverse("account_login")):
        return "in"
    return response.status_code


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_everybody_gets_what_the_table_says(name, scene):
    view = VIEWS[name]
    got = {kind: answer(name, view, scene, kind) for kind in KINDS}
    assert got == view.expected


@pytest.mark.parametrize("name", [n for n, view in sorted(VIEWS.items()) if view.post])
def test_a_change_is_not_made_by_looking(name, scene):
    client = Client()
    client.force_login(scene.people["participant"], backend=BACKEND)
    url = reverse(name, args=VIEWS[name].args(scene, "participant"))
    assert client.get(url).status_code in (200, 403, 404, 405)


@pytest.mark.parametrize("name", [n for n, view in sorted(VIEWS.items()) if view.post])
def test_a_change_needs_the_token_of_our_own_page(name, scene):
    client = Client(enforce_csrf_checks=True)
    client.force_login(scene.people["participant"], backend=BACKEND)
    view = VIEWS[name]
    url = reverse(name, args=view.args(scene, "participant"))
    assert client.post(url, view.post(scene, "participant")).status_code == 403


def test_a_thread_of_others_looks_like_one_that_does_not_exist(scene):
    client = Client()
    client.force_login(scene.people["stranger"], backend=BACKEND)
    nowhere = "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"
    theirs = client.get(reverse("threads:thread", args=[scene.thread]))
    none = client.get(reverse("threads:thread", args=[nowhere]))
    assert theirs.status_code == none.status_code == 404
    # But for what the asker said and the form's own token, to the letter.
    assert bare(theirs).replace(scene.thread, "") == bare(none).replace(nowhere, "")


def bare(response: HttpResponse) -> str:
    return re.sub(r'(?<=csrfmiddlewaretoken" value=")\w+', "", response.content.decode())


# --- Frames

NOT_THERE = row(participant="ok", blocked="BAD_FRAME", others="THREAD_NOT_FOUND", nobody="closed")
MUTE = row(
    participant="ok", blocked="MSG_BLOCKED_BY_USER", others="THREAD_NOT_FOUND", nobody="closed"
)
READS = row(participant="ok", blocked="ok", others="THREAD_NOT_FOUND", nobody="closed")
FRAMES: dict[str, dict[str, object]] = {
    "message.send": MUTE,
    "message.edit": MUTE,
    "message.remove": MUTE,
    "message.react": MUTE,
    "thread.open": READS,
    "thread.mark_read": NOT_THERE,
    "thread.mark_delivered": NOT_THERE,
    "draft.save": READS,
}


def frame(command: str, scene: Scene, kind: str) -> dict[str, object]:
    fields: dict[str, object] = {"type": command, "thread": scene.thread_for(kind)}
    match command:
        case "message.send":
            return fields | a_message(scene, kind)
        case "thread.open":
            return fields
        case "draft.save":
            return fields | {"text": "Not yet", "version": 0}
        case "message.edit":
            return fields | {"message": scene.message.id, "body": "Otherwise"}
        case "message.react":
            return fields | {"message": scene.message.id, "reaction": "👍", "on": True}
    return fields | the_newest(scene, kind)


def test_every_command_has_a_row():
    assert set(FRAMES) == set(COMMANDS)


@pytest.mark.parametrize("command", sorted(FRAMES))
def test_every_frame_is_answered_as_the_table_says(command, scene):
    got = {}
    for kind in KINDS:
        # Who is not signed in, or suspended, has no socket to say anything on: see test_socket.
        if kind in ("nobody", "suspended"):
            got[kind] = FRAMES[command][kind]
            continue
        try:
            handle_command(scene.people[kind], frame(command, scene, kind))
            got[kind] = "ok"
        except Refusal as refusal:
            got[kind] = refusal.code
    assert got == FRAMES[command]
    assert not AnonymousUser().is_authenticated
