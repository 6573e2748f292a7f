"""A checker that cannot fail proves nothing: each fault, made by hand, is found, and only that."""

from dataclasses import replace

import pytest

from tests.soak.checker import (
    DOUBLED,
    FAULTS,
    LEFT_PENDING,
    LOST,
    OUT_OF_ORDER,
    PHANTOM,
    WRONG_ROW,
    WRONG_UNREAD,
    check,
)
from tests.soak.device_log import Acknowledged, Refused, Sent, Shown, Witness
from tests.soak.stored import Stored

THREAD, BUYER, SELLER = "thrd_1", "usr_buyer", "usr_seller"
# The first was there when the pages were loaded; then three were written, one by the seller.
AUTHORS = {1: SELLER, 2: BUYER, 3: SELLER, 4: BUYER}


class Story:
    """Two people, three devices, three messages; the buyer has read all, the seller up to 3."""

    def __init__(self) -> None:
        self.stored = Stored()
        self.stored.messages[THREAD] = [_message(seq, who) for seq, who in AUTHORS.items()]
        self.stored.threads[THREAD] = self._standing()
        self._join(BUYER, read=4, own=0)
        self._join(SELLER, read=3, own=0)
        self.stored.rows["GSI4", THREAD, SELLER] = [{"pk": f"THR#{THREAD}"}]
        devices = (("laptop", BUYER), ("phone", BUYER), ("desk", SELLER))
        self.laptop, self.phone, self.desk = (_witness(name, user) for name, user in devices)
        for seq, writer in ((2, self.laptop), (3, self.desk), (4, self.laptop)):
            writer.write(Sent(THREAD, f"c{seq}", f"body {seq}", connection=1))
            for witness in self.witnesses:
                witness.write(_shown(seq))
            writer.write(Acknowledged(THREAD, f"c{seq}", f"msg_{seq}", seq, connection=1))

    @property
    def witnesses(self) -> list[Witness]:
        return [self.laptop, self.phone, self.desk]

    def person(self, user: str) -> dict:
        return self.stored.participants[THREAD, user]

    def message(self, seq: int) -> dict:
        return self.stored.messages[THREAD][seq - 1]

    def found(self) -> dict[str, int]:
        faults = check(self.stored, self.witnesses).faults
        return {name: len(faults[name]) for name in FAULTS if faults[name]}

    def _standing(self) -> dict:
        newest = self.message(4)
        summary = {"author": BUYER, "type": "text", "text": "body 4"}
        return {
            "lastSeq": 4,
            "lastTally": 4,
            "lastMessageAt": newest["createdAt"],
            "lastMessage": summary,
        }

    def _join(self, user: str, read: int, own: int) -> None:
        place = {"GSI1PK": f"PARTICIPANT#{user}", "GSI1SK": f"{_time(4)}#{THREAD}"}
        cursors = {"lastReadSeq": read, "lastReadTally": read, "ownSinceRead": own}
        item = self._standing() | place | cursors | {"deliveredSeq": 4, "folder": "inbox"}
        self.stored.participants[THREAD, user] = item
        self.stored.rows["GSI1", THREAD, user] = [dict(item)]


def _time(seq: int) -> str:
    return f"2026-05-04T09:30:0{seq}.000Z"


def _message(seq: int, author: str) -> dict:
    return {
        "id": f"msg_{seq}",
        "seq": seq,
        "tally": seq,
        "clientId": f"c{seq}",
        "authorUserId": author,
        "type": "text",
        "body": f"body {seq}",
        "createdAt": _time(seq),
    }


def _witness(name: str, user: str) -> Witness:
    return Witness(name, user, {THREAD: 1})


def _shown(seq: int) -> Shown:
    return Shown(THREAD, f"msg_{seq}", seq, f"c{seq}", AUTHORS[seq], f"body {seq}")


def _change(witness: Witness, old: object, *new: object) -> None:
    place = witness.entries.index(old)
    witness.entries[place : place + 1] = new


@pytest.fixture
def story() -> Story:
    return Story()


def test_finds_nothing_where_all_is_well(story):
    verdict = check(story.stored, story.witnesses)
    assert verdict.is_clean
    assert (verdict.acknowledged, verdict.stored, verdict.delivered) == (3, 3, 9)


# --- Lost


def test_finds_a_message_that_was_acknowledged_and_is_not_stored(story):
    story.desk.write(Acknowledged(THREAD, "c9", "msg_9", 5, connection=1))
    assert story.found() == {LOST: 1}


def test_finds_an_acknowledgement_whose_place_another_message_has(story):
    story.desk.write(Acknowledged(THREAD, "c9", "msg_4", 4, connection=1))
    assert story.found() == {LOST: 1}


def test_finds_a_message_that_one_device_was_never_shown(story):
    story.phone.entries.remove(_shown(3))
    assert story.found() == {LOST: 1}


def test_finds_a_message_that_is_neither_delivered_nor_pending(story):
    story.person(SELLER)["deliveredSeq"] = 3
    assert story.found() == {LOST: 1}


# --- Doubled


def test_finds_one_client_id_stored_twice(story):
    story.message(4)["clientId"] = "c2"
    _change(story.laptop, Acknowledged(THREAD, "c4", "msg_4", 4, 1))
    for witness in story.witnesses:
        _change(witness, _shown(4), replace(_shown(4), client_id="c2"))
    assert story.found() == {DOUBLED: 1}


def test_finds_a_message_shown_twice(story):
    story.phone.write(_shown(3))
    assert story.found() == {DOUBLED: 1}


def test_finds_two_messages_under_one_number(story):
    story.phone.write(replace(_shown(3), message="msg_other"))
    assert story.found() == {DOUBLED: 1, PHANTOM: 1}


# --- Out of order


def test_finds_a_lower_message_shown_after_a_higher_one(story):
    story.phone.entries.remove(_shown(3))
    story.phone.write(_shown(3))
    assert story.found() == {OUT_OF_ORDER: 1}


def test_finds_keys_that_are_not_in_the_order_of_their_numbers(story):
    messages = story.stored.messages[THREAD]
    messages[1], messages[2] = messages[2], messages[1]
    assert story.found() == {OUT_OF_ORDER: 1}


@pytest.mark.parametrize("seq", [2, 4])
def test_finds_a_gap_and_a_double_in_the_numbers(story, seq):
    story.message(3)["seq"] = seq
    assert OUT_OF_ORDER in story.found()


def test_finds_messages_of_one_connection_stored_in_another_order(story):
    _send_last_first(story)
    assert story.found() == {OUT_OF_ORDER: 1}


def test_forgives_another_order_after_a_refusal(story):
    _send_last_first(story)
    story.laptop.entries.insert(1, Refused("TRY_AGAIN", "c4", 1))
    assert story.found() == {}


def _send_last_first(story: Story) -> None:
    last = Sent(THREAD, "c4", "body 4", connection=1)
    story.laptop.entries.remove(last)
    story.laptop.entries.insert(0, last)


def test_finds_a_message_sent_before_the_thread_was_caught_up_with(story):
    sent = Sent(THREAD, "c2", "body 2", 1)
    _change(story.laptop, sent, replace(sent, synced=False))
    assert story.found() == {OUT_OF_ORDER: 1}


# --- Phantom


@pytest.mark.parametrize("change", [{"body": "other"}, {"author": BUYER}, {"client_id": "c7"}])
def test_finds_a_message_shown_otherwise_than_it_is_stored(story, change):
    _change(story.phone, _shown(3), replace(_shown(3), **change))
    assert story.found() == {PHANTOM: 1}


def test_finds_a_message_that_was_shown_and_is_not_stored(story):
    story.phone.write(replace(_shown(4), message="msg_9", seq=5))
    assert story.found() == {PHANTOM: 1}


def test_finds_a_page_that_missed_a_change(story):
    story.phone.page[THREAD]["msg_3"] = "<li>before</li>"
    fresh = {THREAD: {"msg_3": "<li>after</li>"}}
    assert len(check(story.stored, story.witnesses, fresh).faults[PHANTOM]) == 1
    story.phone.page[THREAD]["msg_3"] = "<li>after</li>"
    assert check(story.stored, story.witnesses, fresh).is_clean


def test_takes_a_message_that_was_edited_or_removed_later_for_the_same(story):
    story.message(2).update(body="edited", earlierBodies=[{"body": "body 2", "since": _time(2)}])
    story.message(3).update(removedAt=_time(3))
    _change(story.phone, _shown(3), replace(_shown(3), body=""))
    assert story.found() == {}


# --- Wrong unread


def test_finds_a_count_that_is_not_what_the_messages_say(story):
    story.person(SELLER)["lastReadTally"] = 2
    assert story.found() == {WRONG_UNREAD: 1}


def test_finds_own_messages_counted_as_unread(story):
    story.person(BUYER).update(lastReadSeq=3, lastReadTally=3)
    assert story.found() == {WRONG_UNREAD: 1}


def test_finds_an_unread_thread_that_is_not_listed_as_such(story):
    del story.stored.rows["GSI4", THREAD, SELLER]
    assert story.found() == {WRONG_UNREAD: 1}


def test_finds_a_read_thread_that_is_listed_as_unread(story):
    story.stored.rows["GSI4", THREAD, BUYER] = [{"pk": f"THR#{THREAD}"}]
    assert story.found() == {WRONG_UNREAD: 1}


# --- Wrong inbox row


@pytest.mark.parametrize(
    "change",
    [
        {"lastSeq": 3},
        {"lastMessageAt": _time(3)},
        {"lastMessage": {"author": BUYER, "type": "text", "text": "body 2"}},
    ],
)
def test_finds_a_row_that_does_not_show_the_newest_message(story, change):
    story.person(SELLER).update(change)
    story.stored.rows["GSI1", THREAD, SELLER][0].update(change)
    assert story.found()[WRONG_ROW] >= 1


def test_finds_a_row_that_still_shows_what_was_removed(story):
    story.message(4)["removedAt"] = _time(4)
    assert WRONG_ROW in story.found()


def test_finds_a_thread_that_does_not_name_its_newest_message(story):
    story.stored.threads[THREAD]["lastSeq"] = 3
    assert story.found() == {WRONG_ROW: 2}


@pytest.mark.parametrize("change", [{"folder": "archived"}, {"pinned": True}])
def test_finds_a_row_in_another_place_than_its_folder_and_pin_say(story, change):
    story.person(BUYER).update(change)
    assert WRONG_ROW in story.found()


def test_finds_a_row_that_the_index_does_not_have(story):
    story.stored.rows["GSI1", THREAD, BUYER] = []
    assert story.found() == {WRONG_ROW: 1}


def test_finds_a_row_that_the_index_has_twice(story):
    story.stored.rows["GSI1", THREAD, BUYER] *= 2
    assert story.found() == {WRONG_ROW: 1}


# --- Pending


def test_finds_a_pending_row_of_somebody_who_has_everything(story):
    story.stored.rows["GSI3", THREAD, SELLER] = [{"pk": f"THR#{THREAD}"}]
    assert story.found() == {LEFT_PENDING: 1}


def test_finds_a_participant_who_still_waits_for_something(story):
    story.person(SELLER)["firstUndeliveredSeq"] = 4
    assert story.found() == {LEFT_PENDING: 1}
