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
def test_takes(name):
    check_time_zone(name)


@pytest.mark.parametrize("name", ["", "EST", "localtime", "Etc/GMT+5", "europe/berlin", "/etc/x"])
def test_refuses(name):
    with pytest.raises(ValidationError):
        check_time_zone(name)


def test_every_zone_that_can_be_chosen_can_be_read():
    assert len(list_time_zones()) > 400
    assert all(zoneinfo.ZoneInfo(name).utcoffset(NOON) is not None for name in list_time_zones())


def test_a_zone_that_this_machine_does_not_know_reads_as_utc():
    assert zone_of("Europe/Atlantis") == zoneinfo.ZoneInfo("UTC")


def test_a_template_shows_their_time_and_not_the_readers():
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
def test_times_are_in_the_zone_of_the_reader_and_of_nobody_after(mara, tomas):
    middleware = time_zone(clock)
    assert middleware(request_of(mara)).content == b"13:00"
    assert middleware(request_of(tomas)).content == b"07:00"
    assert middleware(request_of()).content == b"12:00"


@pytest.mark.django_db
def test_the_same_without_threads(mara):
    middleware = time_zone(async_clock)
    assert asyncio.run(middleware(request_of(mara))).content == b"13:00"
    assert asyncio.run(middleware(request_of())).content == b"12:00"


def test_who_is_not_signed_in_costs_no_query(client, django_assert_num_queries, db):
    with django_assert_num_queries(0):
        assert client.get("/accounts/login/").status_code == 200


def test_who_is_signed_in_costs_the_session_and_the_person(client, django_assert_num_queries, mara):
    client.force_login(mara)
    with django_assert_num_queries(2):
        assert client.get("/settings/").status_code == 200
