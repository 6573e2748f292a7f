"""A socket that never pings is closed soon after its session ends, even without an event."""

import secrets
from datetime import timedelta

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.utils import timezone
from websockets.exceptions import ConnectionClosed

from accounts.models import User
from accounts.sign_in.sessions import SessionStore, find_users, list_valid_sessions
from tests.site import Site, prepared_site

pytestmark = pytest.mark.slow

SUSPEND = "User.objects.filter(pk='{id}').update(is_active=False)"
NEW_PASSWORD = "User.objects.filter(pk='{id}').update(password='another')"
SIGN_OUT = "Session.objects.filter(session_key='{cookie}').delete()"
EXPIRE = "Session.objects.filter(session_key='{cookie}').update(expire_date='2020-01-01T00:00Z')"
IMPORTS = "from accounts.models import User; from django.contrib.sessions.models import Session; "


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> Site:
    found = prepared_site(tmp_path_factory.mktemp("sessions") / "data")
    found.env |= {"PARLEY_SESSION_CHECK_SECONDS": "1", "PARLEY_SOCKETS_PER_USER": "3"}
    return found


@pytest.fixture(scope="module")
def own_site(stores):
    stores.start()
    yield stores
    stores.stop()


def close_code(client, seconds: float = 20) -> int:
    with pytest.raises(ConnectionClosed) as closed:
        client.hear("nothing", timeout=seconds)
    return closed.value.rcvd.code


def run_in_another_process(site, code: str, account) -> None:
    """Runs code in another process, which stores a change without a signal or an event."""
    code = code.format(id=account.id, cookie=account.cookie)
    site.manage("shell", "-v", "0", "-c", IMPORTS + code)


@pytest.mark.live
@pytest.mark.parametrize("end", [SUSPEND, NEW_PASSWORD, SIGN_OUT, EXPIRE])
def test_a_socket_that_never_pings_ends_with_its_session(own_site, end):
    pair = own_site.pair()
    with own_site.connect(pair.buyer) as buyer, own_site.connect(pair.seller) as seller:
        buyer.hear("hello")
        seller.hear("hello")
        run_in_another_process(own_site, end, pair.buyer)
        assert close_code(buyer) == 4401
        seller.send(pair.thread, "Still here")
        seller.hear("message.accepted")


# --- The query


@pytest.fixture
def sign_in(db):
    def sign_in(**fields) -> tuple[str, str]:
        tag = secrets.token_hex(4)
        user = User(handle=f"p-{tag}", email=f"{tag}@example.org", display_name="Mara", **fields)
        user.set_password("a quiet deal room")
        user.save()
        session = SessionStore()
        session[SESSION_KEY] = user.id
        session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.save()
        return session.session_key, user.id

    return sign_in


@pytest.mark.storage
def test_many_sessions_cost_two_queries(sign_in, django_assert_num_queries):
    signed_in = [sign_in() for _ in range(40)]
    with django_assert_num_queries(2):
        assert list_valid_sessions(signed_in) == set(signed_in)


@pytest.mark.storage
def test_the_users_of_many_handshakes_cost_two_queries(sign_in, django_assert_num_queries):
    signed_in = dict(sign_in() for _ in range(40))
    with django_assert_num_queries(2):
        found = find_users([*signed_in, "unknown"])
    assert {key: user.id for key, user in found.items()} == signed_in
    User.objects.filter(pk=signed_in.popitem()[1]).update(password="another")
    User.objects.filter(pk=signed_in.popitem()[1]).update(is_active=False)
    Session.objects.filter(session_key=signed_in.popitem()[0]).delete()
    assert find_users(list(found)).keys() == signed_in.keys()


@pytest.mark.storage
def test_each_session_is_checked_separately(sign_in):
    good, suspended, expired, deleted, other = (sign_in() for _ in range(5))
    User.objects.filter(pk=suspended[1]).update(is_active=False)
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.filter(session_key=expired[0]).update(expire_date=past)
    Session.objects.filter(session_key=deleted[0]).delete()
    key_of_another_user = (other[0], good[1])
    sessions = [good, suspended, expired, deleted, key_of_another_user]
    assert list_valid_sessions(sessions) == {good}


# --- Number of sockets per user


def test_one_socket_too_many_closes_the_oldest_with_a_reason(own_site):
    pair = own_site.pair()
    clients = []
    for _ in range(3):
        clients.append(own_site.connect(pair.buyer))
        clients[-1].hear("hello")
    with own_site.connect(pair.seller) as seller, own_site.connect(pair.buyer) as newest:
        newest.hear("hello")
        assert clients[0].hear("error")["code"] == "SOCKET_LIMIT"
        assert close_code(clients[0]) == 4409
        for client in (*clients[1:], newest):
            client.say("ping", t=1)
            client.hear("pong")
        seller.hear("hello")
        seller.say("ping", t=2)
        assert seller.hear("pong")["t"] == 2, "The limit applies to each user separately."
    for client in clients[1:]:
        client.socket.close()


def test_closed_sockets_are_not_counted(own_site):
    pair = own_site.pair()
    with own_site.connect(pair.buyer) as first:
        first.hear("hello")
        for _ in range(8):
            with own_site.connect(pair.buyer) as client:
                client.hear("hello")
                client.say("ping", t=1)
                client.hear("pong")
        first.say("ping", t=3)
        assert first.hear("pong")["t"] == 3
