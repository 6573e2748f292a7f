"""A heartbeat that finds a page far behind: nothing is left out in between."""

import pytest

from realtime.sockets.sync import open_and_sync, sync_if_behind
from tests.threads.conftest import messages_of, say
from threads.actions.revisions import edit_message

pytestmark = pytest.mark.storage


def test_brings_what_came_after_what_is_shown(thread, buyer, seller):
    for _ in range(3):
        say(seller, thread)
    event = sync_if_behind(buyer, thread_id=thread, seq=1, rev=0)
    assert [message["seq"] for message in event["messages"]] == [2, 3, 4]
    assert not event["more"]


def test_lets_a_page_ask_that_is_more_than_one_page_behind(thread, buyer, seller):
    for _ in range(60):
        say(seller, thread)
    event = sync_if_behind(buyer, thread_id=thread, seq=2, rev=0)
    assert (event["messages"], event["more"]) == ([], True)


def test_lets_a_page_ask_that_lacks_more_than_fits_into_a_frame(thread, buyer, seller):
    for _ in range(40):
        say(seller, thread, "long " * 1500)
    event = sync_if_behind(buyer, thread_id=thread, seq=1, rev=0)
    seqs = [message["seq"] for message in event["messages"]]
    assert seqs == list(range(2, 2 + len(seqs)))
    assert len(seqs) < 40
    assert event["more"]


def test_a_change_further_up_is_found_by_asking(thread, buyer, seller):
    for _ in range(60):
        say(seller, thread)
    first, *_, newest = messages_of(thread)
    edit_message(buyer, thread_id=thread, message_id=first.id, body="Are you free in June?")
    event = sync_if_behind(buyer, thread_id=thread, seq=newest.seq, rev=0)
    assert (event["changed"], event["more"]) == ([], True)
    (asked, *_) = open_and_sync(
        buyer, thread_id=thread, after=newest.id, oldest=first.id, rev=event["rev"]
    )
    assert [change["message"] for change in asked["changed"]] == [first.id]
