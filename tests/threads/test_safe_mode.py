"""Safe mode of a thread: permissions and events."""

import pytest
from django.test import Client
from django.urls import reverse

from core.refusals import Refusal
from tests.test_access import BACKEND
from tests.threads.conftest import add_friend, messages_of, thread_item
from threads.actions.safe_mode import lift_safe_mode, require_safe_mode
from threads.dynamodb.store import count_requests

pytestmark = pytest.mark.storage


def test_safe_mode_is_on_until_a_principal_lifts_it(buyer, seller, thread, delivered):
    assert thread_item(thread).safe_mode_required
    lift_safe_mode(seller, thread_id=thread)
    assert not thread_item(thread).safe_mode_required
    message = messages_of(thread)[-1]
    assert message.type == "system"
    assert message.body == "Sam turned safe mode off for this conversation."
    for person in (buyer, seller):
        (event,) = delivered.to(person, "message.sent")
        assert event["body"] == message.body
        assert delivered.to(person, "thread.changed")


def test_a_repeat_adds_no_message_and_a_new_change_adds_one(buyer, thread):
    for change in (lift_safe_mode, lift_safe_mode, require_safe_mode, lift_safe_mode):
        change(buyer, thread_id=thread)
    assert len(messages_of(thread)) == 1 + 3


def test_a_change_costs_the_same_as_a_send(buyer, thread):
    lift_safe_mode(buyer, thread_id=thread)
    with count_requests() as requests:
        require_safe_mode(buyer, thread_id=thread)
    assert list(requests) == ["TransactWriteItems"]


def test_only_the_two_principals_can_change_safe_mode(buyer, stranger, person, thread):
    guest = person("Gus")
    add_friend(buyer, thread_id=thread, user=guest)
    with pytest.raises(Refusal, match="ACTION_FORBIDDEN"):
        lift_safe_mode(guest, thread_id=thread)
    with pytest.raises(Refusal, match="THREAD_NOT_FOUND"):
        lift_safe_mode(stranger, thread_id=thread)
    assert thread_item(thread).safe_mode_required


def test_a_user_has_a_personal_safe_mode(buyer):
    client = Client()
    client.force_login(buyer, backend=BACKEND)
    assert "Safe mode is <b>on</b>" in client.get(reverse("accounts:settings")).content.decode()
    client.post(reverse("accounts:safe_mode"), {"safe_mode": "off"})
    buyer.refresh_from_db()
    assert not buyer.safe_mode
    assert "Safe mode is <b>off</b>" in client.get(reverse("accounts:settings")).content.decode()
