import asyncio
import datetime
import zoneinfo

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.template import Context, Template
from django.test import RequestFactory
from django.utils import timezone

from accounts.middleware import time_zone
from core.time_zones import check_time_zone, list_time_zones, time_in, zone_of

NOON = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia"])
def test_a_valid_zone_is_accepted(name):
    check_time_zone(name)


@pytest.mark.parametrize("name", ["", "EST", "localtime", "Etc/GMT+5", "europe/berlin", "/etc/x"])
def test_an_invalid_zone_is_refused(name):
    with pytest.raises(ValidationError):
        check_time_zone(name)


def test_every_zone_on_offer_can_be_loaded():
    assert len(list_time_zones()) > 400
    assert all(zoneinfo.ZoneInfo(name).utcoffset(NOON) is not None for name in list_time_zones())


def test_an_unknown_zone_is_treated_as_utc():
    assert zone_of("Europe/Atlantis") == zoneinfo.ZoneInfo("UTC")


def test_a_template_shows_the_time_in_the_zone_of_the_user():
    shown = '{% load people %}{{ zone|local_time|date:"H:i e" }} {{ time|date:"H:i e" }}'
    with timezone.override("Asia/Tokyo"):
        page = Template(shown).render(Context({"zone": "America/Lima", "time": time_in("UTC")}))
    lima, zone, utc, _ = page.split()
    assert zone == "-05"
    assert (int(utc[:2]) - int(lima[:2])) % 24 == 5


def clock(request):
    return HttpResponse(timezone.localtime(NOON).strftime("%H:%M"))


async def async_clock(request):
    return clock(request)


def request_of(person=None):
    async def auser():
        return request.user

    request = RequestFactory().get("/")
    request.user, request.auser = person or AnonymousUser(), auser
    return request


@pytest.mark.django_db
def test_times_are_in_the_zone_of_the_viewer_for_one_request_only(mara, tomas):
    middleware = time_zone(clock)
    assert middleware(request_of(mara)).content == b"13:00"
    assert middleware(request_of(tomas)).content == b"07:00"
    assert middleware(request_of()).content == b"12:00"


@pytest.mark.django_db
def test_times_are_in_the_zone_of_the_viewer_in_async_requests(mara):
    middleware = time_zone(async_clock)
    assert asyncio.run(middleware(request_of(mara))).content == b"13:00"
    assert asyncio.run(middleware(request_of())).content == b"12:00"


def test_an_anonymous_request_costs_no_query(client, django_assert_num_queries, db):
    with django_assert_num_queries(0):
        assert client.get("/accounts/login/").status_code == 200


def test_a_signed_in_request_queries_session_and_user_once(client, django_assert_num_queries, mara):
    client.force_login(mara)
    with django_assert_num_queries(1):
        assert client.get("/settings/").status_code == 200
