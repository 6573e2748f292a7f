import pytest
from django.contrib.auth.models import Permission
from django.utils import timezone

from accounts.models import User
from core.outbox.models import OutboxEntry
from tests.moderation.conftest import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def superuser(make_person):
    return make_person("Root", is_staff=True, is_superuser=True)


@pytest.fixture
def limited_staff(make_person):
    """Staff who may change users, and nothing else."""
    limited_staff = make_person("Helper", is_staff=True)
    permissions = Permission.objects.filter(codename__in=["view_user", "change_user"])
    limited_staff.user_permissions.set(permissions)
    return limited_staff


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


def test_staff_find_users_by_email_and_by_handle(superuser, mara, tomas):
    client = sign_in(superuser)
    for text in (mara.email, mara.handle):
        page = client.get("/admin/accounts/user/", {"q": text}).content.decode()
        assert mara.email in page
        assert tomas.email not in page


def test_password_hashes_are_not_shown(superuser, mara):
    client = sign_in(superuser)
    page = client.get(page_of(mara)).content.decode()
    assert mara.display_name in page
    assert mara.password not in page
    assert 'name="password"' not in page


@pytest.mark.storage
def test_a_change_is_relayed_to_the_table_and_verifying_and_suspending_are_no_fields(
    limited_staff, mara
):
    client = sign_in(limited_staff)
    before = OutboxEntry.objects.filter(payload={"user": mara.id}).count()
    form = form_of(mara, display_name="Mara L.", verified="on", avatar="/x.png", is_active="")
    assert client.post(page_of(mara), form).status_code == 302
    stored = User.objects.get(pk=mara.pk)
    assert stored.display_name == "Mara L."
    assert stored.is_active
    assert (stored.verified, stored.avatar) == (False, "")
    assert OutboxEntry.objects.filter(payload={"user": mara.id}).count() == before + 1


def test_staff_who_change_users_cannot_grant_permissions(limited_staff, mara):
    client = sign_in(limited_staff)
    for person in (mara, limited_staff):
        client.post(page_of(person), form_of(person, is_staff="on", is_superuser="on"))
    assert not User.objects.get(pk=mara.pk).is_staff
    assert not User.objects.get(pk=limited_staff.pk).is_superuser


def test_staff_who_change_users_cannot_change_a_superuser(limited_staff, superuser):
    client = sign_in(limited_staff)
    response = client.post(
        page_of(superuser), form_of(superuser, display_name="Nobody", is_active="")
    )
    assert response.status_code == 403
    assert User.objects.get(pk=superuser.pk).is_active


def test_users_cannot_be_added_or_deleted_in_the_admin(superuser, mara):
    client = sign_in(superuser)
    assert client.get("/admin/accounts/user/add/").status_code == 403
    assert (
        client.post(page_of(mara).replace("change", "delete"), {"post": "yes"}).status_code == 403
    )


def test_other_users_have_no_access_to_the_admin(client, mara):
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


def test_dead_letters_are_listed_without_their_payload_and_retried(superuser):
    dead = dead_letter()
    client = sign_in(superuser)
    pages = [
        client.get("/admin/accounts/outboxentry/", {"state": "dead"}).content.decode(),
        client.get(f"/admin/accounts/outboxentry/{dead.pk}/change/").content.decode(),
    ]
    assert all("KeyError" in page and "agreed" not in page for page in pages)
    retry = {"action": "retry", "_selected_action": [dead.pk]}
    client.post("/admin/accounts/outboxentry/", retry)
    dead.refresh_from_db()
    assert (dead.dead_at, dead.failures) == (None, 0)


def test_only_superusers_retry_dead_letters(limited_staff):
    permissions = Permission.objects.filter(codename__in=["view_outboxentry", "change_outboxentry"])
    limited_staff.user_permissions.add(*permissions)
    dead = dead_letter()
    retry = {"action": "retry", "_selected_action": [dead.pk]}
    response = sign_in(limited_staff).post("/admin/accounts/outboxentry/", retry)
    assert response.status_code == 403
    dead.refresh_from_db()
    assert dead.dead_at
