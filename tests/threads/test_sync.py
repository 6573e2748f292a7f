"""Catching up: exactly what came and what changed, in frames that are not too long."""

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
from tests.threads.test_revisions import edit, give, remove
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

# What people could type that becomes long: "a.co" is 4 letters, and a link of 90.
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


def follow(user, thread_id, *, after, oldest, rev=0):
    """Asks until there is no more, as a page does: from the newest it has, at the rev it has."""
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
        assert event["messages"] or event["changed"], "It would go on for ever."
    pytest.fail("There is no end to it.")


# --- What came


def test_gives_the_newest_without_anything_held(thread, buyer, seller):
    for _ in range(60):
        say(seller, thread)
    event = sync(buyer, thread)
    assert [m["seq"] for m in event["messages"]] == list(range(12, 62))
    assert (event["changed"], event["more"]) == ([], False)
    assert (event["last_seq"], event["rev"], event["status"]) == (61, 0, "open")


@pytest.mark.storage
def test_gives_exactly_what_came_after_what_is_held(thread, buyer, seller):
    held = say(buyer, thread)
    for number in range(3):
        say(seller, thread, f"missed {number}")
    event = sync(buyer, thread, after=held)
    assert [m["body"] for m in event["messages"]] == ["missed 0", "missed 1", "missed 2"]
    assert sync(buyer, thread, after=messages_of(thread)[-1])["messages"] == []


@pytest.mark.parametrize("count", [50, 51, 101])
def test_gives_all_of_a_long_absence_in_order(thread, buyer, seller, count):
    (held,) = messages_of(thread)
    for number in range(count):
        say(seller, thread, f"missed {number}")
    messages, _, _ = follow(buyer, thread, after=held, oldest=held)
    assert [m["body"] for m in messages] == [f"missed {n}" for n in range(count)]


def test_what_it_gives_is_what_a_fresh_page_shows(thread, buyer, seller):
    (held,) = messages_of(thread)
    first = say(seller, thread, "*One*", reply_to=held.id)
    say(buyer, thread)
    edit(seller, first, "**Two**")
    give(buyer, first)
    event = sync(buyer, thread, after=held)
    opened = open_thread(buyer, thread)
    fresh = [render_message(message, opened.cached) for message in opened.messages[1:]]
    assert [m["html"] for m in event["messages"]] == fresh


# --- What changed


@pytest.mark.storage
def test_gives_exactly_what_changed_in_the_window(thread, buyer, seller):
    said = [say(buyer, thread, f"number {n}") for n in range(8)]
    edit(buyer, said[0])
    edit(buyer, said[1])
    remove(buyer, said[2])
    give(seller, said[3])
    rev = thread_item(thread).rev
    edit(buyer, said[4])
    remove(buyer, said[5])
    give(seller, said[6])

    event = sync(buyer, thread, after=said[7], oldest=said[2], rev=rev)
    assert [c["message"] for c in event["changed"]] == [m.id for m in said[4:7]]
    assert [c["rev"] for c in event["changed"]] == [rev + 1, rev + 2, rev + 3]
    assert event["rev"] == rev + 3

    everything = sync(buyer, thread, after=said[7], oldest=said[1])
    assert {c["message"] for c in everything["changed"]} == {m.id for m in said[1:7]}
    fresh = {m.id: m for m in open_thread(buyer, thread).messages}
    cached = open_thread(buyer, thread).cached
    for change in everything["changed"]:
        assert change["html"] == render_message(fresh[change["message"]], cached)


def test_gives_nothing_that_did_not_change(thread, buyer, seller):
    said = [say(buyer, thread) for _ in range(3)]
    edit(buyer, said[0])
    event = sync(buyer, thread, after=said[2], oldest=said[0], rev=1)
    assert (event["changed"], event["rev"]) == ([], 1)
    with count_requests() as requests:
        sync(buyer, thread, after=said[2], oldest=said[0], rev=1)
    assert requests == ["Query", "GetItem"]


def test_gives_the_quoted_ones_that_changed_wherever_they_are(thread, buyer, seller):
    (first,) = messages_of(thread)
    oldest = say(seller, thread, reply_to=first.id)
    newest = say(seller, thread)
    edit(buyer, first, "In June?")
    event = sync(buyer, thread, after=newest, oldest=oldest, rev=0)
    assert [c["message"] for c in event["changed"]] == [first.id]
    assert "In June?" in event["changed"][0]["html"]


def test_gives_no_change_from_before_somebody_came(thread, buyer, seller):
    (first,) = messages_of(thread)
    guest = make_person("Gil")
    add_friend(buyer, thread_id=thread, user=guest)
    oldest = say(seller, thread, "Yes", reply_to=first.id)
    edit(buyer, first, "Not for you")
    event = sync(guest, thread, after=oldest, oldest=first, rev=0)
    assert event["changed"] == []
    assert "Not for you" not in str(event)


@pytest.mark.storage
def test_a_window_of_more_than_a_query_is_looked_through(thread, buyer, monkeypatch):
    monkeypatch.setattr(queries, "WINDOW_PAGE", 3)
    said = [say(buyer, thread) for _ in range(8)]
    edit(buyer, said[0])
    edit(buyer, said[6])
    event = sync(buyer, thread, after=said[7], oldest=said[0], rev=0)
    assert [c["message"] for c in event["changed"]] == [said[0].id, said[6].id]


# --- Frames


def fill(thread: str, count: int, body: str, *, changed: bool = False) -> list[Message]:
    """As if so many had been said, all of them one after the other, and perhaps changed since."""
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
def test_frames_stay_short_with_a_page_of_the_longest(thread, buyer, kind, count):
    held, *missed = fill(thread, count + 1, KINDS[kind])
    messages, _, _ = follow(buyer, thread, after=held, oldest=held)
    assert [m["message"] for m in messages] == [m.id for m in missed]
    newest = [m["seq"] for m in sync(buyer, thread)["messages"]]
    assert newest == list(range(newest[0], count + 2))


@pytest.mark.parametrize(("kind", "count"), LONGEST)
def test_frames_stay_short_with_long_ones_that_changed(thread, buyer, kind, count):
    said = fill(thread, count + 3, KINDS[kind], changed=True)
    held, missed = said[:count], said[count:]
    messages, changed, rev = follow(buyer, thread, after=held[-1], oldest=held[0], rev=2)
    assert [m["message"] for m in messages] == [m.id for m in missed]
    assert [c["message"] for c in changed] == [m.id for m in held[2:]]
    assert rev == count + 3


def test_a_heartbeat_is_answered_in_a_short_frame(thread, buyer):
    said = fill(thread, 8, KINDS["links"], changed=True)
    event = sync_if_behind(buyer, thread_id=thread, seq=6, rev=2)
    assert len(orjson.dumps(event)) <= MAX_SYNC_BYTES
    assert event["more"]
    assert event["changed"]
    messages, changed, rev = follow(buyer, thread, after=said[5], oldest=said[0], rev=2)
    assert [c["message"] for c in changed] == [m.id for m in said[2:6]]
    assert [m["message"] for m in messages] == [m.id for m in said[6:]]
    assert rev == 8


def test_what_does_not_fit_is_not_rendered_in_vain(thread, buyer, monkeypatch):
    held, *_ = fill(thread, 51, KINDS["letters"])
    rendered = []
    monkeypatch.setattr(
        events, "render_message", lambda m, state: rendered.append(m.id) or "x" * 60_000
    )
    event = sync(buyer, thread, after=held)
    assert (len(event["messages"]), event["more"]) == (2, True)
    assert len(rendered) == 3


# --- Cursors, drafts, costs


def test_gives_the_cursors_of_all(thread, buyer, seller):
    held = say(buyer, thread)
    deliver_newest(seller, thread)
    read_newest(buyer, thread)
    cursors = {c["user"]: c for c in sync(buyer, thread, after=held)["cursors"]}
    assert cursors[seller.id] == {"user": seller.id, "delivered_seq": 2, "read_seq": 0}
    assert cursors[buyer.id] == {"user": buyer.id, "delivered_seq": 2, "read_seq": 2}


def test_gives_only_ones_own_between_two_who_blocked_each_other(thread, buyer, seller):
    block_person(seller, blocked=buyer)
    for person in (buyer, seller):
        assert [c["user"] for c in sync(person, thread)["cursors"]] == [person.id]


@pytest.mark.storage
def test_the_draft_follows_even_if_it_is_empty(thread, buyer, seller):
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


def test_what_it_costs(thread, buyer, seller):
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
def test_an_ancient_oldest_reads_a_bounded_window_and_says_where_it_begins(
    thread, buyer, seller, settings
):
    settings.SYNC_WINDOW = 20
    said = [say(seller, thread, f"number {number}") for number in range(60)]
    edit(seller, said[0], "edited long ago")
    edit(seller, said[55], "edited just now")
    with count_requests() as requests:
        event = sync(buyer, thread, after=said[-1], oldest=messages_of(thread)[0], rev=0)
    assert requests == ["Query", "Query", "Query", "GetItem"]
    assert [change["message"] for change in event["changed"]] == [said[55].id]
    assert event["window_from"] == said[40].id
    assert event["more"] is False


def test_a_window_within_the_limit_is_compared_whole(thread, buyer, seller, settings):
    settings.SYNC_WINDOW = 20
    said = [say(seller, thread, f"number {number}") for number in range(30)]
    edit(seller, said[12], "edited")
    event = sync(buyer, thread, after=said[-1], oldest=said[10], rev=0)
    assert [change["message"] for change in event["changed"]] == [said[12].id]
    assert "window_from" not in event


# --- Who may


def test_a_stranger_gets_nothing(thread, stranger, buyer):
    (first,) = messages_of(thread)
    edit(buyer, first)
    for after, oldest in itertools.product((None, first), repeat=2):
        with pytest.raises(Refusal) as refusal:
            sync(stranger, thread, after=after, oldest=oldest)
        assert refusal.value.code == "THREAD_NOT_FOUND"


def test_whoever_went_and_came_back_gets_nothing_from_between(thread, buyer):
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


def test_ids_that_lead_nowhere_lead_nowhere(thread, buyer):
    nowhere = type("Nowhere", (), {"id": "msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"})
    before = type("Before", (), {"id": "msg_00000000000000000000000000"})
    (first,) = messages_of(thread)
    edit(buyer, first)
    assert sync(buyer, thread, after=nowhere, oldest=nowhere)["messages"] == []
    assert len(sync(buyer, thread, after=before, oldest=before)["messages"]) == 1
    # From the end to the beginning there is nothing.
    assert sync(buyer, thread, after=before, oldest=nowhere)["changed"] == []
    other_message = messages_of(start(buyer, make_person("Sam")))[0]
    assert sync(buyer, thread, after=other_message, oldest=other_message)["changed"] == []
