"""The list of devices: every sign-in is listed and can be ended from any other device."""

from html.parser import HTMLParser

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import update_last_login
from django.core import mail

from accounts.models import SignIn
from accounts.sign_in.sessions import is_signed_in as is_session_valid
from accounts.sign_in.sessions import session_hash
from accounts.sign_in.user_agents import device_name
from realtime.broadcast import delivery, presence
from tests.accounts.conftest import PASSWORD, is_signed_in, link_in, sign_in
from threads.actions.connections import OpenConnection, write_connections

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
def group_messages(monkeypatch) -> list[tuple[str, dict]]:
    """Records messages sent to socket groups."""
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


# --- The list


def test_all_devices_are_listed_the_current_one_first(desk, phone):
    assert names(desk) == [("Firefox on Linux", True), ("Safari on iPhone", False)]
    assert names(phone) == [("Safari on iPhone", True), ("Firefox on Linux", False)]


def test_a_device_shows_its_sign_in_time_and_address(desk):
    (device,) = listed(desk)
    assert device.since
    assert device.address == str(SignIn.objects.get().address)
    reader = _Text()
    reader.feed(desk.get("/settings/devices/").content.decode())
    words = " ".join(" ".join(reader.words).split())
    assert f"from {device.address}" in words
    assert "not active" in words


def test_devices_of_other_users_are_not_listed(desk, make_client, tomas):
    other = make_client()
    sign_in(other, tomas)
    assert len(listed(desk)) == len(listed(other)) == 1


def test_a_signed_out_device_is_not_listed(desk, phone):
    phone.post("/accounts/logout/")
    assert names(desk) == [("Firefox on Linux", True)]


def test_a_browser_that_signs_in_again_is_listed_once(desk, mara):
    desk.post("/accounts/logout/")
    sign_in(desk, mara)
    assert names(desk) == [("Firefox on Linux", True)]


def test_another_user_in_the_same_browser_replaces_the_sign_in(desk, mara, tomas, make_client):
    """A password reset link signs in another user while the first is signed in."""
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
        ("", "Unknown browser"),
        ("<script>alert(1)</script>" * 100, "Unknown browser"),
        ("Mozilla/5.0 (Windows NT 10.0) Chrome/150.0 Safari/537.36 Edg/150.0", "Edge on Windows"),
        ("Mozilla/5.0 (Linux; Android 17) Chrome/150.0 Mobile Safari/537.36", "Chrome on Android"),
    ],
)
def test_the_device_name_follows_from_the_user_agent(agent, device):
    assert device_name(agent) == device


# --- A changed password


def change_password(client) -> None:
    fields = {"oldpassword": PASSWORD, "password": NEW, "password1": NEW}
    response = client.post("/accounts/password/change/", fields)
    assert response.status_code == 302, response.content.decode()


def test_after_a_password_change_only_the_current_device_is_listed(desk, phone):
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


def test_a_password_change_makes_all_sockets_recheck_their_session(
    desk, mara, group_messages, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        change_password(desk)
    assert (f"user.{mara.id}", {"type": "recheck.session"}) in group_messages


# --- Signing out


def test_signing_out_a_device_closes_its_sockets(desk, phone, mara, group_messages):
    session_key = key_of(phone)
    other = listed(desk)[1]
    group_messages.clear()
    response = desk.post(f"/settings/devices/{other.id}/", follow=True)
    assert "Safari on iPhone was signed out." in response.content.decode()
    assert not is_signed_in(phone)
    assert is_signed_in(desk)
    assert names(desk) == [("Firefox on Linux", True)]
    message = {"type": "end.session", "session": session_hash(session_key)}
    assert group_messages == [(f"user.{mara.id}", message)]
    assert not is_session_valid(session_key, mara.id)


def test_all_other_devices_can_be_signed_out(desk, phone, make_client, mara, group_messages):
    third = make_client()
    sign_in(third, mara)
    ended = {session_hash(key_of(client)) for client in (phone, third)}
    group_messages.clear()
    desk.post("/settings/devices/others/")
    assert [is_signed_in(client) for client in (desk, phone, third)] == [True, False, False]
    assert {message["session"] for _, message in group_messages} == ended


def test_the_current_device_is_signed_out_on_the_sign_out_page(desk):
    (device,) = listed(desk)
    response = desk.post(f"/settings/devices/{device.id}/")
    assert response.url == "/accounts/logout/"
    assert is_signed_in(desk)


def test_devices_of_other_users_cannot_be_signed_out(desk, make_client, tomas, group_messages):
    other = make_client()
    sign_in(other, tomas)
    (theirs,) = listed(other)
    assert desk.post(f"/settings/devices/{theirs.id}/").status_code == 404
    assert is_signed_in(other)
    assert not [message for _, message in group_messages if message["type"] == "end.session"]


def test_a_device_signed_out_before_is_not_found(desk, phone):
    other = listed(desk)[1]
    desk.post(f"/settings/devices/{other.id}/")
    assert desk.post(f"/settings/devices/{other.id}/").status_code == 404


def test_an_ordinary_sign_out_closes_its_sockets(desk, phone, mara, group_messages):
    session = session_hash(key_of(phone))
    group_messages.clear()
    phone.post("/accounts/logout/")
    assert group_messages == [(f"user.{mara.id}", {"type": "end.session", "session": session})]
    assert is_signed_in(desk)


def test_a_suspension_makes_all_sockets_recheck_their_session(
    desk, mara, group_messages, django_capture_on_commit_callbacks
):
    group_messages.clear()
    with django_capture_on_commit_callbacks(execute=True):
        mara.is_active = False
        mara.save()
    assert (f"user.{mara.id}", {"type": "recheck.session"}) in group_messages
    assert not is_session_valid(key_of(desk), mara.id)


def test_other_changes_of_a_user_send_nothing_to_sockets(
    mara, group_messages, django_capture_on_commit_callbacks
):
    with django_capture_on_commit_callbacks(execute=True):
        mara.city = "Porto"
        mara.save()
        update_last_login(None, mara)
    assert group_messages == []


# --- Open pages


def connect(client, mara, connection_id: str, *, alive: bool) -> None:
    session = session_hash(key_of(client))
    opened = OpenConnection(mara.id, connection_id, "", session, "2026-05-04")
    async_to_sync(write_connections)([opened], [])
    if alive:
        async_to_sync(presence.touch)(mara.id, connection_id)


def test_open_pages_are_counted_by_device(desk, phone, mara):
    connect(phone, mara, "conn_1", alive=True)
    connect(phone, mara, "conn_2", alive=True)
    assert [device.open_pages for device in listed(desk)] == [0, 2]
    assert "active now" in desk.get("/settings/devices/").content.decode()


def test_connections_of_a_stopped_server_are_not_counted(desk, mara):
    connect(desk, mara, "conn_1", alive=False)
    connect(desk, mara, "conn_2", alive=True)
    assert [device.open_pages for device in listed(desk)] == [1]
