import pytest

from accounts.models import User
from people.actions import change_services
from tests.accounts.conftest import client, make_client, make_person, mara, sign_in, tomas

__all__ = ["client", "make_client", "make_person", "mara", "tomas"]


def offer(user: User, **changed: object) -> User:
    """Lists the user in the directory."""
    services = {"offers_services": True, "crafts": ["photographer"], "languages": ["en"]}
    change_services(user, **services | changed)
    return user


@pytest.fixture
def make_seller(make_person):
    """Makes a user who is in the directory; account fields and services can be given."""

    def make(name="Sam Seller", *, crafts=("photographer",), languages=("en",), **fields):
        priced = ("price_cents", "currency", "unit")
        services = {key: fields.pop(key) for key in priced if key in fields}
        user = make_person(name, **fields)
        return offer(user, crafts=list(crafts), languages=list(languages), **services)

    return make


@pytest.fixture
def signed_in(client, mara):
    sign_in(client, mara)
    return client
