"""Frames that a socket sends and receives; what they store is tested with the actions."""

import json
import urllib.request

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

pytestmark = pytest.mark.live


@pytest.fixture
def buyer(site, pair):
    with site.connect(pair.buyer) as client:
        client.hear("hello")
        yield client


@pytest.fixture
def seller(site, pair):
    with site.connect(pair.seller) as client:
        client.hear("hello")
        yield client


def test_a_signed_in_user_receives_hello(site, pair):
    with site.connect(pair.buyer) as client:
        hello = client.hear("hello")
    assert hello["user"] == pair.buyer.id
    assert hello["connection"].startswith("conn_")
    assert hello["protocol"] == 2


def test_a_message_is_accepted_and_reaches_both_sides(pair, buyer, seller):
    client_id = buyer.send(pair.thread, "Hello *there*")

    accepted = buyer.hear("message.accepted")
    assert accepted["client_id"] == client_id
    for client in (buyer, seller):
        sent = next((e for e in client.heard if e["type"] == "message.sent"), None)
        sent = sent or client.hear("message.sent")
        assert (sent["message"], sent["seq"]) == (accepted["message"], accepted["seq"])
        assert sent["client_id"] == client_id
        assert "<em>there</em>" in sent["html"]
        assert f'data-author="{pair.buyer.id}"' in sent["html"]
    assert seller.hear("inbox.changed")["last_message"]["text"] == "Hello there"


@pytest.mark.parametrize("size", [1, 125, 126, 65_000])
def test_frames_of_every_length_are_sent_and_received(pair, buyer, seller, size):
    body = "é" * min(size, 4000)
    buyer.send(pair.thread, body)
    assert seller.hear("message.sent")["body"] == body
    buyer.say("ping", t=1, padding="x" * min(size, 60_000))
    assert buyer.hear("pong", "error")["type"] in ("pong", "error")


def test_a_client_cannot_set_the_address_that_links_are_built_from(site, pair, seller):
    """Rendered links are cached for all users."""
    other_site = "https://elsewhere.example"
    request = urllib.request.Request(f"{site.url}/threads/{pair.thread}/")
    request.add_header("Cookie", f"sessionid={pair.buyer.cookie}")
    request.add_header("Daphne-Root-Path", other_site)
    with urllib.request.urlopen(request, timeout=30) as response:
        assert other_site not in response.read().decode()
    seller.send(pair.thread, "And now?")
    assert other_site not in seller.hear("message.sent")["html"]


def test_a_message_reaches_the_senders_other_device(site, pair, buyer):
    with site.connect(pair.buyer) as other_device:
        other_device.hear("hello")
        buyer.send(pair.thread, "From the desk")
        assert other_device.hear("message.sent")["body"] == "From the desk"


def test_messages_of_one_socket_are_stored_in_the_order_of_arrival(pair, buyer, seller):
    for number in range(20):
        buyer.send(pair.thread, f"number {number}")
    received = [seller.hear("message.sent") for _ in range(20)]
    assert [event["body"] for event in received] == [f"number {n}" for n in range(20)]
    seqs = [event["seq"] for event in received]
    assert seqs == list(range(seqs[0], seqs[0] + 20))


def test_opening_a_thread_returns_the_messages_after_the_given_one(pair, buyer, seller):
    buyer.say("thread.open", thread=pair.thread)
    held = buyer.hear("thread.synced")
    assert held["last_seq"] == 3
    assert [m["seq"] for m in held["messages"]] == [1, 2, 3]

    seller.send(pair.thread, "While you were away")
    seller.hear("message.accepted")
    buyer.say("thread.open", thread=pair.thread, after=held["messages"][-1]["message"])
    missed = buyer.hear("thread.synced")
    assert [m["body"] for m in missed["messages"]] == ["While you were away"]
    assert missed["more"] is False
    assert {cursor["user"] for cursor in missed["cursors"]} == {pair.buyer.id, pair.seller.id}


def test_a_long_absence_is_synced_page_by_page_in_order(pair, buyer, seller):
    seller.say("thread.open", thread=pair.thread)
    after = seller.hear("thread.synced")["messages"][-1]["message"]
    for number in range(120):
        buyer.send(pair.thread, f"missed {number}")
    for _ in range(120):
        buyer.hear("message.accepted")

    missed: list[str] = []
    more = True
    while more:
        seller.say("thread.open", thread=pair.thread, after=after)
        page = seller.hear("thread.synced")
        missed += [m["body"] for m in page["messages"]]
        after, more = page["messages"][-1]["message"], page["more"]
    assert missed == [f"missed {n}" for n in range(120)]


def test_reading_clears_the_unread_count_and_is_published_to_the_other_user(pair, buyer, seller):
    buyer.send(pair.thread, "Read me")
    sent = seller.hear("message.sent")
    fields = {key: sent[key] for key in ("message", "seq", "tally")}
    seller.say("thread.mark_read", thread=pair.thread, **fields)

    cursor_event = buyer.hear("cursor.moved")
    assert (cursor_event["user"], cursor_event["read_seq"]) == (pair.seller.id, sent["seq"])
    while True:
        changed = seller.hear("inbox.changed")
        if changed["unread"] == 0:
            break


def test_a_ping_is_answered(buyer):
    buyer.say("ping", t=42)
    assert buyer.hear("pong")["t"] == 42


# --- Refusals


def test_a_repeated_send_gets_the_same_response_and_is_not_published_again(pair, buyer, seller):
    client_id = buyer.send(pair.thread, "Once")
    first = buyer.hear("message.accepted")
    buyer.send(pair.thread, "Once", client_id)
    assert buyer.hear("message.accepted") == first
    buyer.send(pair.thread, "The end")
    seller.hear("message.sent")
    assert seller.hear("message.sent")["body"] == "The end"


@pytest.mark.parametrize("body", ["", "   ", "\n"])
def test_an_empty_message_is_refused_under_its_client_id(pair, buyer, body):
    client_id = buyer.send(pair.thread, body)
    error = buyer.hear("error")
    assert (error["code"], error["client_id"]) == ("MSG_EMPTY", client_id)
    assert error["message"]
    assert error["hint"]
    assert error["corr_id"]


def test_a_message_that_is_too_long_is_refused_with_the_limit(pair, buyer):
    buyer.send(pair.thread, "x" * 8001)
    error = buyer.hear("error")
    assert error["code"] == "MSG_TOO_LONG"
    assert "8,000" in error["message"]


def test_every_refusal_is_logged_without_the_text(site, pair, buyer):
    secret = "a very private sentence " * 400
    buyer.send(pair.thread, secret)
    error = buyer.hear("error")
    assert error["corr_id"] in site.logs()
    assert "very private sentence" not in site.logs()


@pytest.mark.parametrize(
    "frame",
    [
        "not json",
        "[]",
        "42",
        '"message.send"',
        "{}",
        '{"type": 7}',
        '{"type": "message.explode"}',
        '{"type": "message.send"}',
        '{"type": "thread.open"}',
        '{"type": "thread.open", "thread": "thrd_1"}',
        '{"type": "thread.open", "thread": ["thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"]}',
        "{" * 5000,
        '{"type": "message.send", "thread": null, "client_id": {}, "body": []}',
    ],
)
def test_an_unreadable_frame_is_refused_and_the_socket_stays_open(buyer, frame):
    buyer.socket.send(frame)
    assert buyer.hear("error")["code"] == "BAD_FRAME"
    buyer.say("ping", t=1)
    assert buyer.hear("pong")


def test_bytes_are_refused(buyer):
    buyer.socket.send(b"\x00\x01")
    assert buyer.hear("error")["code"] == "BAD_FRAME"


def test_a_frame_of_64_kb_and_more_is_refused_and_closes_the_socket(pair, buyer):
    buyer.send(pair.thread, "x" * 64 * 1024)
    error = buyer.hear("error")
    assert error["code"] == "BAD_FRAME"
    assert "64 KB" in error["hint"]
    with pytest.raises(ConnectionClosed) as closed:
        buyer.hear("nothing")
    assert closed.value.rcvd.code == 4413


def test_a_frame_far_above_the_limit_is_not_read(pair, buyer):
    with pytest.raises(ConnectionClosed):
        _send_and_receive(buyer, pair.thread, "x" * 1024 * 1024)
    assert not [event for event in buyer.heard if event["type"] == "error"]


def _send_and_receive(client, thread, body):
    client.send(thread, body)
    client.hear("nothing")


def test_a_suspended_user_cannot_connect(site, pair):
    suspend = f"from accounts.models import User; User.objects.filter(pk='{pair.buyer.id}')"
    site.manage("shell", "-v", "0", "-c", f"{suspend}.update(is_active=False)")
    with site.connect(pair.buyer) as client, pytest.raises(ConnectionClosed) as closed:
        client.hear("hello")
    assert closed.value.rcvd.code == 4401


def test_a_socket_without_a_session_is_closed_with_a_code(site):
    with site.connect(None) as client, pytest.raises(ConnectionClosed) as closed:
        client.hear("hello")
    assert closed.value.rcvd.code == 4401


@pytest.mark.parametrize("origin", ["https://evil.example", "null", None, "http://127.0.0.1:1"])
def test_another_origin_is_rejected_even_with_a_session(site, pair, origin):
    with pytest.raises(InvalidStatus) as refused:
        site.connect(pair.buyer, origin=origin)
    assert refused.value.response.status_code == 403


def test_a_thread_of_other_users_looks_like_one_that_does_not_exist(site, pair, buyer):
    others = site.pair().thread
    unknown = "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"
    responses = []
    for thread in (others, unknown):
        buyer.say("thread.open", thread=thread)
        error = buyer.hear("error")
        responses.append(json.dumps(error | {"corr_id": ""}))
    assert responses[0] == responses[1]
    assert "THREAD_NOT_FOUND" in responses[0]
