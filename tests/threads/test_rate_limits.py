"""Rate limits: a refusal has a retry time, and a send stays one request."""

import importlib
import io
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from core import rate_limits
from core.refusals import Refusal
from files.models import File
from tests.test_access import BACKEND
from tests.threads.conftest import ask, make_person, messages_of, say
from threads.actions.messages import OutgoingMessage, send_batch, send_message
from threads.actions.revisions import edit_message
from threads.actions.uploads import upload_file
from threads.dynamodb.store import count_requests
from threads.models.rate_buckets import take_token, upload_limits


@pytest.fixture
def three_a_minute(settings, buyer, seller):
    settings.PACES = settings.PACES | {"message": (3, 6), "search": (3, 6)}


def refused(action) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        action()
    return refusal.value


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


# --- Messages


def test_messages_are_limited_to_a_burst_and_then_a_rate(
    thread, buyer, seller, three_a_minute, monkeypatch
):
    now = 1000.0
    monkeypatch.setattr(rate_limits, "monotonic", lambda: now)
    for _ in range(3):
        say(buyer, thread)
    refusal = refused(lambda: say(buyer, thread))
    assert (refusal.code, refusal.retry_after) == ("RATE_LIMITED", 10)
    assert refusal.message.endswith("Try again in 10 seconds.")
    # The limit of one user does not affect another.
    say(seller, thread)
    now += 10
    say(buyer, thread)
    assert refused(lambda: say(buyer, thread)).retry_after == 10
    assert len(messages_of(thread)) == 1 + 5


def test_a_limited_send_is_one_request(thread, buyer, three_a_minute):
    say(buyer, thread)
    with count_requests() as requests:
        say(buyer, thread)
    assert requests == ["TransactWriteItems"]


def test_a_repeat_of_a_stored_message_is_not_refused(thread, buyer, three_a_minute):
    again = {"thread_id": thread, "client_id": str(uuid4()), "body": "Once"}
    sent = send_message(buyer, **again)
    for _ in range(2):
        say(buyer, thread)
    assert send_message(buyer, **again).id == sent.id
    with count_requests() as requests:
        assert refused(lambda: say(buyer, thread)).code == "RATE_LIMITED"
    assert requests == ["GetItem"]


def test_a_batch_leaves_out_messages_beyond_the_limit(thread, buyer, three_a_minute):
    say(buyer, thread)
    batch = [OutgoingMessage(buyer, thread, str(uuid4()), f"Number {n}") for n in range(4)]
    send_batch(batch)
    assert [outgoing.is_done for outgoing in batch] == [True, True, False, False]
    assert refused(batch[2].run).code == "RATE_LIMITED"
    assert [message.body for message in messages_of(thread)][-2:] == ["Number 0", "Number 1"]


def test_the_form_keeps_the_text_of_a_refused_message(thread, buyer, three_a_minute):
    for _ in range(3):
        say(buyer, thread)
    fields = {"client_id": str(uuid4()), "body": "Every word of it", "seen_seq": 0}
    address = reverse("threads:messages", args=[thread])
    answer = signed_in(buyer).post(address, fields)
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) in range(1, 11)
    page = answer.content.decode()
    assert "Every word of it</textarea>" in page
    assert "sending too quickly." in page


def test_the_number_of_buckets_is_bounded(monkeypatch, settings):
    monkeypatch.setattr(rate_limits, "MAX_BUCKETS", 10)
    monkeypatch.setattr(rate_limits, "_buckets", rate_limits.OrderedDict())
    for number in range(50):
        rate_limits.check_rate_limit("search", f"usr_{number}")
    assert len(rate_limits._buckets) == 10


# --- Searches


@pytest.mark.storage
def test_searches_are_limited(thread, buyer, three_a_minute):
    client, address = signed_in(buyer), reverse("inbox:search")
    for word in ("one", "two", "three"):
        assert client.get(address, {"q": word}).status_code == 200
    answer = client.get(address, {"q": "four"})
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) in range(1, 11)
    assert "searching too quickly" in answer.content.decode()
    # The page without a query is not limited.
    assert client.get(address).status_code == 200


# --- Uploads


def upload(user, thread) -> File:
    return upload_file(user, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))


@pytest.mark.storage
def test_uploads_per_hour_are_limited_on_all_servers(thread, buyer, seller, settings):
    settings.UPLOAD_LIMIT = 4
    with time_machine.travel(datetime(2026, 11, 2, 12, tzinfo=UTC), tick=False) as clock:
        for _ in range(4):
            upload(buyer, thread)
        refusal = refused(lambda: upload(buyer, thread))
        assert (refusal.code, refusal.retry_after) == ("RATE_LIMITED", 900)
        assert refusal.hint == "You can upload more in 15 min."
        assert File.objects.filter(owner=buyer).count() == 4
        upload(seller, thread)
        clock.shift(timedelta(seconds=900))
        upload(buyer, thread)
        assert refused(lambda: upload(buyer, thread)).code == "RATE_LIMITED"


def test_an_upload_costs_three_requests(thread, buyer):
    with count_requests() as requests:
        upload(buyer, thread)
    assert requests == ["Query", "BatchGetItem", "TransactWriteItems"]


def test_a_refused_upload_has_a_retry_time(thread, buyer, settings):
    settings.UPLOAD_LIMIT = 1
    upload(buyer, thread)
    address = reverse("threads:upload", args=[thread])
    answer = signed_in(buyer).post(
        address, {"file": io.BytesIO(b"Words")}, headers={"Accept": "application/json"}
    )
    assert answer.status_code == 429
    assert answer.json()["retry_after"] > 3000
    assert answer["Retry-After"] == str(answer.json()["retry_after"])


@pytest.mark.storage
def test_concurrent_uploads_do_not_exceed_the_limit(thread, buyer, settings):
    settings.UPLOAD_LIMIT = 5

    def take(_: int) -> str:
        try:
            take_token(buyer, upload_limits())
            return "taken"
        except Refusal as refusal:
            return refusal.code

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(take, range(12)))
    assert outcomes.count("taken") == 5
    assert set(outcomes) <= {"taken", "RATE_LIMITED"}


# --- Limits come before expensive work


@pytest.fixture
def judged_texts(monkeypatch) -> list[str]:
    """Texts passed to the detector or the Markdown parser."""
    texts: list[str] = []

    def recorded(function):
        def run(text, *arguments):
            texts.append(text)
            return function(text, *arguments)

        return run

    for place in (
        "threads.actions.start.judge",
        "threads.policy.judge",
        "threads.rendering.markdown._parsed_to_text",
    ):
        module, _, name = place.rpartition(".")
        monkeypatch.setattr(place, recorded(getattr(importlib.import_module(module), name)))
    return texts


def test_a_message_beyond_the_limit_is_neither_parsed_nor_judged(
    thread, buyer, three_a_minute, judged_texts
):
    for _ in range(3):
        say(buyer, thread)
    judged_texts.clear()
    assert refused(lambda: say(buyer, thread, "*Read* me")).code == "RATE_LIMITED"
    assert judged_texts == []


def test_a_first_contact_beyond_the_limit_is_not_judged(buyer, settings, judged_texts):
    settings.START_LIMITS = settings.START_LIMITS_KNOWN = (2, 5)
    for _ in range(2):
        ask(buyer, make_person("nora"))
    judged_texts.clear()
    assert (
        refused(lambda: ask(buyer, make_person("nora"), "Call 0151 2345 6789")).code
        == "RATE_LIMITED"
    )
    assert [text for text in judged_texts if "Call" in text] == []


def test_starts_refused_for_their_text_are_limited(buyer, settings):
    settings.PACES = settings.PACES | {"start": (3, 6)}
    other = make_person("nora")
    severe = "whatsapp me on +49 151 23456789, pay me by paypal, mail me@example.com"
    codes = [refused(lambda: ask(buyer, other, severe)).code for _ in range(5)]
    assert codes == ["MSG_POLICY_BLOCKED"] * 3 + ["RATE_LIMITED"] * 2


def test_an_edit_beyond_the_limit_is_not_judged(thread, buyer, settings, judged_texts):
    settings.PACES = settings.PACES | {"edit": (2, 6)}
    message = say(buyer, thread)
    for body in ("One", "Two"):
        edit_message(buyer, thread_id=thread, message_id=message.id, body=body)
    judged_texts.clear()
    refusal = refused(
        lambda: edit_message(buyer, thread_id=thread, message_id=message.id, body="Three")
    )
    assert (refusal.code, judged_texts) == ("RATE_LIMITED", [])
    # A repeat of the stored text is not a new edit.
    edit_message(buyer, thread_id=thread, message_id=message.id, body="Two")


def test_a_file_beyond_the_limit_is_not_judged(thread, buyer, settings, judged_texts):
    settings.UPLOAD_LIMIT = 1
    upload(buyer, thread)
    judged_texts.clear()
    assert refused(lambda: upload(buyer, thread)).code == "RATE_LIMITED"
    assert judged_texts == []
