"""The session and its user are read in one query, with the checks of Django's own middleware."""

from datetime import timedelta

import pytest
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from accounts.models import SignIn, User
from accounts.sign_in.session_store import SessionStore
from tests.threads.conftest import make_person

pytestmark = [pytest.mark.django_db, pytest.mark.storage]

PAGE = "/settings/"


@pytest.fixture
def user() -> User:
    return make_person("Mara")


@pytest.fixture
def client(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def user_of(client: Client) -> str | None:
    """The id of the user for whom a page is rendered, or None."""
    return client.get(PAGE).wsgi_request.user.pk


def test_the_user_of_a_session_costs_one_query(client, user, django_assert_num_queries):
    with django_assert_num_queries(1):
        store = SessionStore(client.session.session_key)
        assert store[SESSION_KEY] == user.id
        assert store.loaded_user == user
    stored = User.objects.get(pk=user.pk)
    names = [field.attname for field in User._meta.concrete_fields]
    assert [getattr(store.loaded_user, name) for name in names] == [
        getattr(stored, name) for name in names
    ]
    assert user_of(client) == user.id


def test_a_session_without_a_sign_in_is_valid(client, user):
    SignIn.objects.all().delete()
    assert user_of(client) == user.id


def test_the_session_decides_whose_it_is(client, user):
    SignIn.objects.update(user=make_person("Stig"))
    assert user_of(client) == user.id


def test_an_anonymous_session_has_no_user():
    client = Client()
    session = client.session
    session["note"] = "kept"
    session.save()
    page = client.get("/")
    assert page.wsgi_request.session["note"] == "kept"
    assert page.wsgi_request.user.pk is None


def test_an_expired_session_has_no_user(client):
    past = timezone.now() - timedelta(seconds=1)
    Session.objects.update(expire_date=past)
    assert user_of(client) is None


def test_a_deleted_session_has_no_user(client):
    Session.objects.all().delete()
    assert user_of(client) is None


def test_a_suspended_user_is_signed_out(client):
    User.objects.update(is_active=False)
    assert user_of(client) is None


def test_another_password_ends_the_session(client, user):
    User.objects.filter(pk=user.pk).update(password="another")
    assert user_of(client) is None
    assert not Session.objects.exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (HASH_SESSION_KEY, ""),
        (HASH_SESSION_KEY, "0" * 64),
        (BACKEND_SESSION_KEY, "django.contrib.auth.backends.ModelBackend"),
        (SESSION_KEY, "usr_01HZZZZZZZZZZZZZZZZZZZZZZZ"),
    ],
)
def test_a_changed_session_has_no_user(client, key, value):
    session = client.session
    session[key] = value
    session.save()
    assert user_of(client) is None


def test_a_session_of_an_earlier_secret_key_is_renewed(client, user, settings):
    """Django's own check renews its hash and its key."""
    before = client.session.session_key
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "x" * 50
    assert user_of(client) == user.id
    assert client.cookies[settings.SESSION_COOKIE_NAME].value != before
    settings.SECRET_KEY_FALLBACKS = []
    assert user_of(client) == user.id
