"""All keys of the table. A test compares them with docs/data-model.md.

In a thread's partition the order of the sort keys is part of the design: read from the end, they
are THR, TAB#, PINVITE#, PART#, OUT#, then MSG# newest first, so that one Query opens a thread.
Items that are not needed for that sort below MSG#.
"""

import re
import time
import zlib
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from ulid import ULID

from core.ids import ULID_PATTERN, new_ulid

THREAD = "THR"
TABS = "TAB#"
PARTICIPANTS = "PART#"
# Sorts above the participants, so that every read of them includes the invitations.
INVITATIONS = "PINVITE#"
# Sorts below the participants, so that a limited read returns all of them first.
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
# The last millisecond of the year 9999, which Python's datetime supports; a ULID goes further.
LAST_MS = 253_402_300_799_999
# Sorts above every date, so that pinned rows are first when read from the end.
PINNED = "PIN#"
# For this time a user's own messages do not move their row in the index, which saves a write.
MAX_POSITION_LAG = timedelta(minutes=1)
# The prefix of a thread id and the time of its ULID.
THREAD_TIME_LENGTH = len("thrd_") + 10
# The letters of a ULID, as Python writes them in a number with base 32.
PYTHON_DIGITS = str.maketrans("ABCDEFGHJKMNPQRSTVWXYZ", "abcdefghijklmnopqrstuv")


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
    # Not hash(), which differs between processes.
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
    """The id of a pack begins with that of its last message, so packs sort like messages."""
    return f"{PACKS}{pack_id}"


def messages_since(day_or_moment: str) -> str:
    """The lowest sort key of messages since a day or time."""
    return f"{MESSAGES}{day_or_moment}"


def participant_sk(user_id: str) -> str:
    return f"{PARTICIPANTS}{user_id}"


def invitation_sk(user_id: str) -> str:
    return f"{INVITATIONS}{user_id}"


def former_participant_sk(user_id: str) -> str:
    return f"{FORMER_PARTICIPANTS}{user_id}"


def message_sk(message_id: str) -> str:
    """The time in the key is that of the id, so that the id alone gives the key."""
    return f"{MESSAGES}{message_created_at(message_id)}#{message_id}"


def sent_marker_sk(author: str, client_id: str) -> str:
    """`author` is a user id, or "system" for a system message."""
    return f"{SENT_MARKERS}{author}#{client_id}"


def card_sk(message_id: str) -> str:
    return f"{CARDS}{message_id}"


def tab_sk(tab: str) -> str:
    return f"{TABS}{tab}"


def edit_sk(tab: str, version: int) -> str:
    """The version has leading zeros, so that the newest edit sorts last."""
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


def position_time(inbox_sk: str) -> str:
    return inbox_sk.removeprefix(PINNED).partition("#")[0]


def last_position(inbox_sk: str) -> str:
    """A position that no row with this sort key, or a lower one, exceeds."""
    latest = iso(parse_iso(position_time(inbox_sk)) + MAX_POSITION_LAG)
    return f"{PINNED if inbox_sk.startswith(PINNED) else ''}{latest}~"


def leg_pk(leg_id: str) -> str:
    return f"LEG#{leg_id}"


def group_pk(group_id: str) -> str:
    return f"LBG#{group_id}"


def pending_pk(user_id: str) -> str:
    return f"PENDING#{user_id}"


def unread_pk(user_id: str) -> str:
    return f"UNREAD#{user_id}"


def thread_sk(thread_id: str) -> str:
    """Orders pending and unread threads by age: the id up to its time. Keys of an index need not be
    unique, and a participant above 1 KB costs two more units for every message."""
    return thread_id[:THREAD_TIME_LENGTH]


# --- Times and message ids


def iso(parse_iso: datetime) -> str:
    """The stored format of times: UTC with milliseconds and Z, which sorts as text."""
    return parse_iso.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_from_ms(milliseconds: int) -> str:
    """The same for a time in milliseconds. The text of a second is used for many times."""
    seconds, rest = divmod(milliseconds, 1000)
    return f"{_iso_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=1024)
def _iso_second(seconds: int) -> str:
    return iso(datetime_from_ms(1000 * seconds)).removesuffix(".000Z")


def now() -> str:
    return iso_from_ms(time.time_ns() // 1_000_000)


def parse_iso(text: str) -> datetime:
    return datetime.fromisoformat(text)


# The time of an id is needed several times while its message is stored and published.
@lru_cache(maxsize=1024)
def ulid_ms(ulid: str) -> int:
    if re.fullmatch(ULID_PATTERN, ulid):
        # The library decodes the random part, too.
        return int(ulid[:10].translate(PYTHON_DIGITS), 32)
    return ULID.from_str(ulid).milliseconds


def message_time(message_id: str) -> datetime:
    return datetime_from_ms(_message_ms(message_id))


def _message_ms(message_id: str) -> int:
    """A forged id beyond the calendar has the last time of it, where there are no messages."""
    return min(ulid_ms(message_id.removeprefix("msg_")), LAST_MS)


@lru_cache(maxsize=1024)
def message_created_at(message_id: str) -> str:
    """The time of a message id in the stored format."""
    return iso_from_ms(_message_ms(message_id))


def datetime_from_ms(milliseconds: int) -> datetime:
    # A float of seconds would round some milliseconds down.
    seconds, rest = divmod(milliseconds, 1000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000)


def next_message_id(last_message_id: str | None, now_ms: int) -> str:
    """An id that sorts after the last one even if the clock is behind: keys have commit order."""
    if last_message_id is None:
        return f"msg_{new_ulid(now_ms)}"
    last = last_message_id.removeprefix("msg_")
    if now_ms > ulid_ms(last):
        return f"msg_{new_ulid(now_ms)}"
    return f"msg_{ULID.from_int(int(ULID.from_str(last)) + 1)}"
