"""The typical response time, from requests that users really sent and answered."""

from datetime import timedelta

import pytest
from django.utils import timezone

from people.models import FirstContact, ServiceProfile
from people.models.profiles import ResponseTime
from people.response_times import measure, record_acceptance, record_request, update_response_time
from privacy.actions import delete_account
from privacy.export.account import describe_person
from tests.people.conftest import offer
from tests.threads.conftest import ask, make_person
from threads.actions.requests import accept_request, decline_request
from threads.actions.start import start_thread

pytestmark = [pytest.mark.storage, pytest.mark.django_db]


@pytest.fixture
def seller(db):
    return offer(make_person("Sam"))


def contact(seller, *, asked_ago, answered_after=None):
    asked_at = timezone.now() - timedelta(hours=asked_ago)
    answered_at = None if answered_after is None else asked_at + timedelta(hours=answered_after)
    return FirstContact.objects.create(
        thread_id=f"thrd_{FirstContact.objects.count()}",
        recipient=seller,
        asked_at=asked_at,
        answered_at=answered_at,
    )


def stored(seller):
    return ServiceProfile.objects.get(pk=seller.pk).response_time


def test_requests_and_their_answers_are_recorded(seller):
    threads = [ask(make_person("Bea"), seller) for _ in range(3)]
    assert FirstContact.objects.filter(recipient=seller, answered_at=None).count() == 3
    for number, thread in enumerate(threads):
        assert stored(seller) == ResponseTime.UNKNOWN, number
        accept_request(seller, thread_id=thread)
    assert stored(seller) == ResponseTime.HOUR
    assert not FirstContact.objects.filter(answered_at=None).exists()


def test_a_thread_between_users_who_know_each_other_is_not_a_first_contact(seller):
    buyer = make_person("Bea")
    accept_request(seller, thread_id=ask(buyer, seller))
    ask(buyer, seller)
    assert FirstContact.objects.count() == 1


def test_a_repeated_start_and_a_repeated_acceptance_count_once(seller):
    buyer = make_person("Bea")
    given = {"seller": seller, "client_id": "the-same", "subject": "May", "body": "Free in May?"}
    thread = start_thread(buyer, **given)
    assert start_thread(buyer, **given) == thread
    accept_request(seller, thread_id=thread)
    answered_at = FirstContact.objects.get().answered_at
    accept_request(seller, thread_id=thread)
    record_acceptance(thread, seller.pk, asked_at=timezone.now())
    assert FirstContact.objects.get().answered_at == answered_at


def test_a_declined_request_does_not_count(seller):
    threads = [ask(make_person("Bea"), seller) for _ in range(3)]
    for thread in threads:
        decline_request(seller, thread_id=thread)
    assert not FirstContact.objects.exists()
    assert stored(seller) == ResponseTime.UNKNOWN


@pytest.mark.parametrize(
    ("hours", "expected"),
    [
        ([0.2, 0.5], ResponseTime.UNKNOWN),
        ([0.2, 0.5, 30], ResponseTime.HOUR),
        ([0.2, 2, 5], ResponseTime.HOURS),
        ([0.2, 0.5, 5, 5], ResponseTime.HOURS),
        ([2, 20, 20], ResponseTime.DAY),
        ([2, 30, 30], ResponseTime.UNKNOWN),
    ],
)
def test_at_least_half_of_the_answers_came_within_that_time(seller, hours, expected):
    for each in hours:
        contact(seller, asked_ago=100, answered_after=each)
    assert measure(seller.pk) == expected


def test_unanswered_requests_count_after_a_day(seller):
    for _ in range(3):
        contact(seller, asked_ago=200, answered_after=0.5)
    for _ in range(4):
        contact(seller, asked_ago=2)
    assert measure(seller.pk) == ResponseTime.HOUR
    FirstContact.objects.filter(answered_at=None).update(
        asked_at=timezone.now() - timedelta(hours=25)
    )
    assert measure(seller.pk) == ResponseTime.UNKNOWN


def test_only_the_latest_requests_count(seller, django_assert_num_queries):
    for _ in range(25):
        contact(seller, asked_ago=100, answered_after=20)
    for _ in range(20):
        contact(seller, asked_ago=10, answered_after=0.1)
    with django_assert_num_queries(1):
        assert measure(seller.pk) == ResponseTime.HOUR


def test_the_profile_shows_it_and_the_directory_ranks_it(seller, make_client):
    for _ in range(3):
        contact(seller, asked_ago=100, answered_after=3)
    before = seller.directory_entries.first().position
    update_response_time(seller.pk)
    assert seller.directory_entries.first().position > before
    client = make_client()
    client.force_login(make_person("Bea"), "allauth.account.auth_backends.AuthenticationBackend")
    for path in ("/people/", f"/people/{seller.handle}/"):
        assert "Usually replies within a few hours" in client.get(path).content.decode()


def test_users_without_a_service_profile_are_measured_once_they_have_one():
    seller = make_person("Sam")
    for _ in range(3):
        contact(seller, asked_ago=100, answered_after=0.1)
    record_request("thrd_new", seller.pk, asked_at=timezone.now())
    assert stored(offer(seller)) == ResponseTime.HOUR


def test_a_failing_record_does_not_refuse_the_request(seller, monkeypatch):
    def fail(*args, **kwargs):
        raise RuntimeError("no statistics today")

    monkeypatch.setattr("people.response_times.update_response_time", fail)
    thread = ask(make_person("Bea"), seller)
    accept_request(seller, thread_id=thread)
    assert not FirstContact.objects.exists()


def test_first_contacts_are_exported_and_deleted_with_the_account(seller):
    accept_request(seller, thread_id=ask(make_person("Bea"), seller))
    (exported,) = describe_person(seller)["first_contacts"]
    assert exported["answered_at"]
    delete_account(seller)
    assert not FirstContact.objects.exists()
