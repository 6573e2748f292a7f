"""Keys: an id determines its key, keys sort by time, and a thread is read from its end."""

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from threads.dynamodb import keys
from threads.dynamodb.table import Item

# Years of expected messages, and the first and the last representable time.
MILLISECONDS = st.integers(0, keys.LAST_MS)
RANDOM_BITS = st.integers(0, 2**80 - 1)


def message_id(milliseconds: int, bits: int) -> str:
    return f"msg_{ULID.from_int((milliseconds << 80) | bits)}"


@given(MILLISECONDS, RANDOM_BITS)
def test_a_message_id_gives_its_key_and_back(milliseconds, bits):
    an_id = message_id(milliseconds, bits)
    sk = keys.message_sk(an_id)
    prefix, time, found = sk.split("#")
    assert (prefix, found) == ("MSG", an_id)
    assert len(time) == 24
    assert keys.parse_iso(time) == keys.message_time(an_id)
    assert keys.ulid_ms(an_id.removeprefix("msg_")) == milliseconds


@given(MILLISECONDS)
def test_milliseconds_survive_the_round_trip(milliseconds):
    moment = keys.datetime_from_ms(milliseconds)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    assert (since.days * 86_400_000 + since.seconds * 1000) + since.microseconds // 1000 == (
        milliseconds
    )
    assert keys.iso(moment).endswith(f".{milliseconds % 1000:03d}Z")
    assert keys.iso_from_ms(milliseconds) == keys.iso(moment)


def test_ten_thousand_milliseconds_of_our_time_are_exact():
    chance = random.Random(11)
    for _ in range(10_000):
        milliseconds = chance.randrange(1_600_000_000_000, 2_000_000_000_000)
        time = keys.iso(keys.message_time(message_id(milliseconds, 0)))
        seconds, rest = divmod(milliseconds, 1000)
        assert time == f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"


@given(st.lists(st.tuples(MILLISECONDS, RANDOM_BITS), min_size=2, max_size=20))
def test_keys_sort_as_ids_do(parts):
    ids = [message_id(*part) for part in parts]
    assert sorted(ids) == [each.rpartition("#")[2] for each in sorted(map(keys.message_sk, ids))]


@given(MILLISECONDS, RANDOM_BITS, st.integers(0, 2**41))
def test_an_id_is_always_later_than_the_last(milliseconds, bits, now_ms):
    last = message_id(milliseconds, bits)
    following = keys.next_message_id(last, now_ms)
    assert following > last
    if milliseconds < keys.LAST_MS:
        assert keys.message_sk(following) > keys.message_sk(last)
    if now_ms > milliseconds:
        assert ULID.from_str(following.removeprefix("msg_")).milliseconds == now_ms


def test_the_next_id_of_the_same_millisecond_is_the_last_plus_one():
    last = message_id(1_700_000_000_123, 41)
    for now_ms in (1_700_000_000_123, 1_699_999_999_999, 0):
        assert keys.next_message_id(last, now_ms) == message_id(1_700_000_000_123, 42)


def test_a_full_millisecond_overflows_into_the_next():
    last = message_id(1_700_000_000_123, 2**80 - 1)
    following = keys.next_message_id(last, 1_700_000_000_123)
    assert following == message_id(1_700_000_000_124, 0)
    assert keys.message_sk(following) > keys.message_sk(last)


def test_the_ids_of_two_threads_in_one_millisecond_differ():
    """Otherwise an id incremented because of a slow clock could equal an id of the other thread."""
    ids = [keys.next_message_id(None, 1_700_000_000_123) for _ in range(50)]
    incremented = [keys.next_message_id(one, 0) for one in ids]
    assert not set(ids) & set(incremented)


def test_an_id_beyond_the_calendar_gets_the_last_date():
    sk = keys.message_sk("msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ")
    assert sk.startswith("MSG#9999-12-31T23:59:59.999Z#")


def test_the_first_id_has_the_current_time():
    assert keys.iso(keys.message_time(keys.next_message_id(None, 1_700_000_000_123))) == (
        "2023-11-14T22:13:20.123Z"
    )


@given(MILLISECONDS, MILLISECONDS)
def test_a_pinned_row_sorts_above_every_date(one, other):
    times = [keys.iso(keys.datetime_from_ms(each)) for each in (one, other)]
    pinned = keys.inbox_sk(times[0], "thrd_0", pinned=True)
    assert pinned > keys.inbox_sk(times[1], "thrd_Z", pinned=False)


@given(MILLISECONDS, MILLISECONDS)
def test_pinned_rows_sort_by_time_as_others_do(one, other):
    early, late = sorted((one, other))
    for pinned in (True, False):
        rows = [
            keys.inbox_sk(keys.iso(keys.datetime_from_ms(each)), "thrd_1", pinned=pinned)
            for each in (early, late)
        ]
        assert rows == sorted(rows)


IN_A_THREAD = [
    keys.THREAD,
    keys.tab_sk("brief"),
    keys.tab_sk("shotlist"),
    keys.invitation_sk("usr_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
    keys.invitation_sk("usr_00000000000000000000000000"),
    keys.participant_sk("usr_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
    keys.participant_sk("usr_00000000000000000000000000"),
    keys.former_participant_sk("usr_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
    keys.former_participant_sk("usr_00000000000000000000000000"),
    keys.message_sk("msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
    keys.message_sk("msg_00000000000000000000000000"),
]
BELOW = [
    keys.sent_marker_sk("usr_7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "zzzz"),
    keys.sent_marker_sk("system", "zzzz"),
    keys.card_sk("msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
    keys.edit_sk("shotlist", 99_999_999),
    keys.pack_sk("msg_7ZZZZZZZZZZZZZZZZZZZZZZZZZ"),
]


def test_a_reverse_query_of_a_thread_starts_with_the_items_of_a_page():
    ranks = ["THR", "TAB", "PINVITE", "PART", "OUT", "MSG"]
    read = [sk.partition("#")[0] for sk in sorted(IN_A_THREAD + BELOW, reverse=True)]
    needed = [kind for kind in read if kind in ranks]
    assert read[: len(needed)] == needed == sorted(needed, key=ranks.index)
    assert len(needed) == len(IN_A_THREAD)


def test_every_kind_of_item_in_a_thread_has_a_sort_position():
    """A new kind must be listed before or after the messages."""
    kinds = {kind.sk_prefix for kind in Item.kinds if kind.pk_prefix == "THR#"}
    placed = {kind for kind in kinds if any(sk.startswith(kind) for sk in IN_A_THREAD + BELOW)}
    assert kinds == placed


def test_the_key_of_a_pair_ignores_the_order():
    assert keys.pair_pk("usr_A", "usr_B") == keys.pair_pk("usr_B", "usr_A") == "PAIR#usr_A#usr_B"


def test_a_thread_is_archived_in_the_same_shard_by_every_process():
    thread = "thrd_01M7HB2E6JQE35JFC7AKW4TY66"
    assert keys.archive_pk("2026-05-04", thread) == "ARCHIVE#2026-05-04#15"


@pytest.mark.parametrize(
    ("folder", "pk"),
    [
        ("inbox", "PARTICIPANT#usr_A"),
        ("requests", "PARTICIPANT#usr_A#requests"),
        ("archived", "PARTICIPANT#usr_A#archived"),
        ("spam", "PARTICIPANT#usr_A#spam"),
    ],
)
def test_each_folder_has_its_own_partition(folder, pk):
    assert keys.inbox_pk("usr_A", folder) == pk


def test_ids_created_in_one_millisecond_are_unique():
    now = 1_800_000_000_000
    first = [keys.next_message_id(None, now) for _ in range(500)]
    following = [keys.next_message_id(message_id, now) for message_id in first]
    assert len({*first, *following}) == 1000
