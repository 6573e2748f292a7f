import ipaddress
import re
import secrets

import pytest
from django.test import Client

from accounts.models import User
from tests.threads.conftest import LETTERS

PASSWORD = "a quiet deal room"


@pytest.fixture
def make_client():
    """Makes browsers with random IP addresses, so that tests do not share rate limits."""

    def make(address=None, **options):
        address = address or str(ipaddress.IPv4Address(secrets.randbits(24) + (10 << 24)))
        return Client(REMOTE_ADDR=address, **options)

    return make


@pytest.fixture
def client(make_client):
    return make_client()


@pytest.fixture
def make_person(db):
    def make(name="Mara Lind", **fields):
        tag = secrets.token_hex(4).translate(LETTERS)
        fields = {"handle": f"p-{tag}", "email": f"{tag}@example.org", **fields}
        return User.objects.create_user(password=PASSWORD, display_name=name, **fields)

    return make


@pytest.fixture
def new_email():
    """An address without an account."""
    return f"zoe-{secrets.token_hex(4)}@example.org"


@pytest.fixture
def mara(make_person):
    return make_person("Mara Lind", time_zone="Europe/Berlin", city="Berlin")


@pytest.fixture
def tomas(make_person):
    return make_person("Tomás Ruiz", time_zone="America/Lima", city="Lima")


def sign_in(client, person, password=PASSWORD):
    return client.post("/accounts/login/", {"login": person.email, "password": password})


def is_signed_in(client):
    return client.get("/settings/").status_code == 200


def link_in(mail):
    return re.search(r"https?://[^/]+(/accounts/\S+)", mail.body)[1]
