"""Reading: pages, positions and participants, and nothing from before a user joined."""

from datetime import UTC, datetime, timedelta

import pytest
from ulid import ULID

from core.refusals import Refusal
from demo.history import PastMessage, PastThread, write_history
from tests.threads.conftest import add_friend, messages_of, row, say, start
from threads import cache, queries
from threads.actions.participants import remove_participant
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import put_many
from threads.models import FormerParticipant, Message
from threads.queries import (
    access_participants,
    catch_up,
    get_message,
    get_rows,
    list_newer,
    list_older,
    list_participants,
    open_thread,
    open_thread_at,
)

MISSING_THREAD = "thrd_01JZZZZZZZZZZZZZZZZZZZZZZZ"
BEYOND_THE_CALENDAR = "msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"


def past_thread(buyer, seller, size: int, **fields) -> str:
    began = datetime.now(UTC) - timedelta(days=9)
    messages = [
        PastMessage((buyer, seller)[n % 2].id, f"Number {n + 1}", began + timedelta(seconds=n))
        for n in range(size)
    ]
    thread = f"thrd_{ULID()}"
    write_history([PastThread(thread, buyer, seller, "Long ago", messages, **fields)])
    return thread


@pytest.fixture
def long_thread(buyer, seller) -> str:
    return past_thread(buyer, seller, 160)


def seqs(opened) -> list[int]:
    return [message.seq for message in opened.messages]


def at(thread: str, seq: int) -> Message:
    return messages_of(thread)[seq - 1]


# --- Pages


def test_opening_shows_the_newest_fifty_oldest_first(long_thread, buyer):
    opened = open_thread(buyer, long_thread)
    assert seqs(opened) == list(range(111, 161))
    assert (opened.has_older, opened.has_newer) == (True, False)
    assert opened.me.user_id == buyer.id
    assert opened.cached.thread.last_seq == 160


def test_opening_warm_and_cold_shows_the_same(long_thread, buyer, cold):
    cold(long_thread)
    first = open_thread(buyer, long_thread)
    again = open_thread(buyer, long_thread)
    assert seqs(first) == seqs(again)
    assert list(first.cached.people) == list(again.cached.people)
    assert (first.has_older, again.has_older) == (True, True)


@pytest.mark.parametrize("size", [1, 2, 49, 50, 51, 58, 59, 60, 109])
def test_an_older_page_is_offered_only_if_it_has_messages(buyer, seller, size):
    thread = past_thread(buyer, seller, size)
    for _ in range(2):
        opened = open_thread(buyer, thread)
        assert seqs(opened) == list(range(max(1, size - 49), size + 1))
        assert opened.has_older == (size > 50)


def test_older_pages_have_no_gaps_or_duplicates(long_thread, buyer):
    opened = open_thread(buyer, long_thread)
    seen = seqs(opened)
    while opened.has_older:
        opened = list_older(buyer, long_thread, before=opened.messages[0].id)
        assert len(opened.messages) <= 50
        seen = seqs(opened) + seen
    assert seen == list(range(1, 161))


def test_newer_pages_have_no_gaps_or_duplicates(long_thread, buyer):
    opened = open_thread_at(buyer, long_thread, at(long_thread, 20).id)
    seen = seqs(opened)
    while opened.has_newer:
        opened = list_newer(buyer, long_thread, after=opened.messages[-1].id)
        seen += seqs(opened)
    assert seen == list(range(seen[0], 161))


def test_a_link_to_a_message_shows_its_surroundings(long_thread, buyer):
    opened = open_thread_at(buyer, long_thread, at(long_thread, 60).id)
    assert 60 in seqs(opened)
    assert seqs(opened) == list(range(36, 86))
    assert (opened.has_older, opened.has_newer) == (True, True)


@pytest.mark.parametrize("seq", [1, 5, 25, 26, 110, 111, 160])
def test_a_link_near_an_end_shows_that_end(long_thread, buyer, seq):
    opened = open_thread_at(buyer, long_thread, at(long_thread, seq).id)
    assert seq in seqs(opened)
    assert seqs(opened) == list(range(seqs(opened)[0], seqs(opened)[-1] + 1))
    assert opened.has_older == (seqs(opened)[0] > 1)


def test_missed_messages_are_read_in_order_page_by_page(long_thread, buyer):
    after = at(long_thread, 20).id
    seen = []
    more = True
    while more:
        opened = catch_up(buyer, long_thread, after=after)
        seen += seqs(opened)
        after, more = opened.messages[-1].id, opened.has_newer
        assert opened.cached.thread.last_seq == 160
    assert seen == list(range(21, 161))


def test_catching_up_without_missed_messages_is_empty(long_thread, buyer):
    opened = catch_up(buyer, long_thread, after=at(long_thread, 160).id)
    assert seqs(opened) == []
    assert opened.has_newer is False


@pytest.mark.parametrize("missed", [1, 49, 50, 51, 58, 59, 60])
def test_catching_up_skips_no_message(long_thread, buyer, missed):
    after = at(long_thread, 160 - missed).id
    seen, more = [], True
    while more:
        opened = catch_up(buyer, long_thread, after=after)
        seen += seqs(opened)
        more = opened.has_newer and bool(opened.messages)
        after = opened.messages[-1].id if opened.messages else after
    assert seen == list(range(161 - missed, 161))


def test_messages_of_maximum_length_are_paged(buyer, seller):
    """More than one megabyte, the limit of one Query."""
    began = datetime.now(UTC) - timedelta(days=9)
    messages = [PastMessage(buyer.id, "🐘" * 8000, began + timedelta(seconds=n)) for n in range(60)]
    thread = f"thrd_{ULID()}"
    write_history([PastThread(thread, buyer, seller, "Elephants", messages)])
    opened = open_thread(buyer, thread)
    seen = seqs(opened)
    assert seen[-1] == 60
    assert opened.has_older
    while opened.has_older:
        opened = list_older(buyer, thread, before=opened.messages[0].id)
        seen = seqs(opened) + seen
    assert seen == list(range(1, 61))
    assert [m.seq for m in _all_missed(buyer, thread, at(thread, 1).id)] == list(range(2, 61))


def _all_missed(user, thread: str, after: str) -> list[Message]:
    missed, more = [], True
    while more:
        opened = catch_up(user, thread, after=after)
        assert opened.messages, "an empty page with more to come never ends"
        missed += opened.messages
        after, more = missed[-1].id, opened.has_newer
    return missed


# --- One message, many threads, participants


def test_one_message_is_read_by_its_id(thread, buyer, seller):
    sent = say(buyer, thread, "This one")
    assert get_message(seller, thread, sent.id).body == "This one"


def test_rows_are_returned_in_the_requested_order_and_only_the_users_own(buyer, seller, stranger):
    mine = [start(buyer, seller) for _ in range(3)]
    theirs = start(stranger, seller)
    requested = [mine[2], MISSING_THREAD, theirs, mine[0], mine[1]]
    assert [each.thread_id for each in get_rows(buyer, requested)] == [mine[2], mine[0], mine[1]]


def test_participants_are_the_current_ones(thread, buyer, seller, stranger):
    add_friend(buyer, thread_id=thread, user=stranger)
    people = {each.user_id for each in list_participants(seller, thread)}
    assert people == {buyer.id, seller.id, stranger.id}
    remove_participant(buyer, thread_id=thread, user_id=stranger.id)
    people = {each.user_id for each in list_participants(seller, thread)}
    assert people == {buyer.id, seller.id}
    assert access_participants(buyer, thread).get_person(stranger.id)["name"] == "Stig"


# --- Strangers


@pytest.mark.parametrize(
    "read",
    [
        lambda user, thread, message: open_thread(user, thread),
        lambda user, thread, message: open_thread_at(user, thread, message),
        lambda user, thread, message: list_older(user, thread, before=message),
        lambda user, thread, message: list_newer(user, thread, after=message),
        lambda user, thread, message: catch_up(user, thread, after=message),
        lambda user, thread, message: get_message(user, thread, message),
        lambda user, thread, message: list_participants(user, thread),
    ],
)
def test_a_stranger_is_refused_like_for_a_missing_thread(thread, buyer, stranger, read, cold):
    message = messages_of(thread)[0].id
    with count_requests() as theirs, pytest.raises(Refusal) as refused:
        read(stranger, thread, message)
    cold(thread)
    with count_requests() as of_missing, pytest.raises(Refusal) as unknown:
        read(stranger, MISSING_THREAD, message)
    assert refused.value.code == unknown.value.code == "THREAD_NOT_FOUND"
    assert refused.value.message == unknown.value.message
    assert theirs == of_missing


@pytest.mark.parametrize("message", ["msg_00000000000000000000000000", BEYOND_THE_CALENDAR])
def test_an_unknown_message_id_is_not_found(thread, buyer, message):
    for read in (open_thread_at, get_message):
        with pytest.raises(Refusal) as refused:
            read(buyer, thread, message)
        assert refused.value.code == "THREAD_NOT_FOUND"
    for opened in (
        list_older(buyer, thread, before=message),
        list_newer(buyer, thread, after=message),
        catch_up(buyer, thread, after=message),
    ):
        assert len(opened.messages) <= 1


# --- A new participant sees only later messages


@pytest.fixture
def late_thread(long_thread, buyer, stranger) -> str:
    """The stranger joined with message 161; ten more follow."""
    add_friend(buyer, thread_id=long_thread, user=stranger)
    for _ in range(10):
        say(buyer, long_thread)
    return long_thread


def test_no_page_shows_earlier_messages_to_a_new_participant(late_thread, stranger, cold):
    visible = list(range(161, 172))
    opened = open_thread(stranger, late_thread)
    assert seqs(opened) == visible
    assert opened.has_older is False
    cold(late_thread)
    assert seqs(open_thread(stranger, late_thread)) == visible

    for seq in (10, 150, 160, 161):
        older = list_older(stranger, late_thread, before=at(late_thread, seq).id)
        assert (seqs(older), older.has_older) == ([], False)
    older = list_older(stranger, late_thread, before=at(late_thread, 165).id)
    assert (seqs(older), older.has_older) == ([161, 162, 163, 164], False)


def test_no_newer_page_shows_earlier_messages_to_a_new_participant(late_thread, stranger):
    for seq in (1, 100, 155):
        seen, after = [], at(late_thread, seq).id
        for _ in range(10):
            opened = list_newer(stranger, late_thread, after=after)
            seen += seqs(opened)
            if not opened.messages:
                break
            after = opened.messages[-1].id
        assert seen in ([], list(range(161, 172)))


def test_catching_up_shows_no_earlier_messages_to_a_new_participant(late_thread, stranger):
    for seq in (1, 50, 120, 155, 160, 163):
        opened = catch_up(stranger, late_thread, after=at(late_thread, seq).id)
        assert all(each >= 161 for each in seqs(opened))
    assert seqs(catch_up(stranger, late_thread, after=at(late_thread, 163).id)) == list(
        range(164, 172)
    )


def test_no_link_shows_earlier_messages_to_a_new_participant(late_thread, stranger):
    for seq in (1, 150, 160):
        message = at(late_thread, seq).id
        for read in (open_thread_at, get_message):
            with pytest.raises(Refusal) as refused:
                read(stranger, late_thread, message)
            assert refused.value.code == "THREAD_NOT_FOUND"
    for seq in (161, 162, 171):
        message = at(late_thread, seq).id
        assert seqs(open_thread_at(stranger, late_thread, message)) == list(range(161, 172))
        assert get_message(stranger, late_thread, message).seq == seq


def test_surroundings_of_a_link_show_no_earlier_messages_to_a_new_participant(
    late_thread, buyer, stranger
):
    for _ in range(60):
        say(buyer, late_thread)
    opened = open_thread_at(stranger, late_thread, at(late_thread, 165).id)
    assert seqs(opened)[0] == 161
    assert opened.has_older is False
    assert opened.has_newer is True


def test_an_inbox_row_shows_no_earlier_message_to_a_new_participant(long_thread, buyer, stranger):
    say(buyer, long_thread, "Secret")
    add_friend(buyer, thread_id=long_thread, user=stranger)
    (mine,) = get_rows(stranger, [long_thread])
    assert mine.last_message["text"] == "Bea added Stig."
    assert mine.unread == 0


# --- Many former participants


@pytest.mark.parametrize("is_cold", [False, True])
def test_many_former_participants_do_not_displace_participants_or_messages(
    long_thread, buyer, seller, cold, is_cold
):
    former = [
        FormerParticipant(
            keys.thread_pk(long_thread),
            keys.former_participant_sk(f"usr_{number:026d}"),
            person={"id": f"usr_{number:026d}", "name": f"Gone {number}", "handle": "gone"},
        )
        for number in range(180)
    ]
    put_many(former)
    if is_cold:
        cold(long_thread)
    with count_requests() as requests:
        opened = open_thread(buyer, long_thread)
    assert len(requests) <= 2
    assert set(opened.cached.people) == {buyer.id, seller.id}
    assert seqs(opened) == list(range(111, 161))
    assert opened.has_older

    cold(long_thread)
    assert set(cache.get(long_thread).people) == {buyer.id, seller.id}
    assert say(seller, long_thread).seq == 161
    assert row(long_thread, buyer).unread == 1
    assert seqs(list_older(buyer, long_thread, before=at(long_thread, 60).id)) == list(
        range(10, 60)
    )


def test_a_rejoined_participant_gets_the_newest_page(thread, buyer, stranger, monkeypatch):
    """The page has a message from before the removal; the messages in between stay hidden."""
    monkeypatch.setattr(queries, "PAGE_SIZE", 10)
    add_friend(buyer, thread_id=thread, user=stranger)
    held = say(buyer, thread)
    remove_participant(buyer, thread_id=thread, user_id=stranger.id)
    for _ in range(40):
        say(buyer, thread, "While they were out")
    add_friend(buyer, thread_id=thread, user=stranger)
    for _ in range(25):
        say(buyer, thread)

    missed = _all_missed(stranger, thread, held.id)

    assert [message.seq for message in missed] == list(range(61, 71))
