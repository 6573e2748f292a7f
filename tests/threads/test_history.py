"""Past threads against ones in which everything was really sent, at those times."""

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
# Days, one of them silent; two messages in one millisecond; the first ones older than a marker.
AFTER = [timedelta(days=d, milliseconds=ms) for d, ms in [(0, 0), (0, 1), (0, 1), (1, 0), (2, 5)]]
AFTER += [timedelta(days=40), timedelta(days=40, hours=1), timedelta(days=44, minutes=3)]


def past_thread(buyer: User, seller: User, order: str = "bssbbsbs", **fields: object) -> PastThread:
    authors = {"b": buyer.id, "s": seller.id}
    said = [
        PastMessage(authors[letter], f"Line **{number}**\nof {len(order)}", BEGAN + after)
        for number, (letter, after) in enumerate(zip(order, AFTER, strict=False), 1)
    ]
    return PastThread(
        new_id("thrd"), buyer, seller, "A wedding in May", said, **{"city": "Porto", **fields}
    )


def really_send(past: PastThread) -> str:
    """The same, message by message; people read when what they have read is the newest."""
    people = {person.id: person for person in (past.buyer, past.seller)}
    thread = ""
    for seq, said in enumerate(past.messages, 1):
        with time_machine.travel(said.at, tick=False):
            if seq == 1:
                thread = start_thread(
                    past.buyer,
                    seller=past.seller,
                    client_id=str(uuid4()),
                    subject=past.subject,
                    body=said.body,
                    city=past.city,
                )
            else:
                seen = min(seq - 1, past.read_up_to(said.author_id))
                say(people[said.author_id], thread, said.body, seen_seq=seen)
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
    """Every item of a thread wherever it is, byte for byte, but for ids, which differ."""
    item = Thread.find(keys.thread_pk(thread), keys.THREAD)
    pair = keys.pair_pk(item.buyer_id, item.seller_id)
    outside = [*raw_items(keys.user_pk(item.buyer_id)), *raw_items(pair)]
    raw = [*raw_items(item.pk), *(each for each in outside if thread in json.dumps(each))]
    now = datetime.now(UTC).timestamp()
    living = [each for each in raw if "ttl" not in each or int(each["ttl"]["N"]) > now]
    text = json.dumps(sorted(living, key=lambda each: (each["pk"]["S"], each["sk"]["S"])))
    for message in messages_of(thread):
        text = text.replace(message.id, f"message {message.seq}")
        text = text.replace(message.client_id, f"client id {message.seq}")
    renamed = json.loads(text.replace(thread, "thread"))
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
def test_leaves_exactly_what_sending_would_have(buyer, seller, case):
    people = {"b": buyer.id, "s": seller.id}
    fields = dict(case)
    fields["unread"] = {people[who]: n for who, n in case.get("unread", {}).items()}
    for name in ("pinned_by", "archived_by"):
        fields[name] = [people[letter] for letter in case.get(name, "")]
    past = past_thread(buyer, seller, **fields)

    write_history([past])

    sent = really_send(past)
    assert stored(past.id) == stored(sent)
    days = sorted({message.at.date().isoformat() for message in past.messages})
    assert days_due(past.id) == days_due(sent) == days
    for person in (buyer, seller):
        assert row(past.id, person).unread == fields["unread"].get(person.id, 0)


def test_the_two_have_met(buyer, seller, person):
    other = person("Otto")
    past = past_thread(buyer, seller)
    write_history([past])
    befriend(buyer, other)
    start_thread(buyer, seller=other, client_id=str(uuid4()), subject="Hats", body="Hello")

    written = connection().get_item(keys.pair_pk(buyer.id, seller.id), keys.STATE)["Item"]
    started = connection().get_item(keys.pair_pk(buyer.id, other.id), keys.STATE)["Item"]
    assert written | {"pk": ""} == started | {"pk": ""}
    assert PairThread.find(keys.pair_pk(buyer.id, seller.id), keys.pair_thread_sk(past.id))


def test_ids_are_of_their_time_and_in_order(buyer, seller):
    past = past_thread(buyer, seller)
    write_history([past])

    messages = messages_of(past.id)
    assert [m.seq for m in messages] == list(range(1, 9))
    assert [m.id for m in messages] == sorted({m.id for m in messages})
    assert [m.created_at for m in messages] == [keys.iso(said.at) for said in past.messages]
    assert [keys.message_time(m.id) for m in messages] == [said.at for said in past.messages]
    assert len({UUID(m.client_id) for m in messages}) == 8


def test_a_clock_that_goes_back_puts_nothing_out_of_order(buyer, seller):
    said = [
        PastMessage(buyer.id, "One", BEGAN),
        PastMessage(seller.id, "Two", BEGAN - timedelta(hours=1)),
    ]
    past = PastThread(new_id("thrd"), buyer, seller, "Clocks", said)
    write_history([past])
    assert [m.body for m in messages_of(past.id)] == ["One", "Two"]


def test_people_go_on_talking_in_it(buyer, seller, delivered):
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


def test_reading_half_of_what_was_not_read_leaves_the_other_half(buyer, seller):
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
    # The marker of this one has expired.
    late = send_message(buyer, thread_id=past.id, client_id=first.client_id, body=first.body)
    assert late.seq == 9


def test_rows_stand_in_the_inbox_by_pin_and_by_age(buyer, seller, person):
    quiet = past_thread(buyer, person("Quinn"), "bs")
    pinned = past_thread(buyer, person("Pia"), "b", pinned_by=[buyer.id])
    recent = past_thread(buyer, seller)
    gone = past_thread(buyer, person("Gil"), archived_by=[buyer.id])
    write_history([quiet, pinned, recent, gone])

    def ids(folder: str) -> list[str]:
        return [row.thread_id for row in list_folder(buyer, folder).rows]

    assert ids("inbox") == [pinned.id, recent.id, quiet.id]
    assert ids("archived") == [gone.id]


def test_long_ones_page_back_to_their_beginning(buyer, seller):
    said = [
        PastMessage(buyer.id if n % 3 else seller.id, f"Line {n}", BEGAN + timedelta(minutes=7 * n))
        for n in range(1, 302)
    ]
    past = PastThread(new_id("thrd"), buyer, seller, "Long", said)
    with count_requests() as requests:
        write_history([past])
    # The markers of what is younger than thirty days, too: in chunks of 25, not one by one.
    assert len(requests) < 2 + (2 * 301 + 50) / 25

    page = open_thread(buyer, past.id)
    seen = [m.seq for m in page.messages]
    while page.has_older:
        page = list_older(buyer, past.id, before=page.messages[0].id)
        seen = [m.seq for m in page.messages] + seen
    assert seen == list(range(1, 302))


# --- Refusals, and what is left of an interruption


def test_refuses_to_touch_a_thread_that_is_there(buyer, seller):
    past = past_thread(buyer, seller)
    write_history([past])
    say(buyer, past.id, "Since then")
    before = stored(past.id)

    other = past_thread(buyer, seller)
    with pytest.raises(HistoryConflict, match=past.id):
        write_history([other, past])
    assert stored(past.id) == before
    assert Thread.find(keys.thread_pk(other.id), keys.THREAD) is None


def test_refuses_a_thread_that_appears_meanwhile(buyer, seller, monkeypatch):
    past = past_thread(buyer, seller)
    write_history([past])
    say(buyer, past.id, "Since then")
    before = Thread.find(keys.thread_pk(past.id), keys.THREAD).last_seq
    monkeypatch.setattr(history, "list_existing", lambda ids: set())
    with pytest.raises(HistoryConflict):
        write_history([past])
    assert Thread.find(keys.thread_pk(past.id), keys.THREAD).last_seq == before == 9


def test_refuses_people_between_whom_there_is_a_block(buyer, seller):
    block_person(seller, blocked=buyer)
    past = past_thread(buyer, seller)
    with pytest.raises(HistoryConflict, match="pair"):
        write_history([past])
    assert Thread.find(keys.thread_pk(past.id), keys.THREAD) is None
    assert Pair.find(keys.pair_pk(buyer.id, seller.id), keys.STATE).blocked_by == {seller.id}


def test_an_interrupted_write_shows_nothing_and_is_finished_by_the_next(buyer, seller, monkeypatch):
    past = past_thread(buyer, seller, unread={buyer.id: 1})

    def die(states: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(history, "_write_threads", die)
        with pytest.raises(KeyboardInterrupt):
            write_history([past])
    assert not list_folder(buyer, "inbox").rows
    assert not list_folder(seller, "inbox").rows

    write_history([past])
    assert stored(past.id) == stored(really_send(past))


def test_what_the_store_leaves_over_is_written_in_the_next_attempt(buyer, seller, monkeypatch):
    left_over = iter([7, 3, 0])
    real = Store._make_api_call

    def busy(self: Store, operation: str, kwargs: dict) -> dict:
        if operation != "BatchWriteItem":
            return real(self, operation, kwargs)
        ((table, requests),) = kwargs["RequestItems"].items()
        left = next(left_over, 0)
        now, later = requests[: len(requests) - left], requests[len(requests) - left :]
        real(self, operation, kwargs | {"RequestItems": {table: now}})
        return {"UnprocessedItems": {table: later} if later else {}}

    monkeypatch.setattr(Store, "_make_api_call", busy)
    past = past_thread(buyer, seller)
    write_history([past])
    assert next(left_over, None) is None
    assert stored(past.id) == stored(really_send(past))


def test_a_store_that_takes_nothing_is_said_to_be_unavailable(buyer, seller, monkeypatch):
    real = Store._make_api_call

    def full(self: Store, operation: str, kwargs: dict) -> dict:
        if operation == "BatchWriteItem":
            return {"UnprocessedItems": kwargs["RequestItems"]}
        return real(self, operation, kwargs)

    monkeypatch.setattr(Store, "_make_api_call", full)
    monkeypatch.setitem(settings.DYNAMODB, "retry_seconds", 0.05)
    past = past_thread(buyer, seller)
    with pytest.raises(StoreUnavailable):
        write_history([past])
    assert Thread.find(keys.thread_pk(past.id), keys.THREAD) is None


def test_refuses_what_could_not_have_happened(buyer, seller, stranger):
    for order in ("", "sb"):
        with pytest.raises(ValueError, match="buyer must send"):
            past_thread(buyer, seller, order)
    with pytest.raises(ValueError, match="two participants"):
        past_thread(buyer, buyer)
    with pytest.raises(ValueError, match="two participants"):
        PastThread("thrd_x", buyer, seller, "Hats", [PastMessage(stranger.id, "Hello", BEGAN)])
    with pytest.raises(ValueError, match="more unread"):
        write_history([past_thread(buyer, seller, "bsb", unread={buyer.id: 2})])
