"""Every key of the table, spelled once. docs/data-model.md lists them; a test compares.

In a thread's partition the order of the sort keys is part of the design: read from the end, they
are THR, TAB#, PINVITE#, PART#, OUT#, then MSG# newest first, so that one Query opens a thread.
Whatever is not needed for that sorts below MSG#.
"""

import time
import zlib
from datetime import UTC, datetime
from functools import lru_cache

from ulid import ULID

from core.ids import new_ulid

THREAD = "THR"
TABS = "TAB#"
PARTICIPANTS = "PART#"
# Above the participants, so that every read of them includes the invitations.
INVITATIONS = "PINVITE#"
# Below those who are in it: however many have left, nobody who is there is crowded out.
FORMER_PARTICIPANTS = "OUT#"
MESSAGES = "MSG#"
SENT_MARKERS = "IDEM#"
CARDS = "CARD#"
EDITS = "EDIT#"
PACKS = "ARC#"

CONNECTIONS = "CONNECTION#"
PROFILE = "PROFILE"
BLOCKS = "BLOCKS"
PENDING_ACTIONS = "ACTION#"
DRAFTS = "DRAFT#"
LEFT_THREADS = "LEFT#"
START_MARKERS = "IDEM#"
RATES = "RATE#"
METADATA = "METADATA"
STATE = "STATE"
PAIR_THREADS = "THR#"

ARCHIVE_SHARDS = 16
ARCHIVING = "ARCHIVING"
LOCATION = "LOCATION"
# The last millisecond of the year 9999; a ULID could go on for centuries.
LAST_MS = 253_402_300_799_999
# Sorts above every date, so that a pinned row comes first when read from the end.
PINNED = "PIN#"


def thread_pk(thread_id: str) -> str:
    return f"THR#{thread_id}"


def user_pk(user_id: str) -> str:
    return f"USER#{user_id}"


def connection_pk(connection_id: str) -> str:
    return f"CONNECTION#{connection_id}"


def pair_pk(one: str, other: str) -> str:
    return "PAIR#{}#{}".format(*sorted((one, other)))


def archive_pk(day: str, thread_id: str) -> str:
    return archive_shard_pk(day, archive_shard(thread_id))


def archive_shard(thread_id: str) -> int:
    # Not hash(): that differs from process to process.
    return zlib.crc32(thread_id.encode()) % ARCHIVE_SHARDS


def archive_shard_pk(day: str, shard: int) -> str:
    return f"ARCHIVE#{day}#{shard:02d}"


def packed_pk(shard: int) -> str:
    return f"PACKED#{shard:02d}"


def pack_check_pk(shard: int) -> str:
    return f"PACKCHECK#{shard:02d}"


def pack_check_sk(thread_id: str, pack_id: str, check_id: str) -> str:
    return f"THR#{thread_id}#{pack_id}#{check_id}"


def pack_sk(pack_id: str) -> str:
    """A pack's id begins with that of its last message: read in order, packs come as messages."""
    return f"{PACKS}{pack_id}"


def messages_since(day_or_moment: str) -> str:
    """Where messages of that time begin: keys sort by it."""
    return f"{MESSAGES}{day_or_moment}"


def participant_sk(user_id: str) -> str:
    return f"{PARTICIPANTS}{user_id}"


def invitation_sk(user_id: str) -> str:
    return f"{INVITATIONS}{user_id}"


def former_participant_sk(user_id: str) -> str:
    return f"{FORMER_PARTICIPANTS}{user_id}"


def message_sk(message_id: str) -> str:
    """The time in the key is the time inside the id: an id alone gives its key."""
    return f"{MESSAGES}{message_created_at(message_id)}#{message_id}"


def sent_marker_sk(author: str, client_id: str) -> str:
    """`author` is a user id, or "system" for a line that the service itself writes."""
    return f"{SENT_MARKERS}{author}#{client_id}"


def card_sk(message_id: str) -> str:
    return f"{CARDS}{message_id}"


def tab_sk(tab: str) -> str:
    return f"{TABS}{tab}"


def edit_sk(tab: str, version: int) -> str:
    """With zeros before it, so that the newest is the last."""
    return f"{EDITS}{tab}#{version:08d}"


def connection_sk(connection_id: str) -> str:
    return f"{CONNECTIONS}{connection_id}"


def pending_action_sk(thread_id: str, what: str) -> str:
    return f"{PENDING_ACTIONS}{thread_id}#{what}"


def left_thread_sk(thread_id: str) -> str:
    return f"{LEFT_THREADS}{thread_id}"


def draft_sk(thread_id: str) -> str:
    return f"{DRAFTS}{thread_id}"


def start_marker_sk(client_id: str) -> str:
    return f"{START_MARKERS}{client_id}"


def rate_sk(what: str) -> str:
    return f"{RATES}{what}"


def pair_thread_sk(thread_id: str) -> str:
    return f"{PAIR_THREADS}{thread_id}"


# --- Index keys


def inbox_pk(user_id: str, folder: str) -> str:
    return f"PARTICIPANT#{user_id}" + ("" if folder == "inbox" else f"#{folder}")


def inbox_sk(last_message_at: str, thread_id: str, *, pinned: bool) -> str:
    return f"{PINNED if pinned else ''}{last_message_at}#{thread_id}"


def leg_pk(leg_id: str) -> str:
    return f"LEG#{leg_id}"


def group_pk(group_id: str) -> str:
    return f"LBG#{group_id}"


def pending_pk(user_id: str) -> str:
    return f"PENDING#{user_id}"


def unread_pk(user_id: str) -> str:
    return f"UNREAD#{user_id}"


# --- Times and message ids


def iso(parse_iso: datetime) -> str:
    """As stored: UTC, milliseconds, Z. Sorts as text."""
    return parse_iso.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def now() -> str:
    return iso(datetime_from_ms(time.time_ns() // 1_000_000))


def parse_iso(text: str) -> datetime:
    return datetime.fromisoformat(text)


# An id is asked for its time again and again while its message is written, told and answered.
@lru_cache(maxsize=1024)
def ulid_ms(ulid: str) -> int:
    return ULID.from_str(ulid).milliseconds


def message_time(message_id: str) -> datetime:
    milliseconds = ulid_ms(message_id.removeprefix("msg_"))
    # An id may come from anybody. One past the calendar leads to its end, where nothing is.
    return datetime_from_ms(min(milliseconds, LAST_MS))


@lru_cache(maxsize=1024)
def message_created_at(message_id: str) -> str:
    """The time inside its id, as stored."""
    return iso(message_time(message_id))


def datetime_from_ms(milliseconds: int) -> datetime:
    # Not a float of seconds: some milliseconds would come out one too low.
    seconds, rest = divmod(milliseconds, 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)


def next_message_id(last_message_id: str | None, now_ms: int) -> str:
    """Later than the last one whatever the clock says, so that key order is commit order."""
    if last_message_id is None:
        return f"msg_{new_ulid(now_ms)}"
    last = last_message_id.removeprefix("msg_")
    if now_ms > ulid_ms(last):
        return f"msg_{new_ulid(now_ms)}"
    return f"msg_{ULID.from_int(int(ULID.from_str(last)) + 1)}"
