"""Users with calendars, and the text of calendars elsewhere."""

import pytest

from accounts.models import User
from tests.contracts.conftest import leg  # noqa: F401
from tests.files.test_download import web  # noqa: F401
from tests.threads.conftest import (  # noqa: F401
    buyer,
    delivered,
    make_person,
    seller,
    stranger,
    thread,
)

ZONE = "Europe/Lisbon"


def ics(*events: str, head: str = "") -> str:
    """A calendar with an event for each text, whose lines are its properties."""
    written = "".join(
        f"BEGIN:VEVENT\nUID:{number}@elsewhere.example\n{event}\nEND:VEVENT\n"
        for number, event in enumerate(events)
    )
    text = f"BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:-//Test//EN\n{head}{written}END:VCALENDAR\n"
    return text.replace("\n", "\r\n")


@pytest.fixture
def owner(db: None) -> User:
    user = make_person("Olga")
    User.objects.filter(pk=user.pk).update(time_zone=ZONE)
    user.refresh_from_db()
    return user
