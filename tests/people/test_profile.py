import datetime
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Block
from accounts.queries import find_user, get_person
from contracts.models import Leg
from contracts.models.bookings import COMPLETED
from core.refusals import Refusal
from people.views.profile import _count_label
from tests.accounts.conftest import sign_in
from tests.contracts.conftest import book
from tests.threads.conftest import ask, say, start
from threads.actions.blocks import block_person
from threads.actions.participants import leave_thread
from threads.actions.requests import decline_request
from threads.dynamodb.store import count_requests

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


# --- Conversations


def test_without_a_conversation_the_button_starts_one(signed_in, tomas):
    page = signed_in.get(f"/people/{tomas.handle}/")
    assert page.context["shared"] == []
    assert "Start a conversation" in page.content.decode()


def test_shared_conversations_are_listed_the_latest_first(signed_in, mara, tomas):
    older, newer = start(mara, tomas, subject="Older"), start(tomas, mara, subject="Newer")
    say(tomas, older, "Back to this one")
    page = signed_in.get(f"/people/{tomas.handle}/")
    assert [row["subject"] for row in page.context["shared"]] == ["Older", "Newer"]
    assert f'<a class="button primary" href="/threads/{older}/">' in page.content.decode()
    assert newer in page.content.decode()


def test_at_most_five_conversations_are_listed_at_a_constant_cost(signed_in, mara, tomas):
    url, costs = f"/people/{tomas.handle}/", []
    for _ in range(2):
        for _ in range(6):
            start(mara, tomas)
        with count_requests() as requests, CaptureQueriesContext(connection) as sql:
            assert len(signed_in.get(url).context["shared"]) == 5
        costs.append((len(requests), len(sql)))
    assert costs == [(2, 6), (2, 6)]


def test_conversations_of_others_and_those_one_has_left_are_not_listed(
    signed_in, mara, tomas, make_person
):
    other = make_person("Otto")
    start(other, tomas, subject="Not yours")
    leave_thread(mara, thread_id=start(mara, tomas, subject="Left"))
    assert signed_in.get(f"/people/{tomas.handle}/").context["shared"] == []


def test_a_declined_request_is_not_a_shared_conversation(signed_in, mara, tomas):
    thread = ask(tomas, mara)
    url = f"/people/{tomas.handle}/"
    assert len(signed_in.get(url).context["shared"]) == 1
    decline_request(mara, thread_id=thread)
    assert signed_in.get(url).context["shared"] == []


# --- Bookings


def test_completed_bookings_of_the_seller_are_counted(signed_in, mara, tomas):
    url = f"/people/{tomas.handle}/"
    leg = book(start(mara, tomas), mara, tomas)
    assert signed_in.get(url).context["completed"] == ""
    Leg.objects.filter(pk=leg.pk).update(status=COMPLETED)
    assert signed_in.get(url).context["completed"] == "1 completed booking"
    assert signed_in.get(f"/people/{mara.handle}/").context["completed"] == ""


def test_many_bookings_are_not_counted_one_by_one(mara, tomas, monkeypatch):
    monkeypatch.setattr("people.views.profile.count_completed_bookings", lambda *_, limit: limit)
    assert _count_label(tomas) == "100+ completed bookings"


# --- Blocking and reporting


def test_a_user_is_blocked_and_unblocked_from_the_menu(signed_in, mara, tomas):
    url = f"/people/{tomas.handle}/"
    page = signed_in.get(url).content.decode()
    assert "Block Tomás Ruiz" in page
    assert "Report" in page
    assert signed_in.post(f"{url}block/").url == url
    assert Block.objects.filter(blocker=mara, blocked=tomas).exists()
    blocked = signed_in.get(url)
    assert blocked.context["start_url"] == ""
    assert "You blocked Tomás Ruiz" in blocked.content.decode()
    signed_in.post(f"{url}unblock/")
    assert not Block.objects.exists()


def test_a_block_by_the_other_user_is_not_revealed(signed_in, mara, tomas):
    url = f"/people/{tomas.handle}/"
    before = re.sub(r'value="\w{64}"', "", signed_in.get(url).content.decode())
    block_person(tomas, blocked=mara)
    after = re.sub(r'value="\w{64}"', "", signed_in.get(url).content.decode())
    assert after == before


def test_nobody_blocks_themself_or_a_suspended_user(signed_in, mara, tomas):
    assert signed_in.post(f"/people/{mara.handle}/block/").status_code == 403
    tomas.is_active = False
    tomas.save()
    assert signed_in.post(f"/people/{tomas.handle}/block/").status_code == 404
    assert not Block.objects.exists()


# --- Leading to people


def test_the_inbox_leads_to_people(signed_in):
    page = signed_in.get("/inbox/").content.decode()
    assert page.count('href="/people/"') == 3
    assert "Find people" in page
