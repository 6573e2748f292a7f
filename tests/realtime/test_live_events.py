"""Socket events other than sends: changes, sync, drafts, typing, presence, pending messages."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from accounts.sign_in.sessions import session_hash
from tests.realtime.visitor import Visitor, handle_of, items_of
from tests.site import Account, Client, Site
from tests.wait import wait_until

pytestmark = pytest.mark.live
FIELDS = ("message", "seq", "tally")


@contextmanager
def connected(site: Site, account: Account) -> Iterator[Client]:
    with site.connect(account) as client:
        client.hear("hello")
        yield client


@pytest.fixture
def buyer(site, pair):
    with connected(site, pair.buyer) as client:
        yield client


@pytest.fixture
def seller(site, pair):
    with connected(site, pair.seller) as client:
        yield client


def send_message(client: Client, thread: str, body: str = "Hello", **fields) -> dict:
    """Sends a message and returns its event, as every participant receives it."""
    client.send(thread, body, **fields)
    accepted = client.hear("message.accepted")
    events = [e for e in client.heard if e["type"] == "message.sent"]
    while not events or events[-1]["message"] != accepted["message"]:
        events.append(client.hear("message.sent"))
    return events[-1]


def open_thread(client: Client, thread: str, **fields) -> dict:
    client.say("thread.open", thread=thread, **fields)
    return client.hear("thread.synced")


def open_and_receive_presence(client: Client, thread: str, people: int = 1) -> list[dict]:
    """Opens the thread and returns the presence events of the other participants."""
    open_thread(client, thread)
    return [client.hear("presence.changed") for _ in range(people)]


def event_types_until(client: Client, body: str) -> list[str]:
    """The types of the events up to a message; events arrive in the order of publication."""
    types = []
    while True:
        event = client.hear()
        types.append(event["type"])
        if event["type"] == "message.sent" and event["body"] == body:
            return types


def join(site: Site, visitor: Visitor, thread: str, guest: Account) -> None:
    """Invites the guest, who accepts."""
    visitor.post(f"/threads/{thread}/add/", handle=handle_of(guest))
    assert Visitor.of(site, guest).post(f"/threads/{thread}/accept/")[0] == 302


# --- Changes

CHANGES = {
    "message.edited": ("message.edit", {"body": "Otherwise"}),
    "message.removed": ("message.remove", {}),
    "message.reacted": ("message.react", {"reaction": "👍", "on": True}),
}


@pytest.mark.parametrize("event", CHANGES)
def test_a_change_reaches_both_users_and_the_authors_other_device(site, pair, buyer, seller, event):
    command, fields = CHANGES[event]
    with connected(site, pair.buyer) as phone:
        sent = send_message(buyer, pair.thread)
        buyer.say(command, thread=pair.thread, message=sent["message"], **fields)
        events = [client.hear(event, "error") for client in (buyer, phone, seller)]
    assert events[0] == events[1] == events[2]
    assert (events[0]["message"], events[0]["seq"]) == (sent["message"], sent["seq"])
    assert events[0]["rev"] == 1
    assert f'data-message="{sent["message"]}"' in events[0]["html"]


@pytest.mark.parametrize("event", ["message.edited", "message.removed"])
def test_a_refused_change_names_the_message(pair, buyer, seller, event):
    command, fields = CHANGES[event]
    sent = send_message(buyer, pair.thread)
    seller.say(command, thread=pair.thread, message=sent["message"], **fields)
    error = seller.hear("error", event)
    assert (error["code"], error["message_id"]) == ("MSG_NOT_EDITABLE", sent["message"])


def test_a_reply_contains_its_quote(pair, buyer, seller):
    first = send_message(buyer, pair.thread, "Where is it?")
    send_message(seller, pair.thread, "Here", reply_to=first["message"])
    while True:
        received = buyer.hear("message.sent")
        if received["body"] == "Here":
            break
    assert f'data-quote="{first["message"]}"' in received["html"]
    assert "Where is it?" in received["html"]


# --- Sync


def test_a_sync_returns_new_messages_and_changed_messages(pair, buyer, seller):
    held = open_thread(buyer, pair.thread)["messages"]
    sent = send_message(seller, pair.thread, "One")
    for client, message in ((seller, sent), (buyer, held[0])):
        fields = {"reaction": "🎉", "on": True}
        client.say("message.react", thread=pair.thread, message=message["message"], **fields)
        client.hear("message.reacted")
    window = {"after": held[-1]["message"], "oldest": held[0]["message"], "rev": 0}
    synced = open_thread(buyer, pair.thread, **window)
    assert [m["body"] for m in synced["messages"]] == ["One"]
    assert "🎉" in synced["messages"][0]["html"]
    assert [c["message"] for c in synced["changed"]] == [held[0]["message"]]
    assert (synced["rev"], synced["more"]) == (2, False)


def test_the_draft_and_presence_follow_a_sync_in_order(pair, buyer, seller):
    buyer.say("draft.save", thread=pair.thread, text="Could we", version=0)
    buyer.hear("draft.changed")
    open_thread(buyer, pair.thread)
    assert buyer.hear() == {
        "type": "draft.changed",
        "thread": pair.thread,
        "text": "Could we",
        "version": 1,
    }
    assert buyer.hear() == {
        "type": "presence.changed",
        "thread": pair.thread,
        "user": pair.seller.id,
        "online": True,
        "last_seen_at": "",
    }


def test_no_frame_is_longer_than_256_kb(pair, buyer, seller):
    held = open_thread(buyer, pair.thread)["messages"][-1]["message"]
    for number in range(45):
        seller.send(pair.thread, f"{number:02d} ".ljust(8000, "写"))
    for _ in range(45):
        seller.hear("message.accepted", timeout=30)
    found, more = [], True
    while more:
        buyer.say("thread.open", thread=pair.thread, after=held)
        while True:
            frame = buyer.socket.recv(timeout=30)
            assert len(frame.encode()) <= 256 * 1024
            synced = json.loads(frame)
            if synced["type"] == "thread.synced":
                break
        assert synced["messages"]
        found += [m["body"][:2] for m in synced["messages"]]
        held, more = synced["messages"][-1]["message"], synced["more"]
    assert found == [f"{number:02d}" for number in range(45)]


# --- Drafts


def test_a_draft_is_published_to_the_users_other_device_and_not_to_the_other_user(
    site, pair, buyer, seller
):
    with connected(site, pair.buyer) as phone:
        buyer.say("draft.save", thread=pair.thread, text="Could we", version=0)
        assert phone.hear("draft.changed")["text"] == "Could we"
        phone.say("draft.save", thread=pair.thread, text="Something else", version=0)
        both = phone.hear("draft.changed")
    assert (both["text"], both["version"]) == ("Could we\n\nSomething else", 2)
    send_message(buyer, pair.thread, "The end")
    assert "draft.changed" not in event_types_until(seller, "The end")


# --- Typing


def test_typing_is_published_to_users_who_have_the_thread_open(site, pair, buyer, seller):
    with connected(site, pair.seller) as inbox:
        open_and_receive_presence(buyer, pair.thread)
        open_and_receive_presence(seller, pair.thread)
        for command, event in (("start", "started"), ("stop", "stopped")):
            buyer.say(f"typing.{command}", thread=pair.thread)
            assert seller.hear(f"typing.{event}") == {
                "type": f"typing.{event}",
                "thread": pair.thread,
                "user": pair.buyer.id,
            }
        send_message(buyer, pair.thread, "The end")
        assert not [k for k in event_types_until(inbox, "The end") if k.startswith("typing")]
    received = [e["type"] for e in buyer.heard]
    assert not [kind for kind in received if kind.startswith("typing")]


def test_typing_is_not_published_to_a_socket_that_closed_the_thread(pair, buyer, seller):
    open_and_receive_presence(buyer, pair.thread)
    open_and_receive_presence(seller, pair.thread)
    seller.say("thread.close", thread=pair.thread)
    seller.say("ping", t=1)
    seller.hear("pong")
    buyer.say("typing.start", thread=pair.thread)
    send_message(buyer, pair.thread, "The end")
    assert "typing.started" not in event_types_until(seller, "The end")


def test_typing_of_a_stranger_is_not_published(site, pair, buyer, seller):
    stranger = site.pair()
    open_and_receive_presence(buyer, pair.thread)
    with connected(site, stranger.buyer) as other:
        other.say("thread.open", thread=pair.thread)
        assert other.hear("error")["code"] == "THREAD_NOT_FOUND"
        other.say("typing.start", thread=pair.thread)
        other.say("ping", t=1)
        assert other.hear()["type"] == "pong"
    send_message(seller, pair.thread, "The end")
    assert "typing.started" not in event_types_until(buyer, "The end")


# --- Presence


def test_a_user_is_online_until_their_last_device_disconnects(site, pair, buyer):
    (events,) = open_and_receive_presence(buyer, pair.thread)
    assert events["online"] is False
    with site.connect(pair.seller) as desk:
        assert buyer.hear("presence.changed")["online"] is True
        with site.connect(pair.seller) as phone:
            phone.hear("hello")
            desk.hear("hello")
            desk.socket.close()
            send_message(phone, pair.thread, "Still here")
            assert "presence.changed" not in event_types_until(buyer, "Still here")
    offline = buyer.hear("presence.changed")
    assert (offline["online"], offline["user"], offline["thread"]) == (
        False,
        pair.seller.id,
        pair.thread,
    )
    assert offline["last_seen_at"][:16] <= time.strftime("%Y-%m-%dT%H:%M", time.gmtime())
    assert offline["last_seen_at"].startswith(time.strftime("%Y-%m-%dT", time.gmtime()))


def test_presence_is_not_published_without_an_open_thread(site, pair, buyer):
    with connected(site, pair.seller) as seller:
        send_message(seller, pair.thread, "The end")
    assert "presence.changed" not in event_types_until(buyer, "The end")


def test_presence_of_two_threads_is_not_mixed_up(site, pair, buyer, seller):
    other = site.pair()
    visitor = Visitor.of(site, other.buyer)
    join(site, visitor, other.thread, pair.buyer)
    buyer.hear("thread.changed")  # In an open thread, this event would cause another sync.
    (online_event,) = open_and_receive_presence(buyer, pair.thread)
    assert online_event["online"] is True
    events = open_and_receive_presence(buyer, other.thread, people=2)
    assert [event["thread"] for event in events] == [other.thread] * 2
    send_message(seller, pair.thread, "Still here")
    assert "presence.changed" not in event_types_until(buyer, "Still here")


@pytest.mark.parametrize("blocker", ["buyer", "seller"])
def test_users_with_a_block_between_them_receive_nothing_about_each_other(site, pair, blocker):
    with connected(site, pair.buyer) as buyer:
        with connected(site, pair.seller) as seller:
            open_and_receive_presence(buyer, pair.thread)
            open_and_receive_presence(seller, pair.thread)
            one, other = (
                (pair.buyer, pair.seller) if blocker == "buyer" else (pair.seller, pair.buyer)
            )
            Visitor.of(site, one).post(f"/threads/{pair.thread}/block/", user_id=other.id)
            for client in (buyer, seller):
                client.hear("thread.changed")
            before = len(buyer.heard)
            seller.say("typing.start", thread=pair.thread)
            newest = open_thread(seller, pair.thread)["messages"][-1]
            fields = {name: newest[name] for name in FIELDS}
            seller.say("thread.mark_read", thread=pair.thread, **fields)
            seller.hear("cursor.moved")
        synced = open_thread(buyer, pair.thread)
        assert [cursor["user"] for cursor in synced["cursors"]] == [pair.buyer.id]
        with connected(site, pair.seller):
            buyer.say("ping", t=1)
            buyer.hear("pong")
    received = {event["type"] for event in buyer.heard[before:]}
    assert not received & {"presence.changed", "typing.started", "cursor.moved"}


def test_in_a_group_a_block_hides_presence_and_typing_only_between_the_two(
    site, pair, buyer, seller
):
    guest = site.pair().buyer
    visitor = Visitor.of(site, pair.buyer)
    join(site, visitor, pair.thread, guest)
    with connected(site, guest) as other:
        for client in (buyer, seller, other):
            open_and_receive_presence(client, pair.thread, people=2)
        # Joining and connecting change presence too: wait until everyone has received that.
        send_message(seller, pair.thread, "Everyone is here")
        for client in (buyer, other):
            event_types_until(client, "Everyone is here")
        visitor.post(f"/threads/{pair.thread}/block/", user_id=guest.id)
        events = [buyer.hear("presence.changed"), other.hear("presence.changed")]
        assert [event["user"] for event in events] == [pair.seller.id] * 2
        other.say("typing.start", thread=pair.thread)
        assert seller.hear("typing.started")["user"] == guest.id
        send_message(other, pair.thread, "Both may write")
        assert "typing.started" not in event_types_until(buyer, "Both may write")
    while seller.hear("presence.changed")["online"]:
        pass
    send_message(seller, pair.thread, "The end")
    assert "presence.changed" not in event_types_until(buyer, "The end")


def test_an_invited_user_receives_the_invitation_and_nothing_else(site, pair, buyer, seller):
    guest = site.pair().buyer
    visitor = Visitor.of(site, pair.buyer)
    with connected(site, guest) as other:
        visitor.post(f"/threads/{pair.thread}/add/", handle=handle_of(guest))
        events = other.hear("inbox.changed")
        assert (events["folder"], events["request"], events["unread"]) == ("requests", True, 0)
        before = len(other.heard)
        # An invited user is invisible to the participants until they accept.
        for client in (buyer, seller):
            (presence,) = open_and_receive_presence(client, pair.thread)
            assert presence["user"] != guest.id
        buyer.say("typing.start", thread=pair.thread)
        sent = send_message(buyer, pair.thread, "Not for you")
        event_types_until(seller, "Not for you")
        fields = {name: sent[name] for name in FIELDS}
        for kind, more in (
            ("thread.open", {}),
            ("thread.mark_read", fields),
            ("thread.mark_delivered", fields),
        ):
            other.say(kind, thread=pair.thread, **more)
            assert other.hear("error")["code"] == "THREAD_NOT_FOUND"
        other.say("typing.start", thread=pair.thread)
        other.say("ping", t=1)
        other.hear("pong")
        received = [event["type"] for event in other.heard[before:]]
        assert received == ["error", "error", "error", "pong"]
        send_message(seller, pair.thread, "The end")
        received = event_types_until(buyer, "The end")
        assert not {"typing.started", "cursor.moved", "presence.changed"} & set(received)
        assert Visitor.of(site, guest).post(f"/threads/{pair.thread}/accept/")[0] == 302
        open_and_receive_presence(other, pair.thread, people=2)
        send_message(buyer, pair.thread, "Welcome")
        event_types_until(other, "Welcome")


def test_a_removed_participant_receives_nothing_more(site, pair, buyer, seller):
    guest = site.pair().buyer
    visitor = Visitor.of(site, pair.buyer)
    join(site, visitor, pair.thread, guest)
    with connected(site, guest) as other:
        open_and_receive_presence(other, pair.thread, people=2)
        visitor.post(f"/threads/{pair.thread}/remove/", user_id=guest.id)
        left = other.hear("thread.changed")
        assert (left["status"], left["roster"]) == ("left", [])
        assert other.hear("inbox.changed")["folder"] == ""
        before = len(other.heard)
        open_and_receive_presence(buyer, pair.thread)
        buyer.say("typing.start", thread=pair.thread)
        send_message(buyer, pair.thread, "Without you")
        event_types_until(seller, "Without you")
        other.say("typing.start", thread=pair.thread)
        other.say("ping", t=1)
        other.hear("pong")
    assert [event["type"] for event in other.heard[before:]] == ["pong"]
    send_message(seller, pair.thread, "The end")
    assert "typing.started" not in event_types_until(buyer, "The end")


# --- Pending


def test_missed_messages_are_pending_until_they_are_delivered(site, pair, buyer):
    sent = [send_message(buyer, pair.thread, f"number {n}") for n in range(3)]
    with site.connect(pair.seller) as seller:
        hello = seller.hear("hello")
        (named,) = [p for p in hello["pending"] if p["thread"] == pair.thread]
        assert named["first_undelivered_seq"] <= sent[0]["seq"]
        assert hello["more"] is False
        fields = {name: sent[-1][name] for name in FIELDS}
        seller.say("thread.mark_delivered", thread=pair.thread, **fields)
        assert buyer.hear("cursor.moved")["delivered_seq"] == sent[-1]["seq"]
    with site.connect(pair.seller) as seller:
        assert seller.hear("hello")["pending"] == []


def test_a_message_sent_during_the_sync_stays_pending_until_it_is_delivered(site, pair, buyer):
    first = send_message(buyer, pair.thread, "Missed")
    with site.connect(pair.seller) as seller:
        seller.hear("hello")
        second = send_message(buyer, pair.thread, "While you catch up")
        fields = {name: first[name] for name in FIELDS}
        seller.say("thread.mark_delivered", thread=pair.thread, **fields)
        seller.hear("cursor.moved")
    with site.connect(pair.seller) as seller:
        (named,) = seller.hear("hello")["pending"]
        assert named == {
            "thread": pair.thread,
            "first_undelivered": second["message"],
            "first_undelivered_seq": second["seq"],
        }
        synced = open_thread(seller, pair.thread, after=first["message"])
        assert [m["message"] for m in synced["messages"]] == [second["message"]]
        fields = {name: second[name] for name in FIELDS}
        seller.say("thread.mark_delivered", thread=pair.thread, **fields)
        seller.hear("cursor.moved")
    with site.connect(pair.seller) as seller:
        assert seller.hear("hello")["pending"] == []


# --- Connections


def test_an_open_connection_is_stored_by_its_id_and_by_its_user(site, pair):
    def found(connection: str) -> list:
        mine = items_of(site, f"USER#{pair.buyer.id}", "CONNECTION#")
        return [*items_of(site, f"CONNECTION#{connection}"), *mine]

    with site.connect(pair.buyer) as client:
        connection = client.hear("hello")["connection"]
        # Connections are stored in batches, a moment after they are opened.
        wait_until(lambda: len(found(connection)) == 2, 20)
        by_id, by_user = found(connection)
        assert by_user["sk"]["S"] == f"CONNECTION#{connection}"
        for item in (by_id, by_user):
            assert item["userId"]["S"] == pair.buyer.id
            assert item["sessionHash"]["S"] == session_hash(pair.buyer.cookie)
            assert pair.buyer.cookie not in str(item)
            assert 24 * 3600 - 60 < int(item["ttl"]["N"]) - time.time() <= 24 * 3600
    wait_until(lambda: not found(connection), 20)
