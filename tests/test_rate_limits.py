"""Every change is rate limited: every address that accepts one, and every socket command."""

import pytest
from django.test import Client
from django.urls import get_resolver, reverse

from contracts.models import DeliverableManifest
from core import rate_limits
from core.refusals import Refusal
from moderation.actions.reports import report_person, report_thread
from moderation.models import Report
from projects.actions.bookings import deliver_finals
from realtime.sockets.commands import COMMANDS, handle_command
from tests.contracts.test_panel import brief
from tests.test_access import BACKEND, LISTING, VIEWS, Scene, frame, names, scene  # noqa: F401
from tests.threads.conftest import make_person
from threads.actions.revisions import set_reaction
from threads.dynamodb import keys
from threads.models import Message, Thread

USED_UP = (1, 1)


@pytest.fixture
def limit(settings):
    """Sets these limits to a burst of one, and one a minute."""

    def set_to_one(*what: str) -> None:
        settings.PACES = settings.PACES | dict.fromkeys(what, USED_UP)
        # A bucket keeps the limit with which it was created.
        rate_limits._buckets.clear()

    return set_to_one


def refused(action) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        action()
    assert refusal.value.code == "RATE_LIMITED"
    assert 0 < refusal.value.retry_after <= 60
    return refusal.value


def stored(thread):
    return Thread.find(keys.thread_pk(thread), keys.THREAD).attribute_values


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_every_address_refuses_too_many_changes(method, scene: Scene, limit):  # noqa: F811
    """All addresses share one limit, and a refused request never reaches a view."""
    found = {"admin:*" if name.startswith("admin:") else name for name in names(get_resolver())}
    assert found == set(VIEWS)
    client = Client()
    client.force_login(scene.people["participant"], backend=BACKEND)
    urls = {
        name: "/admin/"
        if name == "admin:*"
        else reverse(name, args=view.args(scene, "participant"))
        for name, view in VIEWS.items()
    }
    before = stored(scene.thread)
    limit("write")
    client.post(reverse("accounts:theme"), {"theme": "dark"})
    for name, url in urls.items():
        response = getattr(client, method)(url, headers={"Accept": "application/json"})
        assert (name, response.status_code) == (name, 429)
        assert response.json()["code"] == "RATE_LIMITED"
        assert 0 < int(response["Retry-After"]) <= 60
        assert response.json()["message"].startswith("You're making changes too quickly. Try again")
    assert stored(scene.thread) == before
    assert client.get(urls["threads:thread"]).status_code == 200


def test_anonymous_users_are_limited_by_ip_address(db, limit):
    limit("write")
    url = reverse("accounts:theme")
    statuses = [
        Client(REMOTE_ADDR="192.0.2.77").post(url, {"theme": "dark"}).status_code for _ in range(2)
    ]
    assert statuses == [302, 429]


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_is_limited(command, scene: Scene, limit):  # noqa: F811
    limit("command")
    user = scene.people["participant"]
    handle_command(user, {"type": "thread.open", "thread": scene.thread})
    before = stored(scene.thread)
    refusal = refused(lambda: handle_command(user, frame(command, scene, "participant")))
    assert refusal.message.startswith("You're making changes too quickly.")
    assert stored(scene.thread) == before


def test_reports_are_limited_per_user(scene: Scene, limit):  # noqa: F811
    limit("report")
    user = scene.people["participant"]
    report_thread(user, thread_id=scene.thread, reason="spam", comment="1")
    count = Report.objects.count()
    refused(lambda: report_thread(user, thread_id=scene.thread, reason="spam", comment="2"))
    refused(lambda: report_person(user, person=scene.seller, reason="spam", comment="2"))
    assert Report.objects.count() == count
    report_person(make_person("Ann"), person=scene.seller, reason="spam", comment="")


def test_edits_of_the_panel_and_deliveries_are_limited(scene: Scene, limit):  # noqa: F811
    leg, user = scene.booking.leg, scene.people["participant"]
    limit("panel", "delivery")
    brief(user, scene.thread)
    before = stored(scene.thread)
    refused(lambda: brief(user, scene.thread, text="More", version=1))
    assert stored(scene.thread) == before
    sent = {"leg_id": leg.id, "title": "Finals", "listing": LISTING}
    deliver_finals(scene.seller, key="new 1", **sent)
    count = DeliverableManifest.objects.count()
    refused(lambda: deliver_finals(scene.seller, key="new 2", **sent))
    assert DeliverableManifest.objects.count() == count


def test_reactions_are_limited(scene: Scene, limit):  # noqa: F811
    user, message = scene.people["participant"], scene.message
    limit("reaction")
    target = {"thread_id": scene.thread, "message_id": message.id}
    set_reaction(user, reaction="👍", on=True, **target)
    refused(lambda: set_reaction(user, reaction="👍", on=False, **target))
    assert Message.find(message.pk, message.sk).reactions == {"👍": [user.id]}
