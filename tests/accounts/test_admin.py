import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from accounts.models import User
from core.outbox.models import OutboxEntry
from tests.moderation.conftest import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(make_person):
    return make_person("Root", is_staff=True, is_superuser=True)


@pytest.fixture
def helper(make_person):
    """Staff who may change people, and nothing else."""
    helper = make_person("Helper", is_staff=True)
    may = Permission.objects.filter(codename__in=["view_user", "change_user"])
    helper.user_permissions.set(may)
    return helper


def page_of(person):
    return f"/admin/accounts/user/{person.id.replace('_', '_5F')}/change/"


def form_of(person, **fields):
    form = {
        "display_name": person.display_name,
        "handle": person.handle,
        "time_zone": person.time_zone,
        "is_active": "on",
    }
    return form | fields


def test_staff_find_people_by_address_and_by_handle(root, mara, tomas):
    client = sign_in(root)
    for text in (mara.email, mara.handle):
        page = client.get("/admin/accounts/user/", {"q": text}).content.decode()
        assert mara.email in page
        assert tomas.email not in page


def test_nobody_sees_a_hash(root, mara):
    client = sign_in(root)
    page = client.get(page_of(mara)).content.decode()
    assert mara.display_name in page
    assert mara.password not in page
    assert 'name="password"' not in page


@pytest.mark.storage
def test_to_verify_is_told_to_the_table_and_to_suspend_takes_a_case(helper, mara):
    client = sign_in(helper)
    before = OutboxEntry.objects.filter(payload={"user": mara.id}).count()
    assert client.post(page_of(mara), form_of(mara, verified="on", is_active="")).status_code == 302
    stored = User.objects.get(pk=mara.pk)
    assert stored.verified
    assert stored.is_active
    assert OutboxEntry.objects.filter(payload={"user": mara.id}).count() == before + 1


def test_who_may_change_people_cannot_give_power(helper, mara):
    client = sign_in(helper)
    for person in (mara, helper):
        client.post(page_of(person), form_of(person, is_staff="on", is_superuser="on"))
    assert not User.objects.get(pk=mara.pk).is_staff
    assert not User.objects.get(pk=helper.pk).is_superuser


def test_nor_change_a_superuser(helper, root):
    client = sign_in(helper)
    answer = client.post(page_of(root), form_of(root, display_name="Nobody", is_active=""))
    assert answer.status_code == 403
    assert User.objects.get(pk=root.pk).is_active


def test_nobody_is_added_or_deleted_there(root, mara):
    client = sign_in(root)
    assert client.get("/admin/accounts/user/add/").status_code == 403
    assert (
        client.post(page_of(mara).replace("change", "delete"), {"post": "yes"}).status_code == 403
    )


def test_whoever_is_not_staff_stays_outside(client, mara):
    assert client.get("/admin/", follow=True).request["PATH_INFO"] == "/accounts/login/"
    client = sign_in(mara)
    assert client.get("/admin/", follow=True).status_code == 403


def dead_letter() -> OutboxEntry:
    return OutboxEntry.objects.create(
        kind="booking",
        payload={"thread": "thr_1", "says": "What they agreed on"},
        dead_at=timezone.now(),
        failures=10,
        last_error="KeyError",
    )


def test_dead_letters_are_seen_without_what_they_say_and_retried(root):
    dead = dead_letter()
    client = sign_in(root)
    pages = [
        client.get("/admin/accounts/outboxentry/", {"state": "dead"}).content.decode(),
        client.get(f"/admin/accounts/outboxentry/{dead.pk}/change/").content.decode(),
    ]
    assert all("KeyError" in page and "agreed" not in page for page in pages)
    retry = {"action": "retry", "_selected_action": [dead.pk]}
    client.post("/admin/accounts/outboxentry/", retry)
    dead.refresh_from_db()
    assert (dead.dead_at, dead.failures) == (None, 0)


def test_nobody_else_retries_them(helper):
    may = Permission.objects.filter(codename__in=["view_outboxentry", "change_outboxentry"])
    helper.user_permissions.add(*may)
    dead = dead_letter()
    retry = {"action": "retry", "_selected_action": [dead.pk]}
    answer = sign_in(helper).post("/admin/accounts/outboxentry/", retry)
    assert answer.status_code == 403
    dead.refresh_from_db()
    assert dead.dead_at
