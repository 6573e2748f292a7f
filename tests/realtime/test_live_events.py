"""The wire, for what is not a send: changes, catching up, drafts, typing, presence, pending."""

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


def say(client: Client, thread: str, body: str = "Hello", **fields) -> dict:
    """Sent and stored; as everybody is told."""
    client.send(thread, body, **fields)
    accepted = client.hear("message.accepted")
    told = [e for e in client.heard if e["type"] == "message.sent"]
    while not told or told[-1]["message"] != accepted["message"]:
        told.append(client.hear("message.sent"))
    return told[-1]


def open_thread(client: Client, thread: str, **fields) -> dict:
    client.say("thread.open", thread=thread, **fields)
    return client.hear("thread.synced")


def watch(client: Client, thread: str, people: int = 1) -> list[dict]:
    """Opens it, and hears who is there."""
    open_thread(client, thread)
    return [client.hear("presence.changed") for _ in range(people)]


def kinds_until(client: Client, body: str) -> list[str]:
    """What was heard up to a message: a fence, since all comes in the order it was told."""
    kinds = []
    while True:
        event = client.hear()
        kinds.append(event["type"])
        if event["type"] == "message.sent" and event["body"] == body:
            return kinds


def join(site: Site, visitor: Visitor, thread: str, guest: Account) -> None:
    """Invited, and accepted."""
    visitor.post(f"/threads/{thread}/add/", handle=handle_of(guest))
    assert Visitor.of(site, guest).post(f"/threads/{thread}/accept/")[0] == 302


# --- Changes

CHANGES = {
    "message.edited": ("message.edit", {"body": "Otherwise"}),
    "message.removed": ("message.remove", {}),
    "message.reacted": ("message.react", {"reaction": "👍", "on": True}),
}


@pytest.mark.parametrize("event", CHANGES)
def test_a_change_reaches_both_sides_and_ones_other_device(site, pair, buyer, seller, event):
    command, fields = CHANGES[event]
    with connected(site, pair.buyer) as phone:
        said = say(buyer, pair.thread)
        buyer.say(command, thread=pair.thread, message=said["message"], **fields)
        told = [client.hear(event, "error") for client in (buyer, phone, seller)]
    assert told[0] == told[1] == told[2]
    assert (told[0]["message"], told[0]["seq"]) == (said["message"], said["seq"])
    assert told[0]["rev"] == 1
    assert f'data-message="{said["message"]}"' in told[0]["html"]


@pytest.mark.parametrize("event", ["message.edited", "message.removed"])
def test_a_refused_change_names_the_message(pair, buyer, seller, event):
    command, fields = CHANGES[event]
    said = say(buyer, pair.thread)
    seller.say(command, thread=pair.thread, message=said["message"], **fields)
    error = seller.hear("error", event)
    assert (error["code"], error["message_id"]) == ("MSG_NOT_EDITABLE", said["message"])


def test_an_answer_brings_its_quote(pair, buyer, seller):
    first = say(buyer, pair.thread, "Where is it?")
    say(seller, pair.thread, "Here", reply_to=first["message"])
    while True:
        heard = buyer.hear("message.sent")
        if heard["body"] == "Here":
            break
    assert f'data-quote="{first["message"]}"' in heard["html"]
    assert "Where is it?" in heard["html"]


# --- Catching up


def test_a_page_that_was_away_gets_what_came_and_what_changed(pair, buyer, seller):
    held = open_thread(buyer, pair.thread)["messages"]
    said = say(seller, pair.thread, "One")
    for client, message in ((seller, said), (buyer, held[0])):
        fields = {"reaction": "🎉", "on": True}
        client.say("message.react", thread=pair.thread, message=message["message"], **fields)
        client.hear("message.reacted")
    window = {"after": held[-1]["message"], "oldest": held[0]["message"], "rev": 0}
    synced = open_thread(buyer, pair.thread, **window)
    assert [m["body"] for m in synced["messages"]] == ["One"]
    assert "🎉" in synced["messages"][0]["html"]
    assert [c["message"] for c in synced["changed"]] == [held[0]["message"]]
    assert (synced["rev"], synced["more"]) == (2, False)


def test_the_draft_and_who_is_there_follow_in_order(pair, buyer, seller):
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


def test_the_other_device_is_told_of_a_draft_and_the_other_person_is_not(site, pair, buyer, seller):
    with connected(site, pair.buyer) as phone:
        buyer.say("draft.save", thread=pair.thread, text="Could we", version=0)
        assert phone.hear("draft.changed")["text"] == "Could we"
        phone.say("draft.save", thread=pair.thread, text="Something else", version=0)
        both = phone.hear("draft.changed")
    assert (both["text"], both["version"]) == ("Could we\n\nSomething else", 2)
    say(buyer, pair.thread, "The end")
    assert "draft.changed" not in kinds_until(seller, "The end")


# --- Typing


def test_typing_is_told_to_those_who_have_the_thread_open(site, pair, buyer, seller):
    with connected(site, pair.seller) as inbox:
        watch(buyer, pair.thread)
        watch(seller, pair.thread)
        for command, event in (("start", "started"), ("stop", "stopped")):
            buyer.say(f"typing.{command}", thread=pair.thread)
            assert seller.hear(f"typing.{event}") == {
                "type": f"typing.{event}",
                "thread": pair.thread,
                "user": pair.buyer.id,
            }
        say(buyer, pair.thread, "The end")
        assert not [k for k in kinds_until(inbox, "The end") if k.startswith("typing")]
    heard = [e["type"] for e in buyer.heard]
    assert not [kind for kind in heard if kind.startswith("typing")]


def test_typing_is_not_told_once_the_thread_is_closed(pair, buyer, seller):
    watch(buyer, pair.thread)
    watch(seller, pair.thread)
    seller.say("thread.close", thread=pair.thread)
    seller.say("ping", t=1)
    seller.hear("pong")
    buyer.say("typing.start", thread=pair.thread)
    say(buyer, pair.thread, "The end")
    assert "typing.started" not in kinds_until(seller, "The end")


def test_a_stranger_types_into_nothing(site, pair, buyer, seller):
    stranger = site.pair()
    watch(buyer, pair.thread)
    with connected(site, stranger.buyer) as other:
        other.say("thread.open", thread=pair.thread)
        assert other.hear("error")["code"] == "THREAD_NOT_FOUND"
        other.say("typing.start", thread=pair.thread)
        other.say("ping", t=1)
        assert other.hear()["type"] == "pong"
    say(seller, pair.thread, "The end")
    assert "typing.started" not in kinds_until(buyer, "The end")


# --- Presence


def test_somebody_is_there_until_their_last_device_goes(site, pair, buyer):
    (told,) = watch(buyer, pair.thread)
    assert told["online"] is False
    with site.connect(pair.seller) as desk:
        assert buyer.hear("presence.changed")["online"] is True
        with site.connect(pair.seller) as phone:
            phone.hear("hello")
            desk.hear("hello")
            desk.socket.close()
            say(phone, pair.thread, "Still here")
            assert "presence.changed" not in kinds_until(buyer, "Still here")
    gone = buyer.hear("presence.changed")
    assert (gone["online"], gone["user"], gone["thread"]) == (
        False,
        pair.seller.id,
        pair.thread,
    )
    assert gone["last_seen_at"][:16] <= time.strftime("%Y-%m-%dT%H:%M", time.gmtime())
    assert gone["last_seen_at"].startswith(time.strftime("%Y-%m-%dT", time.gmtime()))


def test_nothing_of_presence_without_opening(site, pair, buyer):
    with connected(site, pair.seller) as seller:
        say(seller, pair.thread, "The end")
    assert "presence.changed" not in kinds_until(buyer, "The end")


def test_presence_of_two_threads_is_not_mixed_up(site, pair, buyer, seller):
    other = site.pair()
    visitor = Visitor.of(site, other.buyer)
    join(site, visitor, other.thread, pair.buyer)
    buyer.hear("thread.changed")  # While it is open, this would be a reason to look again.
    (there,) = watch(buyer, pair.thread)
    assert there["online"] is True
    told = watch(buyer, other.thread, people=2)
    assert [event["thread"] for event in told] == [other.thread] * 2
    say(seller, pair.thread, "Still here")
    assert "presence.changed" not in kinds_until(buyer, "Still here")


@pytest.mark.parametrize("blocker", ["buyer", "seller"])
def test_two_who_blocked_each_other_see_nothing_of_each_other(site, pair, blocker):
    with connected(site, pair.buyer) as buyer:
        with connected(site, pair.seller) as seller:
            watch(buyer, pair.thread)
            watch(seller, pair.thread)
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
    heard = {event["type"] for event in buyer.heard[before:]}
    assert not heard & {"presence.changed", "typing.started", "cursor.moved"}


def test_in_a_group_a_block_hides_presence_and_typing_of_the_two_alone(site, pair, buyer, seller):
    guest = site.pair().buyer
    visitor = Visitor.of(site, pair.buyer)
    join(site, visitor, pair.thread, guest)
    with connected(site, guest) as other:
        for client in (buyer, seller, other):
            watch(client, pair.thread, people=2)
        # Joining and connecting change presence too: wait until everyone has received that.
        say(seller, pair.thread, "Everyone is here")
        for client in (buyer, other):
            kinds_until(client, "Everyone is here")
        visitor.post(f"/threads/{pair.thread}/block/", user_id=guest.id)
        told = [buyer.hear("presence.changed"), other.hear("presence.changed")]
        assert [event["user"] for event in told] == [pair.seller.id] * 2
        other.say("typing.start", thread=pair.thread)
        assert seller.hear("typing.started")["user"] == guest.id
        say(other, pair.thread, "Both may write")
        assert "typing.started" not in kinds_until(buyer, "Both may write")
    while seller.hear("presence.changed")["online"]:
        pass
    say(seller, pair.thread, "The end")
    assert "presence.changed" not in kinds_until(buyer, "The end")


def test_somebody_invited_hears_of_the_invitation_and_of_nothing_else(site, pair, buyer, seller):
    guest = site.pair().buyer
    visitor = Visitor.of(site, pair.buyer)
    with connected(site, guest) as other:
        visitor.post(f"/threads/{pair.thread}/add/", handle=handle_of(guest))
        told = other.hear("inbox.changed")
        assert (told["folder"], told["request"], told["unread"]) == ("requests", True, 0)
        before = len(other.heard)
        # Nobody sees or hears of somebody who has not accepted.
        for client in (buyer, seller):
            (seen,) = watch(client, pair.thread)
            assert seen["user"] != guest.id
        buyer.say("typing.start", thread=pair.thread)
        said = say(buyer, pair.thread, "Not for you")
        kinds_until(seller, "Not for you")
        fields = {name: said[name] for name in FIELDS}
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
        heard = [event["type"] for event in other.heard[before:]]
        assert heard == ["error", "error", "error", "pong"]
        say(seller, pair.thread, "The end")
        heard = kinds_until(buyer, "The end")
        assert not {"typing.started", "cursor.moved", "presence.changed"} & set(heard)
        assert Visitor.of(site, guest).post(f"/threads/{pair.thread}/accept/")[0] == 302
        watch(other, pair.thread, people=2)
        say(buyer, pair.thread, "Welcome")
        kinds_until(other, "Welcome")


def test_whoever_is_removed_hears_nothing_more(site, pair, buyer, seller):
    guest = site.pair().buyer
    visitor = Visitor.of(site, pair.buyer)
    join(site, visitor, pair.thread, guest)
    with connected(site, guest) as other:
        watch(other, pair.thread, people=2)
        visitor.post(f"/threads/{pair.thread}/remove/", user_id=guest.id)
        left = other.hear("thread.changed")
        assert (left["status"], left["roster"]) == ("left", [])
        assert other.hear("inbox.changed")["folder"] == ""
        before = len(other.heard)
        watch(buyer, pair.thread)
        buyer.say("typing.start", thread=pair.thread)
        say(buyer, pair.thread, "Without you")
        kinds_until(seller, "Without you")
        other.say("typing.start", thread=pair.thread)
        other.say("ping", t=1)
        other.hear("pong")
    assert [event["type"] for event in other.heard[before:]] == ["pong"]
    say(seller, pair.thread, "The end")
    assert "typing.started" not in kinds_until(buyer, "The end")


# --- Pending


def test_what_was_missed_is_named_once_until_it_is_delivered(site, pair, buyer):
    said = [say(buyer, pair.thread, f"number {n}") for n in range(3)]
    with site.connect(pair.seller) as seller:
        hello = seller.hear("hello")
        (named,) = [p for p in hello["pending"] if p["thread"] == pair.thread]
        assert named["first_undelivered_seq"] <= said[0]["seq"]
        assert hello["more"] is False
        fields = {name: said[-1][name] for name in FIELDS}
        seller.say("thread.mark_delivered", thread=pair.thread, **fields)
        assert buyer.hear("cursor.moved")["delivered_seq"] == said[-1]["seq"]
    with site.connect(pair.seller) as seller:
        assert seller.hear("hello")["pending"] == []


def test_what_arrives_during_the_catch_up_keeps_its_row_until_it_is_delivered(site, pair, buyer):
    first = say(buyer, pair.thread, "Missed")
    with site.connect(pair.seller) as seller:
        seller.hear("hello")
        second = say(buyer, pair.thread, "While you catch up")
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


def test_a_connection_is_in_the_table_in_both_directions_while_it_lasts(site, pair):
    def found(connection: str) -> list:
        mine = items_of(site, f"USER#{pair.buyer.id}", "CONNECTION#")
        return [*items_of(site, f"CONNECTION#{connection}"), *mine]

    with site.connect(pair.buyer) as client:
        connection = client.hear("hello")["connection"]
        client.say("ping", t=1)
        client.hear("pong")
        by_id, by_person = found(connection)
        assert by_person["sk"]["S"] == f"CONNECTION#{connection}"
        for item in (by_id, by_person):
            assert item["userId"]["S"] == pair.buyer.id
            assert item["sessionHash"]["S"] == session_hash(pair.buyer.cookie)
            assert pair.buyer.cookie not in str(item)
            assert 24 * 3600 - 60 < int(item["ttl"]["N"]) - time.time() <= 24 * 3600
    wait_until(lambda: not found(connection), 20)
