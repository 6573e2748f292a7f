"""Safe mode of a conversation: who may change it, and that everybody sees it."""

import pytest
from django.test import Client
from django.urls import reverse

from core.refusals import Refusal
from tests.test_access import BACKEND
from tests.threads.conftest import add_friend, messages_of, thread_item
from threads.actions.safe_mode import lift_safe_mode, require_safe_mode
from threads.dynamodb.store import count_requests

pytestmark = pytest.mark.storage


def test_it_is_on_until_one_of_the_two_turns_it_off(buyer, seller, thread, delivered):
    assert thread_item(thread).safe_mode_required
    lift_safe_mode(seller, thread_id=thread)
    assert not thread_item(thread).safe_mode_required
    line = messages_of(thread)[-1]
    assert line.type == "system"
    assert line.body == "Sam turned safe mode off for this conversation."
    for person in (buyer, seller):
        (told,) = delivered.to(person, "message.sent")
        assert told["body"] == line.body
        assert delivered.to(person, "thread.changed")


def test_a_repeat_says_nothing_twice_and_again_is_another_line(buyer, thread):
    for change in (lift_safe_mode, lift_safe_mode, require_safe_mode, lift_safe_mode):
        change(buyer, thread_id=thread)
    assert len(messages_of(thread)) == 1 + 3


def test_costs_what_a_send_costs(buyer, thread):
    lift_safe_mode(buyer, thread_id=thread)
    with count_requests() as requests:
        require_safe_mode(buyer, thread_id=thread)
    assert list(requests) == ["TransactWriteItems"]


def test_nobody_else_changes_it(buyer, stranger, person, thread):
    guest = person("Gus")
    add_friend(buyer, thread_id=thread, user=guest)
    with pytest.raises(Refusal, match="ACTION_FORBIDDEN"):
        lift_safe_mode(guest, thread_id=thread)
    with pytest.raises(Refusal, match="THREAD_NOT_FOUND"):
        lift_safe_mode(stranger, thread_id=thread)
    assert thread_item(thread).safe_mode_required


def test_a_person_has_a_safe_mode_of_their_own(buyer):
    client = Client()
    client.force_login(buyer, backend=BACKEND)
    assert "Safe mode is <b>on</b>" in client.get(reverse("accounts:settings")).content.decode()
    client.post(reverse("accounts:safe_mode"), {"safe_mode": "off"})
    buyer.refresh_from_db()
    assert not buyer.safe_mode
    assert "Safe mode is <b>off</b>" in client.get(reverse("accounts:settings")).content.decode()
