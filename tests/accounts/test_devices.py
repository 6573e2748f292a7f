"""Your devices: every sign-in is listed, and can be ended from any other."""

from html.parser import HTMLParser

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import update_last_login
from django.core import mail

from accounts.models import SignIn
from accounts.sign_in.sessions import is_signed_in as counts
from accounts.sign_in.sessions import session_hash
from accounts.sign_in.user_agents import device_name
from realtime.broadcast import delivery, presence
from tests.accounts.conftest import PASSWORD, is_signed_in, link_in, sign_in
from threads.actions.connections import record_connection

pytestmark = pytest.mark.django_db
NEW = "an even quieter room"
DESK = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1"
)


@pytest.fixture
def desk(make_client, mara):
    client = make_client(HTTP_USER_AGENT=DESK)
    sign_in(client, mara)
    return client


@pytest.fixture
def phone(make_client, mara):
    client = make_client(HTTP_USER_AGENT=PHONE)
    sign_in(client, mara)
    return client


@pytest.fixture
def told(monkeypatch) -> list[tuple[str, dict]]:
    """What sockets were told, besides events."""
    messages = []

    def record(groups: list[str], message: dict) -> None:
        messages.extend((group, message) for group in groups)

    monkeypatch.setattr(delivery, "send_to_groups", record)
    return messages


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def listed(client) -> list:
    return client.get("/settings/devices/").context["devices"]


def names(client) -> list[tuple[str, bool]]:
    return [(device.name, device.is_this) for device in listed(client)]


def key_of(client) -> str:
    return client.session.session_key


# --- What is listed


def test_lists_where_one_is_signed_in_this_one_first(desk, phone):
    assert names(desk) == [("Firefox on Linux", True), ("Safari on iPhone", False)]
    assert names(phone) == [("Safari on iPhone", True), ("Firefox on Linux", False)]


def test_says_since_when_and_from_where(desk):
    (device,) = listed(desk)
    assert device.since
    assert device.address == str(SignIn.objects.get().address)
    reader = _Text()
    reader.feed(desk.get("/settings/devices/").content.decode())
    words = " ".join(" ".join(reader.words).split())
    assert f"from {device.address}" in words
    assert "not open" in words


def test_lists_nobody_elses(desk, make_client, tomas):
    other = make_client()
    sign_in(other, tomas)
    assert len(listed(desk)) == len(listed(other)) == 1


def test_what_was_signed_out_is_gone(desk, phone):
    phone.post("/accounts/logout/")
    assert names(desk) == [("Firefox on Linux", True)]


def test_whoever_signs_in_again_in_the_same_browser_is_listed_once(desk, mara):
    desk.post("/accounts/logout/")
    sign_in(desk, mara)
    assert names(desk) == [("Firefox on Linux", True)]


def test_somebody_else_in_the_same_browser_is_listed_too(desk, mara, tomas, make_client):
    """They came by a link in a mail, while somebody was signed in here."""
    make_client().post("/accounts/password/reset/", {"email": tomas.email})
    form = desk.get(link_in(mail.outbox[-1]), follow=True).request["PATH_INFO"]
    desk.post(form, {"password1": NEW})
    assert desk.get("/settings/").context["user"] == tomas
    assert names(desk) == [("Firefox on Linux", True)]
    assert not SignIn.objects.filter(user=mara, session_key=key_of(desk)).exists()


@pytest.mark.parametrize(
    ("agent", "device"),
    [
        (DESK, "Firefox on Linux"),
        (PHONE, "Safari on iPhone"),
        ("", "A browser"),
        ("<script>alert(1)</script>" * 100, "A browser"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/150.0 Safari/537.36 Edg/150.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 17) Chrome/150.0 Mobile Safari/537.36", "Chrome on Android"),
    ],
)
def test_a_device_is_named_as_people_would(agent, device):
    assert device_name(agent) == device


# --- A changed password


def change_password(client) -> None:
    fields = {"oldpassword": PASSWORD, "password": NEW, "password1": NEW}
    answer = client.post("/accounts/password/change/", fields)
    assert answer.status_code == 302, answer.content.decode()


def test_after_a_changed_password_this_one_is_listed_and_no_other(desk, phone):
    since = listed(desk)[0].since
    change_password(desk)
    assert not is_signed_in(phone)
    assert names(desk) == [("Firefox on Linux", True)]
    assert listed(desk)[0].since == since


def test_the_device_that_changed_the_password_can_be_signed_out_from_another(
    desk, make_client, mara
):
    change_password(desk)
    other = make_client(HTTP_USER_AGENT=PHONE)
    sign_in(other, mara, NEW)
    other.post("/settings/devices/others/")
    assert not is_signed_in(desk)
    assert is_signed_in(other)


def test_a_changed_password_makes_all_sockets_look_again(
    desk, mara, told, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        change_password(desk)
    assert (f"user.{mara.id}", {"type": "recheck.session"}) in told


# --- Signing out


def test_one_device_is_signed_out_and_its_sockets_are_told(desk, phone, mara, told):
    gone = key_of(phone)
    other = listed(desk)[1]
    told.clear()
    answer = desk.post(f"/settings/devices/{other.id}/", follow=True)
    assert "Safari on iPhone is signed out." in answer.content.decode()
    assert not is_signed_in(phone)
    assert is_signed_in(desk)
    assert names(desk) == [("Firefox on Linux", True)]
    message = {"type": "end.session", "session": session_hash(gone)}
    assert told == [(f"user.{mara.id}", message)]
    assert not counts(gone, mara.id)


def test_all_others_are_signed_out(desk, phone, make_client, mara, told):
    third = make_client()
    sign_in(third, mara)
    ended = {session_hash(key_of(client)) for client in (phone, third)}
    told.clear()
    desk.post("/settings/devices/others/")
    assert [is_signed_in(client) for client in (desk, phone, third)] == [True, False, False]
    assert {message["session"] for _, message in told} == ended


def test_this_one_is_signed_out_by_the_usual_page(desk):
    (device,) = listed(desk)
    answer = desk.post(f"/settings/devices/{device.id}/")
    assert answer.url == "/accounts/logout/"
    assert is_signed_in(desk)


def test_nobody_signs_out_somebody_else(desk, make_client, tomas, told):
    other = make_client()
    sign_in(other, tomas)
    (theirs,) = listed(other)
    assert desk.post(f"/settings/devices/{theirs.id}/").status_code == 404
    assert is_signed_in(other)
    assert not [message for _, message in told if message["type"] == "end.session"]


def test_signing_out_twice_is_a_device_that_is_not_there(desk, phone):
    other = listed(desk)[1]
    desk.post(f"/settings/devices/{other.id}/")
    assert desk.post(f"/settings/devices/{other.id}/").status_code == 404


def test_an_ordinary_sign_out_closes_its_sockets(desk, phone, mara, told):
    gone = session_hash(key_of(phone))
    told.clear()
    phone.post("/accounts/logout/")
    assert told == [(f"user.{mara.id}", {"type": "end.session", "session": gone})]
    assert is_signed_in(desk)


def test_whoever_is_suspended_has_their_sockets_look_again(
    desk, mara, told, django_capture_on_commit_callbacks
):
    told.clear()
    with django_capture_on_commit_callbacks(execute=True):
        mara.is_active = False
        mara.save()
    assert (f"user.{mara.id}", {"type": "recheck.session"}) in told
    assert not counts(key_of(desk), mara.id)


def test_other_changes_of_a_person_disturb_no_socket(
    mara, told, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        mara.city = "Porto"
        mara.save()
        update_last_login(None, mara)
    assert told == []


# --- What is open


def connect(client, mara, connection_id: str, *, alive: bool) -> None:
    session = session_hash(key_of(client))
    record_connection(
        mara, connection_id=connection_id, device="", session=session, since="2026-05-04"
    )
    if alive:
        async_to_sync(presence.touch)(mara.id, connection_id)


def test_says_which_are_open_now(desk, phone, mara):
    connect(phone, mara, "conn_1", alive=True)
    connect(phone, mara, "conn_2", alive=True)
    assert [device.open_pages for device in listed(desk)] == [0, 2]
    assert "open now" in desk.get("/settings/devices/").content.decode()


def test_what_a_server_left_behind_that_died_is_not_open(desk, mara):
    connect(desk, mara, "conn_1", alive=False)
    connect(desk, mara, "conn_2", alive=True)
    assert [device.open_pages for device in listed(desk)] == [1]
