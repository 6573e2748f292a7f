"""Compares what every device sent and showed with what is stored."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.soak.device_log import Acknowledged, DeviceLog, Refused, Sent
from tests.soak.stored import Item, Stored

LOST, DOUBLED, OUT_OF_ORDER = "lost", "doubled", "out of order"
PHANTOM, WRONG_UNREAD, WRONG_ROW = "phantom", "wrong unread", "wrong inbox row"
LEFT_PENDING = "left-over pending rows"
FAULTS = (LOST, DOUBLED, OUT_OF_ORDER, PHANTOM, WRONG_UNREAD, WRONG_ROW, LEFT_PENDING)

PREVIEW = 140
PINNED = "PIN#"
# How far the place of a user's row may be behind their own newest message.
MAX_LAG = timedelta(minutes=1)
REMOVED = "Message removed"

# Thread -> message -> the fragment shown on a page.
Pages = dict[str, dict[str, str]]
# A fault and its description.
Finding = tuple[str, str]


@dataclass
class Verdict:
    acknowledged: int = 0
    stored: int = 0
    delivered: int = 0
    faults: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in FAULTS})

    @property
    def is_clean(self) -> bool:
        return not any(self.faults.values())


def check(stored: Stored, logs: list[DeviceLog], fresh: Pages | None = None) -> Verdict:
    """`fresh` has the fragments of newly loaded pages."""
    verdict = Verdict()
    first_seqs = _first_seqs(logs)
    for thread, messages in stored.messages.items():
        written = [m for m in messages if m["seq"] > first_seqs.get(thread, 0)]
        verdict.stored += sum(m.get("authorUserId") is not None for m in written)
    for log in logs:
        verdict.acknowledged += len({each.client_id for each in log.list_entries(Acknowledged)})
        verdict.delivered += sum(len(shown) for shown in log.shown_by_thread().values())
    for fault, description in _list_findings(stored, logs, fresh or {}):
        verdict.faults[fault].append(description)
    return verdict


def _first_seqs(logs: list[DeviceLog]) -> dict[str, int]:
    return {thread: seq for log in logs for thread, seq in log.first_seqs.items()}


def _list_findings(stored: Stored, logs: list[DeviceLog], fresh: Pages) -> Iterator[Finding]:
    for thread in stored.messages:
        yield from _messages(thread, stored.messages[thread])
    for log in logs:
        yield from _device(log, stored, fresh)
    for (thread, user), participant in stored.participants.items():
        newest, messages = stored.threads[thread], stored.messages[thread]
        yield from _unread(thread, user, participant, messages, stored)
        yield from _row(thread, user, participant, newest, messages[-1], stored)
        yield from _pending(thread, user, participant, messages, stored)


# --- Stored items


def _messages(thread: str, messages: list[Item]) -> Iterator[Finding]:
    """Messages are in the order of their keys."""
    seqs = [message["seq"] for message in messages]
    for expected, seq in enumerate(seqs, start=1):
        if seq != expected:
            yield OUT_OF_ORDER, f"{thread}: by key, place {expected} has seq {seq}"
            break
    names = Counter((m.get("authorUserId"), m.get("clientId")) for m in messages)
    for (author, client_id), count in names.items():
        if client_id is not None and count > 1:
            yield DOUBLED, f"{thread}: {count} messages by {author} with client id {client_id}"


def _unread(
    thread: str, user: str, participant: Item, messages: list[Item], stored: Stored
) -> Iterator[Finding]:
    read = participant.get("lastReadSeq", 0)
    later = [m for m in messages if m["seq"] > max(read, participant.get("visibleFromSeq", 1) - 1)]
    unread = sum(m.get("authorUserId") not in (None, user) for m in later)
    own = participant.get("ownSinceRead", 0)
    counted = participant["lastTally"] - participant.get("lastReadTally", 0) - own
    where = f"{thread} {user}"
    if counted != unread:
        yield WRONG_UNREAD, f"{where}: {unread} unread after {read}, counted as {counted}"
    listed = bool(unread or participant.get("markedUnread")) and participant["folder"] == "inbox"
    if listed != bool(stored.rows.get(("GSI4", thread, user))):
        yield (
            WRONG_UNREAD,
            f"{where}: {unread} unread in {participant['folder']}, GSI4 has it otherwise",
        )


def _row(
    thread: str, user: str, participant: Item, head: Item, newest: Item, stored: Stored
) -> Iterator[Finding]:
    where = f"{thread} {user}"
    summary = {
        "author": newest.get("authorUserId"),
        "type": newest["type"],
        "text": REMOVED if "removedAt" in newest else (newest.get("body") or "")[:PREVIEW],
    }
    expected = (newest["seq"], newest["tally"], newest["createdAt"], summary)
    for what, item in (("thread", head), ("row", participant)):
        if _summary_fields(item) != expected:
            yield (
                WRONG_ROW,
                f"{where}: the {what} says {_summary_fields(item)}, newest is {expected}",
            )
    pk = f"PARTICIPANT#{user}" + (
        "" if participant["folder"] == "inbox" else f"#{participant['folder']}"
    )
    place = participant["GSI1PK"], participant["GSI1SK"]
    if place[0] != pk or place[1] not in _sort_keys(thread, user, participant, newest):
        yield WRONG_ROW, f"{where}: is at {place}, the newest message is {newest['createdAt']}"
    listed = stored.rows.get(("GSI1", thread, user), [])
    if [(row["GSI1PK"], row["GSI1SK"], *_summary_fields(row)) for row in listed] != [
        (*place, *expected)
    ]:
        yield WRONG_ROW, f"{where}: GSI1 has {len(listed)} rows for it, or another one"


def _sort_keys(thread: str, user: str, participant: Item, newest: Item) -> set[str]:
    """A user's own messages do not move their row within a minute."""
    pinned = PINNED if participant.get("pinned") else ""
    at = newest["createdAt"]
    stored_at = participant["GSI1SK"].removeprefix(PINNED).partition("#")[0]
    lag = datetime.fromisoformat(at) - datetime.fromisoformat(stored_at)
    is_own = newest.get("authorUserId") == user
    times = {at, stored_at} if is_own and timedelta(0) <= lag <= MAX_LAG else {at}
    return {f"{pinned}{time}#{thread}" for time in times}


def _summary_fields(item: Item) -> tuple[Any, ...]:
    return item["lastSeq"], item["lastTally"], item["lastMessageAt"], item["lastMessage"]


def _pending(
    thread: str, user: str, participant: Item, messages: list[Item], stored: Stored
) -> Iterator[Finding]:
    """By now every device has fetched and confirmed all messages, so nothing may be pending."""
    where = f"{thread} {user}"
    rows, first = (
        stored.rows.get(("GSI3", thread, user), []),
        participant.get("firstUndeliveredSeq"),
    )
    delivered = participant.get("deliveredSeq", 0)
    if rows or first is not None:
        yield LEFT_PENDING, f"{where}: pending from {first}, delivered {delivered}"
        return
    missed = [m["seq"] for m in messages if m["seq"] > delivered and m.get("authorUserId") != user]
    if missed:
        yield LOST, f"{where}: {missed[0]} was never delivered, and is not pending"


# --- Logs of devices


def _device(log: DeviceLog, stored: Stored, fresh: Pages) -> Iterator[Finding]:
    yield from _acknowledged(log, stored)
    yield from _order_of_sending(log)
    for thread in log.first_seqs:
        yield from _shown(log, thread, stored.messages[thread])
        yield from _page(log, thread, fresh.get(thread, {}))


def _acknowledged(log: DeviceLog, stored: Stored) -> Iterator[Finding]:
    by_id = {m["id"]: m for messages in stored.messages.values() for m in messages}
    for each in log.list_entries(Acknowledged):
        message = by_id.get(each.message)
        where = f"{log.device}: {each.thread} {each.seq} {each.client_id}"
        if message is None:
            yield LOST, f"{where}: acknowledged, not stored"
        elif (message["seq"], message.get("clientId")) != (each.seq, each.client_id):
            yield LOST, f"{where}: acknowledged, another one is stored there"


def _order_of_sending(log: DeviceLog) -> Iterator[Finding]:
    """Messages of one connection to one thread are stored in the order of sending, unless some
    were refused and resent; and none is sent before the thread was synced."""
    acknowledged = {(a.connection, a.client_id): a.seq for a in log.list_entries(Acknowledged)}
    refused = {each.client_id for each in log.list_entries(Refused)}
    seen: set[str] = set()
    last: dict[tuple[int, str], int] = defaultdict(int)
    for sent in log.list_entries(Sent):
        if not sent.synced:
            yield OUT_OF_ORDER, f"{log.device}: {sent.client_id} was sent before catching up"
        is_repeat = sent.client_id in seen or sent.client_id in refused
        seen.add(sent.client_id)
        seq = acknowledged.get((sent.connection, sent.client_id))
        if is_repeat or seq is None:
            continue
        if seq < last[sent.connection, sent.thread]:
            yield OUT_OF_ORDER, f"{log.device}: {sent.thread} {seq} was sent after a later one"
        last[sent.connection, sent.thread] = seq


def _shown(log: DeviceLog, thread: str, messages: list[Item]) -> Iterator[Finding]:
    shown = log.shown_by_thread()[thread]
    by_id = {m["id"]: m for m in messages}
    where, highest = f"{log.device}: {thread}", log.first_seqs[thread]
    seen: set[int] = set()
    ids: set[str] = set()
    for each in shown:
        if each.seq in seen or each.message in ids:
            yield DOUBLED, f"{where} {each.seq} was shown twice"
        elif each.seq < highest:
            yield OUT_OF_ORDER, f"{where} {each.seq} was shown after {highest}"
        seen.add(each.seq)
        ids.add(each.message)
        highest = max(highest, each.seq)
        if not _matches(by_id.get(each.message), each):
            yield PHANTOM, f"{where} {each.seq} {each.message} was shown, and is not stored so"
    for message in messages:
        if message["seq"] > log.first_seqs[thread] and message["id"] not in ids:
            yield LOST, f"{where} {message['seq']} was never shown"


def _matches(message: Item | None, shown: Any) -> bool:
    if message is None:
        return False
    place = (message["seq"], message.get("clientId"), message.get("authorUserId"))
    return place == (shown.seq, shown.client_id, shown.author) and shown.body in _bodies(message)


def _bodies(message: Item) -> set[str]:
    """The current body and all earlier ones."""
    earlier = {each["body"] for each in message.get("earlierBodies", [])}
    return earlier | {message.get("body") or ""} | ({""} if "removedAt" in message else set())


def _page(log: DeviceLog, thread: str, fresh: dict[str, str]) -> Iterator[Finding]:
    """A synced page shows the same fragments as a fresh one."""
    for message, fragment in log.page[thread].items():
        if message in fresh and fresh[message] != fragment:
            yield PHANTOM, f"{log.device}: {thread} {message} is shown as it was, not as it is"
