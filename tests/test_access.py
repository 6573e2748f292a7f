"""Access control: every address and every command against every kind of user.

An address or a command without a row here fails, so that nothing new is open by oversight.
Legend: a number is the status; "in" redirects to the sign-in page; a code is a refusal.
"""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from uuid import uuid4

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accounts.models import User
from availability.actions import add_feed, create_link
from contracts.models import Leg
from core.ids import new_id
from core.refusals import Refusal
from files.actions import accept_file
from files.exports import request_export
from files.models import File
from moderation.actions.cases import take_case
from moderation.actions.reports import report_thread
from people.models import Photo
from people.photos import set_photo
from people.portfolio import add_image
from privacy.export.worker import export_next
from projects.actions.bookings import deliver_finals, link_bookings
from realtime.sockets.commands import COMMANDS, handle_command
from tests.contracts.card_helpers import propose
from tests.contracts.conftest import book, offer_in, pay
from tests.files.conftest import picture
from tests.threads.conftest import add_friend, make_person, say, start
from threads.actions.blocks import block_person
from threads.actions.participants import add_participant, remove_participant
from threads.dynamodb.store import count_requests
from threads.models import Message

LISTING = f"{'0' * 64} 12 https://files.example/a.jpg a.jpg"
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
READS = ("Get", "BatchGet", "Query")
KINDS = ("anonymous", "stranger", "invited", "participant", "removed", "blocked", "suspended")
KINDS += ("staff", "holder")


@dataclass
class Scene:
    """A conversation, and a user of each kind."""

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
    def photo_id(self) -> str:
        set_photo(self.seller, content=io.BytesIO(picture()))
        return Photo.objects.get(user=self.seller).file_id

    @cached_property
    def portfolio_id(self) -> str:
        """An image in the portfolio of the participant."""
        owner = self.people["participant"]
        return add_image(owner, key="1", content=io.BytesIO(picture())).file_id

    @cached_property
    def booking(self) -> "Booking":
        """A booking of buyer and seller only, made when a test needs it."""
        return make_booking(self.thread, self.people["participant"], self.seller)


@dataclass
class Booking:
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


def make_booking(thread: str, buyer: User, seller: User) -> Booking:
    """A booking with group, receipt, delivery and card, and an open offer."""
    leg = book(thread, buyer, seller)
    other = make_person("Mia")
    second = book(start(buyer, other), buyer, other)
    group = link_bookings(buyer, title="A day", leg_ids=[leg.id, second.id])
    receipt = pay(leg)
    manifest = deliver_finals(seller, leg_id=leg.id, key="1", title="Finals", listing=LISTING)
    offer = offer_in(thread, seller, changes=leg.id)
    card = propose("extras", leg)
    return Booking(leg, group.id, offer.id, card.id, receipt.id, manifest.id)


def row(**expected: object) -> dict[str, object]:
    """The expected response for each kind; `others` applies to the kinds that are not named.

    Staff who took the case of a thread read it in the case only, so here they are ordinary staff.
    """
    others = expected.pop("others", None)
    # An invited user is a stranger, except for the invitation itself.
    expected.setdefault("invited", expected.get("stranger", others))
    expected.setdefault("holder", expected.get("staff", others))
    full = {kind: expected.get(kind, others) for kind in KINDS}
    assert None not in full.values(), "every kind of user needs an expected response"
    return full


# Outside a case staff have no special access, and neither have superusers.
OPEN = row(others=200)
SIGNED_IN = row(others=200, anonymous="in", suspended="in")
SIGNED_IN_POST = row(others=302, anonymous="in", suspended="in")
OWNER_POST = row(anonymous="in", suspended="in", participant=302, others=404)
THREAD_PAGE = row(anonymous="in", suspended="in", participant=200, blocked=200, others=404)
THREAD_POST = row(anonymous="in", suspended="in", participant=302, blocked=302, others=404)

Args = Callable[[Scene, str], list[str]]
Data = Callable[[Scene, str], dict[str, object]]


def no_args(scene: Scene, kind: str) -> list[str]:
    return []


def thread_args(scene: Scene, kind: str) -> list[str]:
    return [scene.thread_for(kind)]


def message_args(scene: Scene, kind: str) -> list[str]:
    return [scene.thread, scene.message.id]


def seller_args(scene: Scene, kind: str) -> list[str]:
    return [scene.seller.handle]


def portfolio_args(scene: Scene, kind: str) -> list[str]:
    return [scene.portfolio_id]


@dataclass
class View:
    expected: dict[str, object]
    args: Args = no_args
    post: Data | None = None
    query: str = ""


def post_data(**data: object) -> Data:
    return lambda scene, kind: data


def message_data(scene: Scene, kind: str) -> dict[str, object]:
    return {"client_id": str(uuid4()), "body": "Hello", "seen_seq": 0}


def newest_message_data(scene: Scene, kind: str) -> dict[str, object]:
    message = scene.message
    return {"message": message.id, "seq": message.seq, "tally": message.tally}


def make_export(scene: Scene) -> str:
    owner = scene.people["participant"]
    if not owner.exports.exists():
        request_export(owner, thread_id=scene.thread, about="Ours")
        assert export_next()
    return owner.exports.get().id


def make_feed(scene: Scene) -> str:
    owner = scene.people["participant"]
    return add_feed(owner, name="Private", url="https://calendars.example/b.ics").id


REPORT_DATA = post_data(reason="spam", comment="Again and again")

VIEWS: dict[str, View] = {
    "welcome": View(row(anonymous=200, suspended=200, others=302)),
    "healthz": View(OPEN),
    "readyz": View(OPEN),
    "styleguide": View(OPEN),
    "people:directory": View(SIGNED_IN, query="?q=sam&craft=studio"),
    "people:profile": View(SIGNED_IN, seller_args),
    "people:block": View(SIGNED_IN_POST, seller_args, post=post_data()),
    "people:unblock": View(SIGNED_IN_POST, seller_args, post=post_data()),
    "people:services": View(
        SIGNED_IN_POST, post=post_data(languages=["en"], currency="EUR", unit="day")
    ),
    "people:photo": View(SIGNED_IN, lambda scene, kind: [scene.photo_id]),
    "people:portfolio_image": View(SIGNED_IN, lambda scene, kind: [scene.portfolio_id]),
    # Users who did not sign up themselves are not sent through it.
    "people:onboarding": View(SIGNED_IN_POST),
    "people:onboarding_profile": View(SIGNED_IN_POST),
    "people:onboarding_work": View(SIGNED_IN_POST),
    "people:onboarding_people": View(SIGNED_IN_POST),
    "people:edit_photo": View(SIGNED_IN),
    "people:remove_photo": View(SIGNED_IN_POST, post=post_data()),
    "people:edit_portfolio": View(SIGNED_IN),
    # The image is the participant's; removing one that is not mine changes nothing.
    "people:caption": View(OWNER_POST, portfolio_args, post=post_data(caption="Mine")),
    "people:move_image": View(OWNER_POST, portfolio_args, post=post_data(to="0")),
    "people:remove_image": View(SIGNED_IN_POST, portfolio_args, post=post_data()),
    "people:verification": View(SIGNED_IN),
    "people:withdraw_verification": View(SIGNED_IN_POST, post=post_data()),
    "availability:calendar": View(SIGNED_IN),
    "availability:add_block": View(
        SIGNED_IN_POST,
        post=lambda scene, kind: {
            "key": str(uuid4()),
            "first_day": f"{date.today().year + 1}-02-01",
        },
    ),
    # Only the owner's block and calendar exist; removing one that does not exist has no effect.
    "availability:remove_block": View(
        SIGNED_IN_POST, lambda scene, kind: [new_id("blk")], post=post_data()
    ),
    "availability:add_feed": View(
        SIGNED_IN_POST, post=post_data(name="Private", url="https://calendars.example/a.ics")
    ),
    "availability:refresh_feed": View(
        row(anonymous="in", suspended="in", participant=302, others=404),
        lambda scene, kind: [make_feed(scene)],
        post=post_data(),
    ),
    "availability:remove_feed": View(
        SIGNED_IN_POST, lambda scene, kind: [make_feed(scene)], post=post_data()
    ),
    "availability:create_link": View(SIGNED_IN_POST, post=post_data()),
    "availability:remove_link": View(SIGNED_IN_POST, post=post_data()),
    # For calendar programs, which know the token instead of signing in.
    "availability:bookings": View(
        OPEN, lambda scene, kind: [create_link(scene.people["participant"])]
    ),
    "accounts:settings": View(SIGNED_IN),
    "accounts:requirements": View(SIGNED_IN_POST, post=post_data(requires_date="on")),
    "accounts:safe_mode": View(SIGNED_IN_POST, post=post_data(safe_mode="on")),
    "accounts:resend_confirmation": View(row(others=302), post=post_data()),
    "accounts:theme": View(row(others=302), post=post_data(theme="dark")),
    "inbox:inbox": View(SIGNED_IN),
    "inbox:folder": View(SIGNED_IN, lambda scene, kind: ["archived"]),
    "inbox:rows": View(SIGNED_IN),
    "inbox:row": View(THREAD_PAGE | {"invited": 200}, thread_args),
    "inbox:counts": View(SIGNED_IN),
    "inbox:search": View(SIGNED_IN, query="?q=hello"),
    "inbox:find": View(SIGNED_IN, query="?q=hello"),
    "inbox:keys": View(SIGNED_IN),
    "inbox:act": View(
        THREAD_POST | {"invited": 302},
        post=lambda scene, kind: {"act": "pin", "thread": scene.thread_for(kind)},
    ),
    "threads:start": View(
        SIGNED_IN
        | {"blocked": 403, "participant": 302, "stranger": 302, "removed": 302}
        | {"staff": 302, "holder": 302, "invited": 302},
        seller_args,
        post=lambda scene, kind: {"what": "A shoot", "message": "Hello", "client_id": str(uuid4())},
    ),
    "privacy:data": View(SIGNED_IN),
    "projects:billing": View(SIGNED_IN),
    "projects:payments": View(SIGNED_IN),
    "privacy:export_everything": View(SIGNED_IN_POST, post=post_data()),
    "privacy:export_thread": View(THREAD_POST, thread_args, post=post_data()),
    # Only the user who requested the export may fetch it.
    "privacy:export": View(
        row(anonymous="in", suspended="in", participant=200, others=404),
        lambda scene, kind: [make_export(scene)],
    ),
    "privacy:delete_account": View(
        SIGNED_IN | {"staff": 409, "holder": 409}, post=post_data(password="not mine")
    ),
    "threads:devices": View(SIGNED_IN),
    "threads:sign_out_others": View(SIGNED_IN_POST, post=post_data()),
    "threads:sign_out_device": View(
        row(others=404, anonymous="in", suspended="in"),
        lambda scene, kind: ["999999999"],
        post=post_data(),
    ),
    "threads:thread": View(THREAD_PAGE | {"invited": 200}, thread_args),
    "threads:messages": View(
        row(anonymous="in", suspended="in", participant=302, blocked=403, others=404),
        thread_args,
        post=message_data,
    ),
    "threads:message": View(THREAD_PAGE | {"blocked": 404}, message_args),
    "threads:upload": View(
        row(anonymous="in", suspended="in", participant=201, blocked=403, others=404),
        thread_args,
        post=lambda scene, kind: {"file": SimpleUploadedFile("a.txt", b"Words")},
    ),
    "threads:file": View(THREAD_PAGE | {"blocked": 404}, lambda scene, kind: [scene.file.id]),
    "threads:read": View(THREAD_POST | {"blocked": 400}, thread_args, post=newest_message_data),
    "threads:accept": View(THREAD_POST | {"invited": 302}, thread_args, post=post_data()),
    "threads:decline": View(THREAD_POST | {"invited": 302}, thread_args, post=post_data()),
    "threads:add": View(
        THREAD_POST | {"blocked": 403},
        thread_args,
        post=lambda scene, kind: {"handle": scene.people["stranger"].handle},
    ),
    "threads:remove": View(
        THREAD_POST | {"blocked": 403},
        thread_args,
        post=lambda scene, kind: {"user_id": scene.added.id},
    ),
    "threads:leave": View(THREAD_POST, thread_args, post=post_data()),
    "moderation:report_thread": View(THREAD_POST, thread_args, post=REPORT_DATA),
    "moderation:report_message": View(
        THREAD_POST | {"blocked": 404}, message_args, post=REPORT_DATA
    ),
    "moderation:reports": View(SIGNED_IN),
    "moderation:report_person": View(SIGNED_IN_POST, seller_args, post=REPORT_DATA),
    "threads:safe_mode": View(
        THREAD_POST | {"blocked": 403},
        lambda scene, kind: [scene.thread_for(kind), "off"],
        post=post_data(),
    ),
    "threads:block": View(
        THREAD_POST, thread_args, post=lambda scene, kind: {"user_id": scene.seller.id}
    ),
    "threads:unblock": View(
        THREAD_POST, thread_args, post=lambda scene, kind: {"user_id": scene.seller.id}
    ),
}

# Only the parties of the booking have access, not a user who was added to their conversation.
PARTIES = row(anonymous="in", suspended="in", participant=200, others=404)
PARTIES_POST = PARTIES | {"participant": 302}
SELLER_ONLY = PARTIES | {"participant": 403}


def panel_args(scene: Scene, kind: str) -> list[str]:
    assert scene.booking.leg.thread_id == scene.thread
    return [scene.thread_for(kind), "docs"]


def booked_thread_args(scene: Scene, kind: str) -> list[str]:
    return panel_args(scene, kind)[:1]


def leg_args(scene: Scene, kind: str) -> list[str]:
    return [scene.booking.leg.id]


def contract_args(scene: Scene, kind: str) -> list[str]:
    return [scene.booking.leg.contract.id]


VIEWS |= {
    "projects:panel_tab": View(PARTIES, panel_args),
    # Only the seller shares and removes proofs.
    "projects:proofs": View(SELLER_ONLY, booked_thread_args, post=post_data(file_ids="")),
    "projects:proof_remove": View(
        SELLER_ONLY,
        lambda scene, kind: [*booked_thread_args(scene, kind), scene.file.id],
        post=post_data(),
    ),
    "projects:offer_new": View(THREAD_PAGE, thread_args),
    "projects:card_new": View(
        PARTIES, lambda scene, kind: [scene.booking.leg.thread_id, "reschedule"]
    ),
    "projects:card": View(PARTIES, lambda scene, kind: [scene.booking.card_id]),
    "projects:card_transition": View(
        PARTIES_POST,
        lambda scene, kind: [scene.booking.card_id, "decline"],
        post=post_data(version="1", key="decline-1"),
    ),
    "projects:calendar": View(PARTIES, leg_args),
    # Leads to the card in the conversation.
    "projects:offer": View(PARTIES_POST, lambda scene, kind: [scene.booking.offer_id]),
    "projects:contract": View(PARTIES, contract_args),
    "projects:contract_pdf": View(
        PARTIES, lambda scene, kind: [scene.booking.leg.contract.id, "1"]
    ),
    "projects:contract_sign": View(
        PARTIES_POST,
        contract_args,
        post=post_data(number="1", has_read="on", legal_name="Beatrice Test"),
    ),
    # The participant is the buyer; only the seller records payments and delivers.
    "projects:payment": View(
        SELLER_ONLY, leg_args, post=post_data(key="2", amount="1", method="cash")
    ),
    "projects:reverse_payment": View(
        SELLER_ONLY, lambda scene, kind: [scene.booking.receipt_id], post=post_data(key="3")
    ),
    "projects:deliver": View(PARTIES | {"participant": 404}, thread_args),
    "projects:link": View(PARTIES, leg_args),
    "projects:booking_group": View(PARTIES, lambda scene, kind: [scene.booking.group_id]),
    "projects:receipt": View(PARTIES, lambda scene, kind: [scene.booking.receipt_id]),
    "projects:statement_pdf": View(PARTIES, leg_args),
    "projects:statement_csv": View(PARTIES, leg_args),
    "projects:receipt_pdf": View(PARTIES, lambda scene, kind: [scene.booking.receipt_id]),
    "projects:manifest": View(PARTIES, lambda scene, kind: [scene.booking.manifest_id]),
}

# Pages of allauth: sign-in is public, the rest requires a session.
SIGN_IN_PAGE = row(anonymous=200, suspended=200, others=302)
VIEWS |= {
    "account_login": View(SIGN_IN_PAGE),
    "account_signup": View(SIGN_IN_PAGE),
    "account_logout": View(SIGNED_IN),
    "account_inactive": View(OPEN),
    "account_email": View(SIGNED_IN),
    "account_email_verification_sent": View(OPEN),
    "account_confirm_email": View(OPEN, lambda scene, kind: ["no-such-key"]),
    "account_change_password": View(SIGNED_IN),
    "account_set_password": View(row(anonymous="in", suspended="in", others=302)),
    "account_reset_password": View(OPEN),
    "account_reset_password_done": View(OPEN),
    "account_reset_password_from_key": View(OPEN, lambda scene, kind: ["1", "no-such-key"]),
    "account_reset_password_from_key_done": View(OPEN),
    "account_reauthenticate": View(SIGNED_IN),
    "account_confirm_login_code": View(row(anonymous="in", suspended="in", others=302)),
    "mfa_index": View(SIGNED_IN),
    "mfa_authenticate": View(row(anonymous="in", suspended="in", others=302)),
    "mfa_reauthenticate": View(SIGNED_IN_POST),
    # Redirects to a password prompt first.
    "mfa_activate_totp": View(SIGNED_IN_POST),
    "mfa_deactivate_totp": View(row(anonymous="in", suspended="in", others=404)),
    "mfa_view_recovery_codes": View(row(anonymous="in", suspended="in", others=404)),
    "mfa_generate_recovery_codes": View(SIGNED_IN_POST),
    "mfa_download_recovery_codes": View(row(anonymous="in", suspended="in", others=404)),
    # Without a second factor; tests/moderation/test_admin_access.py covers every page of the admin.
    "admin:*": View(row(others=302)),
}


POST_VIEWS = {name: view for name, view in sorted(VIEWS.items()) if view.post}


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


def request_as(name: str, view: View, scene: Scene, kind: str) -> object:
    client = Client()
    if kind != "anonymous":
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
def test_every_kind_of_user_gets_the_expected_response(name, scene):
    view = VIEWS[name]
    actual = {kind: request_as(name, view, scene, kind) for kind in KINDS}
    assert actual == view.expected


def test_a_get_request_makes_no_change(scene):
    client = Client()
    client.force_login(scene.people["participant"], backend=BACKEND)
    made: set[str] = set()
    for name, view in POST_VIEWS.items():
        url = reverse(name, args=view.args(scene, "participant"))
        with count_requests() as requests, CaptureQueriesContext(connection) as queries:
            assert client.get(url).status_code in (200, 403, 404, 405), name
        assert [request for request in requests if not request.startswith(READS)] == [], name
        assert [one["sql"] for one in queries if not is_read(one["sql"])] == [], name
        made.update(requests)
    # The requests of these views are counted.
    assert "Query" in made


def is_read(sql: str) -> bool:
    return sql.startswith(("SELECT", "SAVEPOINT", "RELEASE SAVEPOINT"))


def test_a_change_requires_a_csrf_token(scene):
    client = Client(enforce_csrf_checks=True)
    client.force_login(scene.people["participant"], backend=BACKEND)
    for name, view in POST_VIEWS.items():
        url = reverse(name, args=view.args(scene, "participant"))
        assert client.post(url, view.post(scene, "participant")).status_code == 403, name


def test_a_thread_of_other_users_looks_like_one_that_does_not_exist(scene):
    client = Client()
    client.force_login(scene.people["stranger"], backend=BACKEND)
    unknown = "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"
    hidden = client.get(reverse("threads:thread", args=[scene.thread]))
    missing = client.get(reverse("threads:thread", args=[unknown]))
    assert hidden.status_code == missing.status_code == 404
    # The pages are identical except for the requested id and the CSRF token.
    assert without_token(hidden).replace(scene.thread, "") == without_token(missing).replace(
        unknown, ""
    )


def without_token(response: HttpResponse) -> str:
    return re.sub(r'(?<=csrfmiddlewaretoken" value=")\w+', "", response.content.decode())


# --- Frames

CURSOR_FRAME = row(
    participant="ok", blocked="BAD_FRAME", others="THREAD_NOT_FOUND", anonymous="closed"
)
WRITE_FRAME = row(
    participant="ok", blocked="MSG_BLOCKED_BY_USER", others="THREAD_NOT_FOUND", anonymous="closed"
)
READ_FRAME = row(participant="ok", blocked="ok", others="THREAD_NOT_FOUND", anonymous="closed")
FRAMES: dict[str, dict[str, object]] = {
    "message.send": WRITE_FRAME,
    "message.edit": WRITE_FRAME,
    "message.remove": WRITE_FRAME,
    "message.react": WRITE_FRAME,
    "thread.open": READ_FRAME,
    "thread.mark_read": CURSOR_FRAME,
    "thread.mark_delivered": CURSOR_FRAME,
    "draft.save": READ_FRAME,
}


def frame(command: str, scene: Scene, kind: str) -> dict[str, object]:
    fields: dict[str, object] = {"type": command, "thread": scene.thread_for(kind)}
    match command:
        case "message.send":
            return fields | message_data(scene, kind)
        case "thread.open":
            return fields
        case "draft.save":
            return fields | {"text": "Not yet", "version": 0}
        case "message.edit":
            return fields | {"message": scene.message.id, "body": "Otherwise"}
        case "message.react":
            return fields | {"message": scene.message.id, "reaction": "👍", "on": True}
    return fields | newest_message_data(scene, kind)


def test_every_command_has_a_row():
    assert set(FRAMES) == set(COMMANDS)


@pytest.mark.parametrize("command", sorted(FRAMES))
def test_every_command_gets_the_expected_response(command, scene):
    actual = {}
    for kind in KINDS:
        # Anonymous and suspended users cannot open a socket: see test_socket.
        if kind in ("anonymous", "suspended"):
            actual[kind] = FRAMES[command][kind]
            continue
        try:
            handle_command(scene.people[kind], frame(command, scene, kind))
            actual[kind] = "ok"
        except Refusal as refusal:
            actual[kind] = refusal.code
    assert actual == FRAMES[command]
    assert not AnonymousUser().is_authenticated
