"""Replies: stored references, quotes that follow the quoted message, and permissions."""

from uuid import uuid4

import pytest

from core.refusals import Refusal
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, make_person, messages_of, say, start
from tests.threads.test_revisions import edit, remove
from threads.actions.messages import send_message
from threads.actions.participants import remove_participant
from threads.dynamodb.store import count_requests
from threads.models import Message
from threads.queries import list_newer, list_older, open_thread, open_thread_at
from threads.rendering.messages import message_view, render_message

NO_MESSAGE = "msg_01JZZZZZZZZZZZZZZZZZZZZZZZ"


def quote_in(opened, message: Message) -> dict:
    (shown,) = [one for one in opened.messages if one.id == message.id]
    return message_view(shown, opened.cached).quote


def fresh(user, message: Message) -> dict:
    """The quote as a newly loaded page shows it."""
    return quote_in(open_thread(user, message.thread_id), message)


def refused(*args, **kwargs) -> str:
    with pytest.raises(Refusal) as refusal:
        say(*args, **kwargs)
    return refusal.value.code


# --- Storage and events


def test_a_reply_stores_the_quoted_message(thread, buyer, seller):
    (first,) = messages_of(thread)
    reply = say(seller, thread, "Yes", reply_to=first.id)
    assert Message.find(reply.pk, reply.sk).reply_to == first.id
    assert_consistent(thread)


def test_the_event_has_the_quote_of_a_new_page(thread, buyer, seller, delivered, cold):
    (first,) = messages_of(thread)
    reply = say(seller, thread, "Yes", reply_to=first.id)
    cold(thread)
    opened = open_thread(buyer, thread)
    for person in (buyer, seller):
        (event,) = delivered.to(person, "message.sent")
        assert event["html"] == render_message(opened.messages[-1], opened.cached)
        assert "Are you free in May?" in event["html"]
    assert fresh(buyer, reply) == {
        "id": first.id,
        "url": f"/threads/{thread}/messages/{first.id}/#{first.id}",
        "author_name": "Bea",
        "text": "Are you free in May?",
        "is_link_only": False,
    }


def test_a_quote_is_shortened_plain_text(thread, buyer, seller):
    first = say(buyer, thread, "**" + "x" * 200 + "** <b>")
    reply = say(seller, thread, reply_to=first.id)
    assert fresh(buyer, reply)["text"] == "x" * 140


def test_a_reply_to_a_reply_quotes_only_the_latter(thread, buyer, seller):
    (first,) = messages_of(thread)
    second = say(seller, thread, "The second", reply_to=first.id)
    third = say(buyer, thread, "The third", reply_to=second.id)
    assert fresh(buyer, third)["text"] == "The second"


# --- Changes of the quoted message


def test_a_quote_follows_an_edit(thread, buyer, seller):
    first = say(buyer, thread, "In May")
    reply = say(seller, thread, reply_to=first.id)
    edit(buyer, first, "In June")
    assert fresh(seller, reply)["text"] == "In June"


def test_a_quote_follows_a_removal(thread, buyer, seller):
    first = say(buyer, thread, "Unforgettable")
    reply = say(seller, thread, reply_to=first.id)
    remove(buyer, first)
    assert fresh(seller, reply)["text"] == "This message was removed."
    opened = open_thread(seller, thread)
    assert "Unforgettable" not in "".join(render_message(m, opened.cached) for m in opened.messages)


def test_a_removed_reply_has_no_quote(thread, buyer, seller):
    (first,) = messages_of(thread)
    reply = say(seller, thread, reply_to=first.id)
    remove(seller, reply)
    assert fresh(buyer, reply) is None


def test_a_quote_of_an_old_message_is_on_every_page(thread, buyer, seller):
    (first,) = messages_of(thread)
    replies = []
    for _ in range(3):
        replies.append(say(seller, thread, reply_to=first.id))
        for _ in range(30):
            say(buyer, thread)
    newest = open_thread(buyer, thread)
    assert newest.messages[0].seq > replies[1].seq
    assert quote_in(newest, replies[2])["text"] == "Are you free in May?"
    older = list_older(buyer, thread, before=newest.messages[0].id)
    assert quote_in(older, replies[1])["text"] == "Are you free in May?"
    newer = list_newer(buyer, thread, after=replies[0].id)
    assert quote_in(newer, replies[1])["text"] == "Are you free in May?"
    around = open_thread_at(buyer, thread, replies[1].id)
    assert quote_in(around, replies[1])["text"] == "Are you free in May?"


# --- Participants who joined later


def test_a_quote_is_only_a_link_while_a_later_participant_cannot_see_it(thread, buyer, seller):
    (first,) = messages_of(thread)
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    reply = say(seller, thread, reply_to=first.id)
    for person in (buyer, seller, guest):
        quote = fresh(person, reply)
        assert (quote["is_link_only"], quote["text"], quote["author_name"]) == (True, "", "")
        assert quote["url"].endswith(first.id)
    remove_participant(buyer, thread_id=thread, user_id=guest.id)
    assert fresh(buyer, reply)["text"] == "Are you free in May?"


def test_only_the_link_is_published_while_a_later_participant_cannot_see_it(
    thread, buyer, seller, delivered
):
    (first,) = messages_of(thread)
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    delivered.clear()
    reply = say(seller, thread, "Yes", reply_to=first.id)
    edit(seller, reply, "No")
    assert "free in May" not in str(delivered)
    assert first.id in delivered.to(guest, "message.edited")[0]["html"]


def test_a_message_visible_to_all_is_quoted_in_full(thread, buyer):
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    second = say(buyer, thread, "For all three")
    reply = say(guest, thread, reply_to=second.id)
    assert fresh(guest, reply)["text"] == "For all three"


# --- Refusals


def test_an_invisible_message_cannot_be_quoted(thread, buyer, seller):
    (first,) = messages_of(thread)
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    assert refused(guest, thread, reply_to=first.id) == "BAD_FRAME"
    assert refused(guest, thread, reply_to=NO_MESSAGE) == "BAD_FRAME"
    assert len(messages_of(thread)) == 2


def test_a_rejoined_participant_cannot_quote_earlier_messages(thread, buyer, other_process):
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    seen = say(buyer, thread)
    other_process.do(remove_participant, buyer, thread_id=thread, user_id=guest.id)
    other_process.do(add_friend, buyer, thread_id=thread, user=guest)
    # The stale cache still has the earlier participation.
    assert refused(guest, thread, reply_to=seen.id) == "BAD_FRAME"


def test_a_message_of_another_thread_cannot_be_quoted(thread, buyer, seller):
    foreign = messages_of(start(buyer, seller))[0]
    assert refused(buyer, thread, reply_to=foreign.id) == "BAD_FRAME"
    assert len(messages_of(thread)) == 1


def test_a_stranger_is_refused_like_for_a_missing_thread(thread, stranger):
    (first,) = messages_of(thread)
    assert refused(stranger, thread, reply_to=first.id) == "THREAD_NOT_FOUND"
    assert refused(stranger, thread, reply_to=NO_MESSAGE) == "THREAD_NOT_FOUND"


# --- Idempotency and cost


def test_a_repeated_reply_is_stored_once(thread, seller, delivered):
    (first,) = messages_of(thread)
    fields = {"thread_id": thread, "client_id": str(uuid4()), "body": "Yes", "reply_to": first.id}
    once, again = send_message(seller, **fields), send_message(seller, **fields)
    assert (once.id, once.seq) == (again.id, again.seq)
    assert len(delivered.to(seller, "message.sent")) == 1


@pytest.mark.parametrize("other", ["none", "another"])
def test_the_same_client_id_with_another_quote_is_refused(thread, buyer, seller, other):
    (first,) = messages_of(thread)
    reply_to = None if other == "none" else say(buyer, thread).id
    fields = {"thread_id": thread, "client_id": str(uuid4()), "body": "Yes"}
    send_message(seller, **fields, reply_to=first.id)
    count = len(messages_of(thread))
    with pytest.raises(Refusal) as refusal:
        send_message(seller, **fields, reply_to=reply_to)
    assert refusal.value.code == "CLIENT_ID_REUSED"
    assert len(messages_of(thread)) == count


def test_a_reply_costs_two_requests(thread, seller):
    (first,) = messages_of(thread)
    with count_requests() as requests:
        say(seller, thread, reply_to=first.id)
    assert requests == ["GetItem", "TransactWriteItems"]


def test_a_page_costs_one_more_request_only_for_quotes_outside_it(thread, buyer, seller):
    (first,) = messages_of(thread)
    say(seller, thread, reply_to=first.id)
    with count_requests() as requests:
        open_thread(buyer, thread)
    assert requests == ["Query"]
    for _ in range(49):
        say(buyer, thread)
    with count_requests() as requests:
        open_thread(buyer, thread)
    assert requests == ["Query", "BatchGetItem"]
