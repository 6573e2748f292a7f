import datetime

import pytest

from accounts.queries import find_user, get_person
from core.refusals import Refusal
from tests.accounts.conftest import sign_in

pytestmark = pytest.mark.django_db


def test_a_profile_shows_the_user_and_their_local_time(client, mara, tomas):
    sign_in(client, mara)
    response = client.get(f"/people/{tomas.handle}/")
    assert response.context["person"] == tomas
    assert not response.context["is_me"]
    assert "Tomás Ruiz" in response.content.decode()
    there = response.context["local_time"]
    assert there.utcoffset() == datetime.timedelta(hours=-5)
    assert abs(datetime.datetime.now(datetime.UTC) - there) < datetime.timedelta(minutes=1)


def test_ones_own_profile_offers_no_conversation(client, mara):
    sign_in(client, mara)
    response = client.get(f"/people/{mara.handle.upper()}/")
    assert response.context["is_me"]
    assert response.context["start_url"] == ""


def test_a_profile_of_another_user_links_to_a_conversation(client, mara, tomas):
    sign_in(client, mara)
    start = client.get(f"/people/{tomas.handle}/").context["start_url"]
    assert start == f"/people/{tomas.handle}/start/"


def test_suspended_and_unknown_users_give_the_same_page(client, mara, tomas):
    tomas.is_active = False
    tomas.save()
    sign_in(client, mara)
    suspended, unknown = client.get(f"/people/{tomas.handle}/"), client.get("/people/nobody-here/")
    assert suspended.status_code == unknown.status_code == 404
    assert find_user(tomas.id) is None
    with pytest.raises(Refusal, match="PERSON_NOT_FOUND"):
        get_person(tomas.handle)


def test_a_user_is_found_by_handle_and_by_id(mara):
    assert get_person(mara.handle) == find_user(mara.id) == mara
    assert find_user("usr_nobody") is None


def test_anonymous_visitors_have_to_sign_in_whether_the_user_exists_or_not(client, mara):
    for handle in (mara.handle, "nobody-here"):
        assert client.get(f"/people/{handle}/").url == (f"/accounts/login/?next=/people/{handle}/")


def test_markup_in_a_profile_is_escaped(client, mara, make_person):
    eve = make_person("<img src=x onerror=alert(1)>", about="<script>alert(1)</script>")
    sign_in(client, mara)
    page = client.get(f"/people/{eve.handle}/").content.decode()
    assert "<img src=x" not in page
    assert "<script>alert" not in page
