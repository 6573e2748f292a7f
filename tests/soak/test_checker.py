"""The checker finds each kind of fault, and only that one."""

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
from tests.soak.device_log import Acknowledged, DeviceLog, Refused, Sent, Shown
from tests.soak.stored import Stored

THREAD, BUYER, SELLER = "thrd_1", "usr_buyer", "usr_seller"
# The first message existed when the pages were loaded; then three were written, one by the seller.
AUTHORS = {1: SELLER, 2: BUYER, 3: SELLER, 4: BUYER}


class Scenario:
    """Two users, three devices, three messages; the buyer has read all, the seller up to 3."""

    def __init__(self) -> None:
        self.stored = Stored()
        self.stored.messages[THREAD] = [
            _message(seq, author_id) for seq, author_id in AUTHORS.items()
        ]
        self.stored.threads[THREAD] = self._summary_fields()
        self._join(BUYER, read=4, own=0)
        self._join(SELLER, read=3, own=0)
        self.stored.rows["GSI4", THREAD, SELLER] = [{"pk": f"THR#{THREAD}"}]
        devices = (("laptop", BUYER), ("phone", BUYER), ("desk", SELLER))
        self.laptop, self.phone, self.desk = (_log(name, user) for name, user in devices)
        for seq, writer in ((2, self.laptop), (3, self.desk), (4, self.laptop)):
            writer.record(Sent(THREAD, f"c{seq}", f"body {seq}", connection=1))
            for log in self.logs:
                log.record(_shown(seq))
            writer.record(Acknowledged(THREAD, f"c{seq}", f"msg_{seq}", seq, connection=1))

    @property
    def logs(self) -> list[DeviceLog]:
        return [self.laptop, self.phone, self.desk]

    def participant(self, user: str) -> dict:
        return self.stored.participants[THREAD, user]

    def message(self, seq: int) -> dict:
        return self.stored.messages[THREAD][seq - 1]

    def found(self) -> dict[str, int]:
        faults = check(self.stored, self.logs).faults
        return {name: len(faults[name]) for name in FAULTS if faults[name]}

    def _summary_fields(self) -> dict:
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
        item = self._summary_fields() | place | cursors | {"deliveredSeq": 4, "folder": "inbox"}
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


def _log(name: str, user: str) -> DeviceLog:
    return DeviceLog(name, user, {THREAD: 1})


def _shown(seq: int) -> Shown:
    return Shown(THREAD, f"msg_{seq}", seq, f"c{seq}", AUTHORS[seq], f"body {seq}")


def _change(log: DeviceLog, old: object, *new: object) -> None:
    place = log.entries.index(old)
    log.entries[place : place + 1] = new


@pytest.fixture
def scenario() -> Scenario:
    return Scenario()


def test_finds_nothing_in_a_consistent_run(scenario):
    verdict = check(scenario.stored, scenario.logs)
    assert verdict.is_clean
    assert (verdict.acknowledged, verdict.stored, verdict.delivered) == (3, 3, 9)


# --- Lost


def test_finds_a_message_that_was_acknowledged_and_is_not_stored(scenario):
    scenario.desk.record(Acknowledged(THREAD, "c9", "msg_9", 5, connection=1))
    assert scenario.found() == {LOST: 1}


def test_finds_an_acknowledged_message_replaced_by_another(scenario):
    scenario.desk.record(Acknowledged(THREAD, "c9", "msg_4", 4, connection=1))
    assert scenario.found() == {LOST: 1}


def test_finds_a_message_never_shown_on_a_device(scenario):
    scenario.phone.entries.remove(_shown(3))
    assert scenario.found() == {LOST: 1}


def test_finds_a_message_that_is_neither_delivered_nor_pending(scenario):
    scenario.participant(SELLER)["deliveredSeq"] = 3
    assert scenario.found() == {LOST: 1}


# --- Doubled


def test_finds_one_client_id_stored_twice(scenario):
    scenario.message(4)["clientId"] = "c2"
    _change(scenario.laptop, Acknowledged(THREAD, "c4", "msg_4", 4, 1))
    for log in scenario.logs:
        _change(log, _shown(4), replace(_shown(4), client_id="c2"))
    assert scenario.found() == {DOUBLED: 1}


def test_finds_a_message_shown_twice(scenario):
    scenario.phone.record(_shown(3))
    assert scenario.found() == {DOUBLED: 1}


def test_finds_two_messages_with_one_seq(scenario):
    scenario.phone.record(replace(_shown(3), message="msg_other"))
    assert scenario.found() == {DOUBLED: 1, PHANTOM: 1}


# --- Out of order


def test_finds_a_lower_message_shown_after_a_higher_one(scenario):
    scenario.phone.entries.remove(_shown(3))
    scenario.phone.record(_shown(3))
    assert scenario.found() == {OUT_OF_ORDER: 1}


def test_finds_keys_out_of_order(scenario):
    messages = scenario.stored.messages[THREAD]
    messages[1], messages[2] = messages[2], messages[1]
    assert scenario.found() == {OUT_OF_ORDER: 1}


@pytest.mark.parametrize("seq", [2, 4])
def test_finds_a_gap_and_a_duplicate_in_the_seqs(scenario, seq):
    scenario.message(3)["seq"] = seq
    assert OUT_OF_ORDER in scenario.found()


def test_finds_messages_of_one_connection_stored_in_another_order(scenario):
    _reverse_sends(scenario)
    assert scenario.found() == {OUT_OF_ORDER: 1}


def test_accepts_another_order_after_a_refusal(scenario):
    _reverse_sends(scenario)
    scenario.laptop.entries.insert(1, Refused("TRY_AGAIN", "c4", 1))
    assert scenario.found() == {}


def _reverse_sends(scenario: Scenario) -> None:
    last = Sent(THREAD, "c4", "body 4", connection=1)
    scenario.laptop.entries.remove(last)
    scenario.laptop.entries.insert(0, last)


def test_finds_a_message_sent_before_the_thread_was_synced(scenario):
    sent = Sent(THREAD, "c2", "body 2", 1)
    _change(scenario.laptop, sent, replace(sent, synced=False))
    assert scenario.found() == {OUT_OF_ORDER: 1}


# --- Phantom


@pytest.mark.parametrize("change", [{"body": "other"}, {"author": BUYER}, {"client_id": "c7"}])
def test_finds_a_message_shown_differently_from_the_stored_one(scenario, change):
    _change(scenario.phone, _shown(3), replace(_shown(3), **change))
    assert scenario.found() == {PHANTOM: 1}


def test_finds_a_message_that_was_shown_and_is_not_stored(scenario):
    scenario.phone.record(replace(_shown(4), message="msg_9", seq=5))
    assert scenario.found() == {PHANTOM: 1}


def test_finds_a_page_that_missed_a_change(scenario):
    scenario.phone.page[THREAD]["msg_3"] = "<li>before</li>"
    fresh = {THREAD: {"msg_3": "<li>after</li>"}}
    assert len(check(scenario.stored, scenario.logs, fresh).faults[PHANTOM]) == 1
    scenario.phone.page[THREAD]["msg_3"] = "<li>after</li>"
    assert check(scenario.stored, scenario.logs, fresh).is_clean


def test_accepts_a_message_that_was_edited_or_removed_later(scenario):
    scenario.message(2).update(body="edited", earlierBodies=[{"body": "body 2", "since": _time(2)}])
    scenario.message(3).update(removedAt=_time(3))
    _change(scenario.phone, _shown(3), replace(_shown(3), body=""))
    assert scenario.found() == {}


# --- Wrong unread


def test_finds_a_wrong_unread_count(scenario):
    scenario.participant(SELLER)["lastReadTally"] = 2
    assert scenario.found() == {WRONG_UNREAD: 1}


def test_finds_own_messages_counted_as_unread(scenario):
    scenario.participant(BUYER).update(lastReadSeq=3, lastReadTally=3)
    assert scenario.found() == {WRONG_UNREAD: 1}


def test_finds_an_unread_thread_not_listed_as_unread(scenario):
    del scenario.stored.rows["GSI4", THREAD, SELLER]
    assert scenario.found() == {WRONG_UNREAD: 1}


def test_finds_a_read_thread_that_is_listed_as_unread(scenario):
    scenario.stored.rows["GSI4", THREAD, BUYER] = [{"pk": f"THR#{THREAD}"}]
    assert scenario.found() == {WRONG_UNREAD: 1}


# --- Wrong inbox row


@pytest.mark.parametrize(
    "change",
    [
        {"lastSeq": 3},
        {"lastMessageAt": _time(3)},
        {"lastMessage": {"author": BUYER, "type": "text", "text": "body 2"}},
    ],
)
def test_finds_a_row_that_does_not_show_the_newest_message(scenario, change):
    scenario.participant(SELLER).update(change)
    scenario.stored.rows["GSI1", THREAD, SELLER][0].update(change)
    assert scenario.found()[WRONG_ROW] >= 1


def test_finds_a_row_that_still_shows_a_removed_message(scenario):
    scenario.message(4)["removedAt"] = _time(4)
    assert WRONG_ROW in scenario.found()


def test_finds_a_thread_that_does_not_name_its_newest_message(scenario):
    scenario.stored.threads[THREAD]["lastSeq"] = 3
    assert scenario.found() == {WRONG_ROW: 2}


@pytest.mark.parametrize("change", [{"folder": "archived"}, {"pinned": True}])
def test_finds_a_row_with_keys_of_another_folder_or_pin(scenario, change):
    scenario.participant(BUYER).update(change)
    assert WRONG_ROW in scenario.found()


def test_finds_a_row_missing_from_the_index(scenario):
    scenario.stored.rows["GSI1", THREAD, BUYER] = []
    assert scenario.found() == {WRONG_ROW: 1}


def test_finds_a_row_twice_in_the_index(scenario):
    scenario.stored.rows["GSI1", THREAD, BUYER] *= 2
    assert scenario.found() == {WRONG_ROW: 1}


# --- Pending


def test_finds_a_pending_row_of_a_user_who_received_everything(scenario):
    scenario.stored.rows["GSI3", THREAD, SELLER] = [{"pk": f"THR#{THREAD}"}]
    assert scenario.found() == {LEFT_PENDING: 1}


def test_finds_a_participant_with_undelivered_messages(scenario):
    scenario.participant(SELLER)["firstUndeliveredSeq"] = 4
    assert scenario.found() == {LEFT_PENDING: 1}


@pytest.mark.parametrize(
    ("user", "second", "found"),
    [(BUYER, "30", {}), (BUYER, "00", {WRONG_ROW: 1}), (SELLER, "30", {WRONG_ROW: 1})],
)
def test_a_row_may_be_a_minute_behind_the_own_message(scenario, user, second, found):
    item = scenario.participant(user)
    item["GSI1SK"] = f"2026-05-04T09:29:{second}.000Z#{THREAD}"
    scenario.stored.rows["GSI1", THREAD, user] = [dict(item)]
    assert scenario.found() == found
