"""Sync: exactly the missed and changed messages, in frames of limited size."""

import itertools

import orjson
import pytest

from core.refusals import Refusal
from realtime.sockets.sync import MAX_SYNC_BYTES, open_and_sync, sync_if_behind
from tests.threads.conftest import (
    add_friend,
    deliver_newest,
    make_person,
    messages_of,
    read_newest,
    row,
    say,
    start,
    thread_item,
)
from tests.threads.test_revisions import edit, react, remove
from threads import cache, events, queries
from threads.actions.blocks import block_person
from threads.actions.drafts import save_draft
from threads.actions.participants import leave_thread
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import put_many
from threads.models import Message
from threads.queries import open_thread
from threads.rendering.messages import render_message

# Input that renders to long HTML: "a.co" has 4 characters, and its link 90.
KINDS = {"letters": "x" * 8000, "emoji": "🎉" * 8000, "signs": "<" * 8000, "links": "a.co " * 590}
LONGEST = [("letters", 50), ("emoji", 50), ("signs", 20), ("links", 5)]


def sync(user, thread_id, *, after=None, oldest=None, rev=None):
    event, *rest = open_and_sync(
        user,
        thread_id=thread_id,
        after=after and after.id,
        oldest=oldest and oldest.id,
        rev=rev,
    )
    assert len(orjson.dumps(event)) <= MAX_SYNC_BYTES
    return event


def sync_all(user, thread_id, *, after, oldest, rev=0):
    """Syncs until there is no more, like a page does: from its newest message and its rev."""
    messages, changed, newest = [], [], after.id
    for _ in range(200):
        event, *_ = open_and_sync(
            user, thread_id=thread_id, after=newest, oldest=oldest.id, rev=rev
        )
        assert len(orjson.dumps(event)) <= MAX_SYNC_BYTES
        messages += event["messages"]
        changed += event["changed"]
        newest = messages[-1]["message"] if messages else newest
        rev = event["rev"]
        if not event["more"]:
            return messages, changed, rev
        assert event["messages"] or event["changed"], "an empty frame with more to come never ends"
    pytest.fail("the sync did not end")


# --- Missed messages


def test_a_client_without_messages_gets_the_newest(thread, buyer, seller):
    for _ in range(60):
        say(seller, thread)
    event = sync(buyer, thread)
    assert [m["seq"] for m in event["messages"]] == list(range(12, 62))
    assert (event["changed"], event["more"]) == ([], False)
    assert (event["last_seq"], event["rev"], event["status"]) == (61, 0, "open")


@pytest.mark.storage
def test_a_client_gets_exactly_the_later_messages(thread, buyer, seller):
    held = say(buyer, thread)
    for number in range(3):
        say(seller, thread, f"missed {number}")
    event = sync(buyer, thread, after=held)
    assert [m["body"] for m in event["messages"]] == ["missed 0", "missed 1", "missed 2"]
    assert sync(buyer, thread, after=messages_of(thread)[-1])["messages"] == []


@pytest.mark.parametrize("count", [50, 51, 101])
def test_a_long_absence_is_synced_in_order(thread, buyer, seller, count):
    (held,) = messages_of(thread)
    for number in range(count):
        say(seller, thread, f"missed {number}")
    messages, _, _ = sync_all(buyer, thread, after=held, oldest=held)
    assert [m["body"] for m in messages] == [f"missed {n}" for n in range(count)]


def test_synced_messages_equal_a_new_page(thread, buyer, seller):
    (held,) = messages_of(thread)
    first = say(seller, thread, "*One*", reply_to=held.id)
    say(buyer, thread)
    edit(seller, first, "**Two**")
    react(buyer, first)
    event = sync(buyer, thread, after=held)
    opened = open_thread(buyer, thread)
    fresh = [render_message(message, opened.cached) for message in opened.messages[1:]]
    assert [m["html"] for m in event["messages"]] == fresh


# --- Changed messages


@pytest.mark.storage
def test_exactly_the_changes_in_the_window_are_returned(thread, buyer, seller):
    sent = [say(buyer, thread, f"number {n}") for n in range(8)]
    edit(buyer, sent[0])
    edit(buyer, sent[1])
    remove(buyer, sent[2])
    react(seller, sent[3])
    rev = thread_item(thread).rev
    edit(buyer, sent[4])
    remove(buyer, sent[5])
    react(seller, sent[6])

    event = sync(buyer, thread, after=sent[7], oldest=sent[2], rev=rev)
    assert [c["message"] for c in event["changed"]] == [m.id for m in sent[4:7]]
    assert [c["rev"] for c in event["changed"]] == [rev + 1, rev + 2, rev + 3]
    assert event["rev"] == rev + 3

    everything = sync(buyer, thread, after=sent[7], oldest=sent[1])
    assert {c["message"] for c in everything["changed"]} == {m.id for m in sent[1:7]}
    fresh = {m.id: m for m in open_thread(buyer, thread).messages}
    cached = open_thread(buyer, thread).cached
    for change in everything["changed"]:
        assert change["html"] == render_message(fresh[change["message"]], cached)


def test_unchanged_messages_are_not_returned(thread, buyer, seller):
    sent = [say(buyer, thread) for _ in range(3)]
    edit(buyer, sent[0])
    event = sync(buyer, thread, after=sent[2], oldest=sent[0], rev=1)
    assert (event["changed"], event["rev"]) == ([], 1)
    with count_requests() as requests:
        sync(buyer, thread, after=sent[2], oldest=sent[0], rev=1)
    assert requests == ["Query", "GetItem"]


def test_changed_quoted_messages_outside_the_window_are_returned(thread, buyer, seller):
    (first,) = messages_of(thread)
    oldest = say(seller, thread, reply_to=first.id)
    newest = say(seller, thread)
    edit(buyer, first, "In June?")
    event = sync(buyer, thread, after=newest, oldest=oldest, rev=0)
    assert [c["message"] for c in event["changed"]] == [first.id]
    assert "In June?" in event["changed"][0]["html"]


def test_changes_of_earlier_messages_are_not_returned_to_a_new_participant(thread, buyer, seller):
    (first,) = messages_of(thread)
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    oldest = say(seller, thread, "Yes", reply_to=first.id)
    edit(buyer, first, "Not for you")
    event = sync(guest, thread, after=oldest, oldest=first, rev=0)
    assert event["changed"] == []
    assert "Not for you" not in str(event)


@pytest.mark.storage
def test_a_window_larger_than_one_query_is_read_completely(thread, buyer, monkeypatch):
    monkeypatch.setattr(queries, "WINDOW_PAGE", 3)
    sent = [say(buyer, thread) for _ in range(8)]
    edit(buyer, sent[0])
    edit(buyer, sent[6])
    event = sync(buyer, thread, after=sent[7], oldest=sent[0], rev=0)
    assert [c["message"] for c in event["changed"]] == [sent[0].id, sent[6].id]


# --- Frames


def fill(thread: str, count: int, body: str, *, changed: bool = False) -> list[Message]:
    """Writes `count` messages in bulk, all of them changed if `changed`."""
    (model,) = messages_of(thread)
    filled = []
    for number in range(1, count + 1):
        message = model.copy()
        message_id = keys.next_message_id((filled or [model])[-1].id, 0)
        message.sk, message.seq, message.tally = keys.message_sk(message_id), number, number
        message.body, message.rev = f"{number} {body}"[:8000], number if changed else 0
        filled.append(message)
    model.delete()
    item = thread_item(thread)
    item.last_seq = item.last_tally = count
    item.last_message_id, item.rev = filled[-1].id, count if changed else 0
    put_many([item, *filled])
    cache.invalidate(thread)
    return filled


@pytest.mark.parametrize(("kind", "count"), LONGEST)
def test_frames_are_limited_with_the_longest_messages(thread, buyer, kind, count):
    held, *missed = fill(thread, count + 1, KINDS[kind])
    messages, _, _ = sync_all(buyer, thread, after=held, oldest=held)
    assert [m["message"] for m in messages] == [m.id for m in missed]
    newest = [m["seq"] for m in sync(buyer, thread)["messages"]]
    assert newest == list(range(newest[0], count + 2))


@pytest.mark.parametrize(("kind", "count"), LONGEST)
def test_frames_are_limited_with_the_longest_changed_messages(thread, buyer, kind, count):
    sent = fill(thread, count + 3, KINDS[kind], changed=True)
    held, missed = sent[:count], sent[count:]
    messages, changed, rev = sync_all(buyer, thread, after=held[-1], oldest=held[0], rev=2)
    assert [m["message"] for m in messages] == [m.id for m in missed]
    assert [c["message"] for c in changed] == [m.id for m in held[2:]]
    assert rev == count + 3


def test_the_answer_to_a_heartbeat_is_a_limited_frame(thread, buyer):
    sent = fill(thread, 8, KINDS["links"], changed=True)
    event = sync_if_behind(buyer, thread_id=thread, seq=6, rev=2)
    assert len(orjson.dumps(event)) <= MAX_SYNC_BYTES
    assert event["more"]
    assert event["changed"]
    messages, changed, rev = sync_all(buyer, thread, after=sent[5], oldest=sent[0], rev=2)
    assert [c["message"] for c in changed] == [m.id for m in sent[2:6]]
    assert [m["message"] for m in messages] == [m.id for m in sent[6:]]
    assert rev == 8


def test_messages_beyond_the_frame_limit_are_not_rendered(thread, buyer, monkeypatch):
    held, *_ = fill(thread, 51, KINDS["letters"])
    rendered = []
    monkeypatch.setattr(
        events, "render_message", lambda m, cached_thread: rendered.append(m.id) or "x" * 60_000
    )
    event = sync(buyer, thread, after=held)
    assert (len(event["messages"]), event["more"]) == (2, True)
    assert len(rendered) == 3


# --- Cursors, drafts and cost


def test_the_cursors_of_all_participants_are_returned(thread, buyer, seller):
    held = say(buyer, thread)
    deliver_newest(seller, thread)
    read_newest(buyer, thread)
    cursors = {c["user"]: c for c in sync(buyer, thread, after=held)["cursors"]}
    assert cursors[seller.id] == {"user": seller.id, "delivered_seq": 2, "read_seq": 0}
    assert cursors[buyer.id] == {"user": buyer.id, "delivered_seq": 2, "read_seq": 2}


def test_only_the_own_cursor_is_returned_after_a_block(thread, buyer, seller):
    block_person(seller, blocked=buyer)
    for person in (buyer, seller):
        assert [c["user"] for c in sync(person, thread)["cursors"]] == [person.id]


@pytest.mark.storage
def test_the_draft_is_returned_even_if_it_is_empty(thread, buyer, seller):
    def drafts(user):
        arguments = {"thread_id": thread, "after": None, "oldest": None, "rev": None}
        _, *rest = open_and_sync(user, **arguments)
        return [(event["type"], event["text"], event["version"]) for event in rest]

    assert drafts(buyer) == []
    save_draft(buyer, thread_id=thread, text="Could we", version=0)
    assert drafts(buyer) == [("draft.changed", "Could we", 1)]
    assert drafts(seller) == []
    save_draft(buyer, thread_id=thread, text="", version=1)
    assert drafts(buyer) == [("draft.changed", "", 2)]


def test_request_cost_of_a_sync(thread, buyer, seller):
    held = say(buyer, thread)
    oldest = messages_of(thread)[0]
    with count_requests() as requests:
        sync(buyer, thread, after=held, oldest=oldest, rev=0)
    assert requests == ["Query", "GetItem"]
    edit(buyer, held)
    with count_requests() as requests:
        sync(buyer, thread, after=held, oldest=oldest, rev=0)
    assert requests == ["Query", "Query", "GetItem"]


@pytest.mark.storage
def test_the_window_is_bounded_and_its_start_returned(thread, buyer, seller, settings):
    settings.SYNC_WINDOW = 20
    sent = [say(seller, thread, f"number {number}") for number in range(60)]
    edit(seller, sent[0], "edited long ago")
    edit(seller, sent[55], "edited just now")
    with count_requests() as requests:
        event = sync(buyer, thread, after=sent[-1], oldest=messages_of(thread)[0], rev=0)
    assert requests == ["Query", "Query", "Query", "GetItem"]
    assert [change["message"] for change in event["changed"]] == [sent[55].id]
    assert event["window_from"] == sent[40].id
    assert event["more"] is False


def test_a_window_within_the_limit_is_compared_completely(thread, buyer, seller, settings):
    settings.SYNC_WINDOW = 20
    sent = [say(seller, thread, f"number {number}") for number in range(30)]
    edit(seller, sent[12], "edited")
    event = sync(buyer, thread, after=sent[-1], oldest=sent[10], rev=0)
    assert [change["message"] for change in event["changed"]] == [sent[12].id]
    assert "window_from" not in event


# --- Permissions


def test_a_stranger_is_refused(thread, stranger, buyer):
    (first,) = messages_of(thread)
    edit(buyer, first)
    for after, oldest in itertools.product((None, first), repeat=2):
        with pytest.raises(Refusal) as refusal:
            sync(stranger, thread, after=after, oldest=oldest)
        assert refusal.value.code == "THREAD_NOT_FOUND"


def test_a_rejoined_participant_gets_no_messages_from_their_absence(thread, buyer):
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    held = say(buyer, thread)
    leave_thread(guest, thread_id=thread)
    for number in range(60):
        say(buyer, thread, f"without you {number}")
    add_friend(buyer, thread_id=thread, user=guest)
    say(buyer, thread, "With you")
    assert row(thread, guest).visible_from_seq == 66
    event = sync(guest, thread, after=held, oldest=held)
    assert "without you" not in str(event)
    assert [m["seq"] for m in event["messages"]] == [66, 67]
    assert not event["more"]


def test_unknown_ids_return_no_foreign_messages(thread, buyer):
    after_all = type("Nowhere", (), {"id": "msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"})
    before_all = type("Before", (), {"id": "msg_00000000000000000000000000"})
    (first,) = messages_of(thread)
    edit(buyer, first)
    assert sync(buyer, thread, after=after_all, oldest=after_all)["messages"] == []
    assert len(sync(buyer, thread, after=before_all, oldest=before_all)["messages"]) == 1
    # A window whose start is after its end is empty.
    assert sync(buyer, thread, after=before_all, oldest=after_all)["changed"] == []
    other_message = messages_of(start(buyer, make_person("Sam")))[0]
    assert sync(buyer, thread, after=other_message, oldest=other_message)["changed"] == []
