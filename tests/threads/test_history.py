"""Threads written by `write_history` equal threads whose messages were sent at those times."""

import json
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest
import time_machine
from django.conf import settings

from accounts.models import User
from core.ids import new_id
from demo import history
from demo.history import HistoryConflict, PastMessage, PastThread, write_history
from inbox.queries import list_folder
from tests.threads.conftest import befriend, say
from threads.actions.blocks import block_person
from threads.actions.cursors import mark_read
from threads.actions.folders import archive_thread, pin_thread
from threads.actions.messages import send_message
from threads.actions.start import start_thread
from threads.dynamodb import keys
from threads.dynamodb.store import Store, StoreUnavailable, count_requests
from threads.dynamodb.table import connection
from threads.models import ArchiveDue, Message, Pair, PairThread, Participant, Thread
from threads.queries import get_message, list_older, open_thread

pytestmark = pytest.mark.indexes

BEGAN = datetime.now(UTC).replace(microsecond=417_000) - timedelta(days=45)
# Days with a gap, two messages in one millisecond, and messages older than an expired marker.
AFTER = [timedelta(days=d, milliseconds=ms) for d, ms in [(0, 0), (0, 1), (0, 1), (1, 0), (2, 5)]]
AFTER += [timedelta(days=40), timedelta(days=40, hours=1), timedelta(days=44, minutes=3)]


def past_thread(buyer: User, seller: User, order: str = "bssbbsbs", **fields: object) -> PastThread:
    authors = {"b": buyer.id, "s": seller.id}
    past_messages = [
        PastMessage(authors[letter], f"Line **{number}**\nof {len(order)}", BEGAN + after)
        for number, (letter, after) in enumerate(zip(order, AFTER, strict=False), 1)
    ]
    return PastThread(
        new_id("thrd"),
        buyer,
        seller,
        "A wedding in May",
        past_messages,
        **{"city": "Porto", **fields},
    )


def send_all(past: PastThread) -> str:
    """Sends the same messages one by one; a user reads when the newest message is read."""
    people = {person.id: person for person in (past.buyer, past.seller)}
    thread = ""
    for seq, message in enumerate(past.messages, 1):
        with time_machine.travel(message.at, tick=False):
            if seq == 1:
                thread = start_thread(
                    past.buyer,
                    seller=past.seller,
                    client_id=str(uuid4()),
                    subject=past.subject,
                    body=message.body,
                    city=past.city,
                )
            else:
                seen = min(seq - 1, past.read_up_to(message.author_id))
                say(people[message.author_id], thread, message.body, seen_seq=seen)
            for person in people.values():
                if past.read_up_to(person.id) == seq:
                    newest = messages_of(thread)[-1]
                    mark_read(
                        person,
                        thread_id=thread,
                        message_id=newest.id,
                        seq=newest.seq,
                        tally=newest.tally,
                    )
    for user_id in past.pinned_by:
        pin_thread(people[user_id], thread_id=thread)
    for user_id in past.archived_by:
        archive_thread(people[user_id], thread_id=thread)
    return thread


def raw_items(pk: str) -> list[dict]:
    return list(connection().query(pk, limit=1000)["Items"])


def messages_of(thread: str) -> list[Message]:
    raw = [raw for raw in raw_items(keys.thread_pk(thread)) if raw["sk"]["S"].startswith("MSG#")]
    return [Message.from_raw_data(each) for each in raw]


def row(thread: str, user: User) -> Participant:
    return Participant.find(keys.thread_pk(thread), keys.participant_sk(user.id))


def stored(thread: str) -> list[dict]:
    """Every item of a thread in all partitions, with normalised ids."""
    item = Thread.find(keys.thread_pk(thread), keys.THREAD)
    pair = keys.pair_pk(item.buyer_id, item.seller_id)
    outside = [*raw_items(keys.user_pk(item.buyer_id)), *raw_items(pair)]
    raw = [*raw_items(item.pk), *(each for each in outside if thread in json.dumps(each))]
    now = datetime.now(UTC).timestamp()
    unexpired = [each for each in raw if "ttl" not in each or int(each["ttl"]["N"]) > now]
    text = json.dumps(sorted(unexpired, key=lambda each: (each["pk"]["S"], each["sk"]["S"])))
    for message in messages_of(thread):
        text = text.replace(message.id, f"message {message.seq}")
        text = text.replace(message.client_id, f"client id {message.seq}")
    text = text.replace(thread, "thread").replace(keys.thread_sk(thread), "thread")
    renamed = json.loads(text)
    return sorted(renamed, key=lambda each: (each["pk"]["S"], each["sk"]["S"]))


def days_due(thread: str) -> list[str]:
    days = [(BEGAN + timedelta(days=day)).date().isoformat() for day in range(46)]
    found = [ArchiveDue.find(keys.archive_pk(day, thread), keys.thread_pk(thread)) for day in days]
    return [day for day, due in zip(days, found, strict=True) if due]


CASES = {
    "all was read": {},
    "one message, not seen": {"order": "b", "unread": {"s": 1}},
    "one message, seen": {"order": "b"},
    "never opened by the seller": {"order": "bbbb", "unread": {"s": 4}},
    "both have something to read": {"unread": {"b": 1, "s": 1}},
    "somebody wrote without reading first": {"order": "bsssbsbb", "unread": {"b": 3}},
    "nothing of the answers was read": {"order": "bbsss", "unread": {"b": 3}},
    "pinned": {"pinned_by": "s", "unread": {"s": 2}},
    "archived by both": {"archived_by": "bs"},
    "pinned, archived and not read": {"archived_by": "b", "pinned_by": "b", "unread": {"b": 2}},
    "no place": {"order": "bsb", "city": ""},
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_history_stores_exactly_what_sending_stores(buyer, seller, case):
    people = {"b": buyer.id, "s": seller.id}
    fields = dict(case)
    fields["unread"] = {people[who]: n for who, n in case.get("unread", {}).items()}
    for name in ("pinned_by", "archived_by"):
        fields[name] = [people[letter] for letter in case.get(name, "")]
    past = past_thread(buyer, seller, **fields)

    write_history([past])

    sent = send_all(past)
    assert stored(past.id) == stored(sent)
    days = sorted({message.at.date().isoformat() for message in past.messages})
    assert days_due(past.id) == days_due(sent) == days
    for person in (buyer, seller):
        assert row(past.id, person).unread == fields["unread"].get(person.id, 0)


def test_a_past_thread_connects_its_users_like_a_started_one(buyer, seller, person):
    other = person("Otto")
    past = past_thread(buyer, seller)
    write_history([past])
    befriend(buyer, other)
    start_thread(buyer, seller=other, client_id=str(uuid4()), subject="Hats", body="Hello")

    written = connection().get_item(keys.pair_pk(buyer.id, seller.id), keys.STATE)["Item"]
    started = connection().get_item(keys.pair_pk(buyer.id, other.id), keys.STATE)["Item"]
    assert written | {"pk": ""} == started | {"pk": ""}
    assert PairThread.find(keys.pair_pk(buyer.id, seller.id), keys.pair_thread_sk(past.id))


def test_ids_have_the_time_of_their_message_and_are_ordered(buyer, seller):
    past = past_thread(buyer, seller)
    write_history([past])

    messages = messages_of(past.id)
    assert [m.seq for m in messages] == list(range(1, 9))
    assert [m.id for m in messages] == sorted({m.id for m in messages})
    assert [m.created_at for m in messages] == [
        keys.iso(past_messages.at) for past_messages in past.messages
    ]
    assert [keys.message_time(m.id) for m in messages] == [
        past_messages.at for past_messages in past.messages
    ]
    assert len({UUID(m.client_id) for m in messages}) == 8


def test_a_clock_that_moves_back_keeps_the_order(buyer, seller):
    past_messages = [
        PastMessage(buyer.id, "One", BEGAN),
        PastMessage(seller.id, "Two", BEGAN - timedelta(hours=1)),
    ]
    past = PastThread(new_id("thrd"), buyer, seller, "Clocks", past_messages)
    write_history([past])
    assert [m.body for m in messages_of(past.id)] == ["One", "Two"]


def test_a_past_thread_can_be_continued(buyer, seller, delivered):
    past = past_thread(buyer, seller, unread={buyer.id: 2})
    write_history([past])
    assert not delivered

    opened = open_thread(buyer, past.id)
    assert [m.seq for m in opened.messages] == list(range(1, 9))
    assert opened.me.unread == 2
    third = get_message(seller, past.id, opened.messages[2].id)
    assert third.seq == 3

    assert say(seller, past.id, "Are you there?").seq == 9
    assert row(past.id, buyer).unread == 3
    newest = messages_of(past.id)[-1]
    mark_read(buyer, thread_id=past.id, message_id=newest.id, seq=newest.seq, tally=newest.tally)
    assert row(past.id, buyer).unread == 0
    assert say(buyer, past.id, "Now I am", seen_seq=9).tally == 10
    assert (row(past.id, buyer).unread, row(past.id, seller).unread) == (0, 1)
    assert delivered.to(buyer, "inbox.changed")


def test_reading_half_of_the_unread_messages_leaves_the_other_half(buyer, seller):
    past = past_thread(buyer, seller, "bssss", unread={buyer.id: 4})
    write_history([past])
    third = messages_of(past.id)[2]
    mark_read(buyer, thread_id=past.id, message_id=third.id, seq=third.seq, tally=third.tally)
    assert row(past.id, buyer).unread == 2


def test_a_recent_message_sent_again_is_not_stored_twice(buyer, seller):
    past = past_thread(buyer, seller)
    write_history([past])
    first, *_, last = messages_of(past.id)

    again = send_message(seller, thread_id=past.id, client_id=last.client_id, body=last.body)
    assert again.id == last.id
    # The marker of this message has expired.
    late = send_message(buyer, thread_id=past.id, client_id=first.client_id, body=first.body)
    assert late.seq == 9


def test_rows_are_listed_by_pin_and_age(buyer, seller, person):
    quiet = past_thread(buyer, person("Quinn"), "bs")
    pinned = past_thread(buyer, person("Pia"), "b", pinned_by=[buyer.id])
    recent = past_thread(buyer, seller)
    archived = past_thread(buyer, person("Gil"), archived_by=[buyer.id])
    write_history([quiet, pinned, recent, archived])

    def ids(folder: str) -> list[str]:
        return [row.thread_id for row in list_folder(buyer, folder).rows]

    assert ids("inbox") == [pinned.id, recent.id, quiet.id]
    assert ids("archived") == [archived.id]


def test_a_long_thread_can_be_paged_to_its_beginning(buyer, seller):
    past_messages = [
        PastMessage(buyer.id if n % 3 else seller.id, f"Line {n}", BEGAN + timedelta(minutes=7 * n))
        for n in range(1, 302)
    ]
    past = PastThread(new_id("thrd"), buyer, seller, "Long", past_messages)
    with count_requests() as requests:
        write_history([past])
    # Markers of the last thirty days are written too, in chunks of 25.
    assert len(requests) < 2 + (2 * 301 + 50) / 25

    page = open_thread(buyer, past.id)
    seen = [m.seq for m in page.messages]
    while page.has_older:
        page = list_older(buyer, past.id, before=page.messages[0].id)
        seen = [m.seq for m in page.messages] + seen
    assert seen == list(range(1, 302))


# --- Refusals and interruptions


def test_an_existing_thread_is_refused(buyer, seller):
    past = past_thread(buyer, seller)
    write_history([past])
    say(buyer, past.id, "Since then")
    before = stored(past.id)

    other = past_thread(buyer, seller)
    with pytest.raises(HistoryConflict, match=past.id):
        write_history([other, past])
    assert stored(past.id) == before
    assert Thread.find(keys.thread_pk(other.id), keys.THREAD) is None


def test_a_thread_created_meanwhile_is_refused(buyer, seller, monkeypatch):
    past = past_thread(buyer, seller)
    write_history([past])
    say(buyer, past.id, "Since then")
    before = Thread.find(keys.thread_pk(past.id), keys.THREAD).last_seq
    monkeypatch.setattr(history, "list_existing", lambda ids: set())
    with pytest.raises(HistoryConflict):
        write_history([past])
    assert Thread.find(keys.thread_pk(past.id), keys.THREAD).last_seq == before == 9


def test_users_with_a_block_are_refused(buyer, seller):
    block_person(seller, blocked=buyer)
    past = past_thread(buyer, seller)
    with pytest.raises(HistoryConflict, match="pair"):
        write_history([past])
    assert Thread.find(keys.thread_pk(past.id), keys.THREAD) is None
    assert Pair.find(keys.pair_pk(buyer.id, seller.id), keys.STATE).blocked_by == {seller.id}


def test_an_interrupted_write_shows_nothing_and_the_next_completes_it(buyer, seller, monkeypatch):
    past = past_thread(buyer, seller, unread={buyer.id: 1})

    def die(threads: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(history, "_write_threads", die)
        with pytest.raises(KeyboardInterrupt):
            write_history([past])
    assert not list_folder(buyer, "inbox").rows
    assert not list_folder(seller, "inbox").rows

    write_history([past])
    assert stored(past.id) == stored(send_all(past))


def test_unprocessed_items_are_retried(buyer, seller, monkeypatch):
    unprocessed = iter([7, 3, 0])
    real = Store._make_api_call

    def process_partly(self: Store, operation: str, kwargs: dict) -> dict:
        if operation != "BatchWriteItem":
            return real(self, operation, kwargs)
        ((table, requests),) = kwargs["RequestItems"].items()
        left = next(unprocessed, 0)
        now, later = requests[: len(requests) - left], requests[len(requests) - left :]
        real(self, operation, kwargs | {"RequestItems": {table: now}})
        return {"UnprocessedItems": {table: later} if later else {}}

    monkeypatch.setattr(Store, "_make_api_call", process_partly)
    past = past_thread(buyer, seller)
    write_history([past])
    assert next(unprocessed, None) is None
    assert stored(past.id) == stored(send_all(past))


def test_a_store_that_processes_nothing_is_unavailable(buyer, seller, monkeypatch):
    real = Store._make_api_call

    def process_nothing(self: Store, operation: str, kwargs: dict) -> dict:
        if operation == "BatchWriteItem":
            return {"UnprocessedItems": kwargs["RequestItems"]}
        return real(self, operation, kwargs)

    monkeypatch.setattr(Store, "_make_api_call", process_nothing)
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.05)
    past = past_thread(buyer, seller)
    with pytest.raises(StoreUnavailable):
        write_history([past])
    assert Thread.find(keys.thread_pk(past.id), keys.THREAD) is None


def test_an_impossible_history_is_refused(buyer, seller, stranger):
    for order in ("", "sb"):
        with pytest.raises(ValueError, match="buyer must send"):
            past_thread(buyer, seller, order)
    with pytest.raises(ValueError, match="two participants"):
        past_thread(buyer, buyer)
    with pytest.raises(ValueError, match="two participants"):
        PastThread("thrd_x", buyer, seller, "Hats", [PastMessage(stranger.id, "Hello", BEGAN)])
    with pytest.raises(ValueError, match="more unread"):
        write_history([past_thread(buyer, seller, "bsb", unread={buyer.id: 2})])
