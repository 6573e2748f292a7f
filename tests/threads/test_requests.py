"""A first contact is a request: one message, no events back, and an optional answer."""

from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
import time_machine
from django.test import Client

from core.refusals import Refusal
from inbox.queries import UNREAD, count_rows, list_folder, list_unread
from tests.threads.checker import assert_consistent
from tests.threads.conftest import (
    add_friend,
    ask,
    befriend,
    deliver_newest,
    make_person,
    messages_of,
    read_newest,
    row,
    say,
)
from threads import cache
from threads.actions.blocks import block_person
from threads.actions.folders import restore_thread
from threads.actions.participants import leave_thread
from threads.actions.requests import accept_request, decline_request
from threads.actions.revisions import edit_message
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.events import list_cursors
from threads.models import Pair
from threads.queries import open_thread

pytestmark = pytest.mark.indexes

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def ids(user, folder: str) -> list[str]:
    return [each.thread_id for each in list_folder(user, folder).rows]


def refusal(action, *args, **kwargs) -> str:
    with pytest.raises(Refusal) as refused:
        action(*args, **kwargs)
    return refused.value.code


@pytest.fixture
def request_(buyer, seller) -> str:
    return ask(buyer, seller)


def test_a_request_is_listed_in_requests_and_not_unread(request_, buyer, seller):
    assert ids(seller, "requests") == [request_]
    assert ids(seller, "inbox") == []
    assert ids(buyer, "inbox") == [request_]
    assert list_unread(seller).rows == []
    counts = count_rows(seller)
    assert (counts["requests"], counts[UNREAD]) == (1, 0)
    (mine,) = list_folder(seller, "requests").rows
    assert (mine.request_state, mine.unread) == ("pending", 1)
    assert_consistent(request_)


def test_neither_side_can_send_before_acceptance(request_, buyer, seller):
    (first,) = messages_of(request_)
    for user in (buyer, seller):
        for warm in (True, False):
            if not warm:
                cache.invalidate(request_)
            assert refusal(say, user, request_) == "REQUEST_PENDING"
    guest = make_person("Gus")
    assert refusal(add_friend, buyer, thread_id=request_, user=guest) == "REQUEST_PENDING"
    code = refusal(
        edit_message, buyer, thread_id=request_, message_id=first.id, body="Something else"
    )
    assert code == "REQUEST_PENDING"
    assert len(messages_of(request_)) == 1


def test_acceptance_is_a_condition_of_the_write(request_, buyer, seller):
    """A process whose cache has the thread as accepted cannot send either."""
    cached = cache.reload(request_)
    for person in cached.people.values():
        person.request_state = None
    assert refusal(say, buyer, request_) == "REQUEST_PENDING"
    assert len(messages_of(request_)) == 1


def test_a_request_publishes_no_delivery_or_read_cursor(request_, buyer, seller, delivered):
    delivered.clear()
    deliver_newest(seller, request_)
    read_newest(seller, request_)
    assert not delivered.to(buyer)
    assert delivered.to(seller, "cursor.moved")
    opened = open_thread(buyer, request_)
    assert list_cursors(opened, reader_id=buyer.id) == []


def test_accepting_opens_the_thread_for_both(request_, buyer, seller, delivered):
    delivered.clear()
    accept_request(seller, thread_id=request_)
    assert ids(seller, "inbox") == [request_]
    assert ids(seller, "requests") == []
    assert [each.thread_id for each in list_unread(seller).rows] == [request_]
    for user in (buyer, seller):
        (changed,) = delivered.to(user, "inbox.changed")
        assert (changed["folder"], changed["request"]) == ("inbox", False)
        assert delivered.to(user, "thread.changed")
    say(seller, request_)
    say(buyer, request_)
    assert Pair.find(keys.pair_pk(buyer.id, seller.id), keys.STATE).accepted
    assert_consistent(request_)
    # Accepting is idempotent.
    accept_request(seller, thread_id=request_)
    decline_request(seller, thread_id=request_)
    assert ids(seller, "inbox") == [request_]


def test_users_with_an_accepted_thread_need_no_request(request_, buyer, seller):
    accept_request(seller, thread_id=request_)
    again, back = ask(buyer, seller), ask(seller, buyer)
    assert set(ids(seller, "inbox")) == {request_, again, back}
    say(buyer, again)
    say(buyer, back)


def test_declining_is_silent_and_looks_pending_to_the_sender(request_, buyer, seller, delivered):
    before = row(request_, buyer).attribute_values
    pair = Pair.find(keys.pair_pk(buyer.id, seller.id), keys.STATE).attribute_values
    delivered.clear()
    decline_request(seller, thread_id=request_)
    assert not delivered.to(buyer)
    assert row(request_, buyer).attribute_values == before
    assert Pair.find(keys.pair_pk(buyer.id, seller.id), keys.STATE).attribute_values == pair
    assert ids(seller, "requests") == []
    assert ids(seller, "archived") == [request_]
    assert refusal(say, buyer, request_) == "REQUEST_PENDING"
    assert refusal(ask, buyer, seller) == "REQUEST_PENDING"
    assert_consistent(request_)


def test_a_declined_request_can_be_accepted_later(request_, buyer, seller):
    decline_request(seller, thread_id=request_)
    restore_thread(seller, thread_id=request_)
    assert ids(seller, "requests") == [request_]
    accept_request(seller, thread_id=request_)
    say(seller, request_)


def test_a_request_declined_as_spam_is_in_spam(request_, seller):
    decline_request(seller, thread_id=request_, as_spam=True)
    assert ids(seller, "spam") == [request_]


def test_a_block_takes_precedence_over_a_request(request_, buyer, seller):
    decline_request(seller, thread_id=request_)
    block_person(seller, blocked=buyer)
    # The sender sees a pending request.
    assert refusal(ask, buyer, seller) == refusal(say, buyer, request_) == "REQUEST_PENDING"
    assert refusal(accept_request, seller, thread_id=request_) == "MSG_BLOCKED_BY_USER"


def test_only_the_recipient_can_answer_a_request(request_, buyer, seller, stranger):
    accept_request(buyer, thread_id=request_)
    decline_request(buyer, thread_id=request_)
    assert row(request_, seller).request_state == "pending"
    for answer in (accept_request, decline_request):
        assert refusal(answer, stranger, thread_id=request_) == "THREAD_NOT_FOUND"


def test_only_one_request_to_a_user_can_be_pending(request_, buyer, seller):
    assert refusal(ask, buyer, seller, "And another thing") == "REQUEST_PENDING"
    assert ids(seller, "requests") == [request_]


def test_a_thread_started_by_the_recipient_is_not_a_request(request_, buyer, seller):
    thread = ask(seller, buyer)
    assert thread in ids(buyer, "inbox")
    say(buyer, thread)


def test_a_repeated_request_returns_the_stored_thread(buyer, seller):
    client_id = str(uuid4())
    thread = ask(buyer, seller, client_id=client_id)
    assert ask(buyer, seller, client_id=client_id) == thread
    assert refusal(ask, buyer, seller, "Otherwise", client_id=client_id) == "CLIENT_ID_REUSED"
    assert ids(seller, "requests") == [thread]


def test_a_request_cannot_be_accepted_after_its_sender_left(request_, buyer, seller):
    leave_thread(buyer, thread_id=request_)
    assert refusal(accept_request, seller, thread_id=request_) == "ACTION_FORBIDDEN"


# --- Expiry


def test_a_request_expires_after_fourteen_days(buyer, seller):
    with time_machine.travel(datetime(2026, 11, 1, 12, tzinfo=UTC)) as clock:
        thread = ask(buyer, seller)
        clock.shift(timedelta(days=13, hours=23))
        assert ids(seller, "requests") == [thread]
        assert refusal(ask, buyer, seller) == "REQUEST_PENDING"
        clock.shift(timedelta(hours=2))
        assert ids(seller, "requests") == []
        assert count_rows(seller)["requests"] == 0
        assert refusal(accept_request, seller, thread_id=thread) == "ACTION_FORBIDDEN"
        with pytest.raises(Refusal, match="has expired"):
            say(buyer, thread)
        another = ask(buyer, seller)
        assert ids(seller, "requests") == [another]
        accept_request(seller, thread_id=another)
        say(buyer, another)


# --- Limits


def new_since(user, day: datetime) -> None:
    user.date_joined = day
    user.save()


def test_a_new_account_may_start_three_threads_per_hour(buyer):
    people = [make_person("Una") for _ in range(5)]
    with time_machine.travel(datetime(2026, 11, 2, 12, tzinfo=UTC)) as clock:
        new_since(buyer, datetime(2026, 11, 1, tzinfo=UTC))
        for person in people[:3]:
            ask(buyer, person)
        with pytest.raises(Refusal) as refused:
            ask(buyer, people[3])
        assert refused.value.code == "RATE_LIMITED"
        assert 1190 <= refused.value.retry_after <= 1200
        assert ids(people[3], "requests") == []
        # Existing connections are exempt.
        befriend(buyer, people[3])
        ask(buyer, people[3])
        clock.shift(timedelta(seconds=refused.value.retry_after))
        ask(buyer, people[4])


def test_starts_per_day_are_limited(buyer, settings):
    settings.START_LIMITS = (3, 5)
    people = [make_person("Una") for _ in range(7)]
    with time_machine.travel(datetime(2026, 11, 2, 12, tzinfo=UTC)) as clock:
        new_since(buyer, datetime(2026, 11, 1, tzinfo=UTC))
        for number, person in enumerate(people[:5]):
            clock.shift(timedelta(minutes=20 * (number > 2)))
            ask(buyer, person)
        clock.shift(timedelta(hours=1))
        with pytest.raises(Refusal) as refused:
            ask(buyer, people[5])
        assert 3 * 3600 < refused.value.retry_after < 5 * 3600
        clock.shift(timedelta(seconds=refused.value.retry_after))
        ask(buyer, people[5])


@pytest.mark.parametrize("established", ["verified", "old"])
def test_an_established_account_may_start_ten_threads_per_hour(buyer, established):
    if established == "verified":
        buyer.verified = True
    else:
        buyer.date_joined = datetime.now(UTC) - timedelta(days=31)
    buyer.save()
    for _ in range(10):
        ask(buyer, make_person("Una"))
    assert refusal(ask, buyer, make_person("Una")) == "RATE_LIMITED"


def test_a_refused_request_consumes_no_token(buyer, seller):
    block_person(seller, blocked=buyer)
    for _ in range(5):
        assert refusal(ask, buyer, seller) == "MSG_BLOCKED_BY_USER"
    for _ in range(3):
        ask(buyer, make_person("Una"))


def test_request_cost_of_a_first_contact(buyer, seller):
    with count_requests() as requests:
        thread = ask(buyer, seller)
    assert requests == ["BatchGetItem", "TransactWriteItems"]
    with count_requests() as requests:
        accept_request(seller, thread_id=thread)
    assert requests == ["Query", "TransactWriteItems", "Query", "Query"]


# --- Requirements of the recipient


def test_a_recipient_can_require_verified_senders(buyer, seller):
    seller.requires_verified = True
    seller.save()
    assert refusal(ask, buyer, seller) == "MSG_GATE_REQUIRED"
    befriend(buyer, seller)
    ask(buyer, seller)
    una = make_person("Una")
    una.verified = True
    una.save()
    ask(una, seller)


def test_the_form_requires_a_date_and_a_budget(buyer, seller):
    seller.requires_date = seller.requires_budget = True
    seller.save()
    client = Client()
    client.force_login(buyer, backend=BACKEND)
    url = f"/people/{seller.handle}/start/"
    fields = {"what": "A shoot", "message": "Hello", "client_id": str(uuid4())}
    answer = client.post(url, fields)
    assert answer.status_code == 400
    assert answer.content.decode().count("This field is required") == 2
    answer = client.post(url, fields | {"when": "In May", "budget": "1,000 EUR"})
    assert answer.status_code == 302
    befriend(buyer, seller)
    assert client.post(url, fields | {"client_id": str(uuid4())}).status_code == 302
