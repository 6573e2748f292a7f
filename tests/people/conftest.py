import io

import pytest
from PIL import Image

from accounts.models import User
from people.actions import change_services
from tests.accounts.conftest import (
    client,
    make_client,
    make_person,
    mara,
    new_email,
    sign_in,
    tomas,
)
from tests.files.conftest import kept, picture

__all__ = ["client", "kept", "make_client", "make_person", "mara", "new_email", "picture", "tomas"]

RED, BLUE = (220, 30, 30), (30, 30, 220)


def two_halves(size=(400, 200)) -> bytes:
    """A photo whose left (or upper) half is red and whose other half is blue."""
    image = Image.new("RGB", size, RED)
    wide = size[0] > size[1]
    image.paste(BLUE, (size[0] // 2 if wide else 0, 0 if wide else size[1] // 2, *size))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def visit_as(make_client, person):
    client = make_client()
    sign_in(client, person)
    return client


def stored_files(folder) -> list[str]:
    """The names of all stored files, by folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


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
