"""A heartbeat of a page that is far behind: no message in between is skipped."""

import pytest

from realtime.sockets.sync import open_and_sync, sync_if_behind
from tests.threads.conftest import messages_of, say
from threads.actions.revisions import edit_message

pytestmark = pytest.mark.storage


def test_a_heartbeat_returns_the_messages_after_the_shown_one(thread, buyer, seller):
    for _ in range(3):
        say(seller, thread)
    event = sync_if_behind(buyer, thread_id=thread, seq=1, rev=0)
    assert [message["seq"] for message in event["messages"]] == [2, 3, 4]
    assert not event["more"]


def test_a_client_more_than_one_page_behind_must_sync(thread, buyer, seller):
    for _ in range(60):
        say(seller, thread)
    event = sync_if_behind(buyer, thread_id=thread, seq=2, rev=0)
    assert (event["messages"], event["more"]) == ([], True)


def test_a_client_that_misses_more_than_a_frame_must_sync(thread, buyer, seller):
    for _ in range(40):
        say(seller, thread, "long " * 1500)
    event = sync_if_behind(buyer, thread_id=thread, seq=1, rev=0)
    seqs = [message["seq"] for message in event["messages"]]
    assert seqs == list(range(2, 2 + len(seqs)))
    assert len(seqs) < 40
    assert event["more"]


def test_a_change_above_the_page_is_found_by_sync(thread, buyer, seller):
    for _ in range(60):
        say(seller, thread)
    first, *_, newest = messages_of(thread)
    edit_message(buyer, thread_id=thread, message_id=first.id, body="Are you free in June?")
    event = sync_if_behind(buyer, thread_id=thread, seq=newest.seq, rev=0)
    assert (event["changed"], event["more"]) == ([], True)
    (synced, *_) = open_and_sync(
        buyer, thread_id=thread, after=newest.id, oldest=first.id, rev=event["rev"]
    )
    assert [change["message"] for change in synced["changed"]] == [first.id]
