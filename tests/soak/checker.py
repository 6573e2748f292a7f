"""What must be true afterwards: compares what every device did and saw with what is stored."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.soak.device_log import Acknowledged, Refused, Sent, Witness
from tests.soak.stored import Item, Stored

LOST, DOUBLED, OUT_OF_ORDER = "lost", "doubled", "out of order"
PHANTOM, WRONG_UNREAD, WRONG_ROW = "phantom", "wrong unread", "wrong inbox row"
LEFT_PENDING = "left-over pending rows"
FAULTS = (LOST, DOUBLED, OUT_OF_ORDER, PHANTOM, WRONG_UNREAD, WRONG_ROW, LEFT_PENDING)

PREVIEW = 140
PINNED = "PIN#"
REMOVED = "Message removed"

# Thread -> message -> the fragment that a page shows of it.
Pages = dict[str, dict[str, str]]
# A fault, and the sentence that says where.
Found = tuple[str, str]


@dataclass
class Verdict:
    acknowledged: int = 0
    stored: int = 0
    delivered: int = 0
    faults: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in FAULTS})

    @property
    def is_clean(self) -> bool:
        return not any(self.faults.values())


def check(stored: Stored, witnesses: list[Witness], fresh: Pages | None = None) -> Verdict:
    """`fresh`: what pages look like that somebody loads now."""
    verdict = Verdict()
    began = _began(witnesses)
    for thread, messages in stored.messages.items():
        written = [m for m in messages if m["seq"] > began.get(thread, 0)]
        verdict.stored += sum(m.get("authorUserId") is not None for m in written)
    for witness in witnesses:
        verdict.acknowledged += len({each.client_id for each in witness.of(Acknowledged)})
        verdict.delivered += sum(len(shown) for shown in witness.shown_by_thread().values())
    for fault, sentence in _all(stored, witnesses, fresh or {}):
        verdict.faults[fault].append(sentence)
    return verdict


def _began(witnesses: list[Witness]) -> dict[str, int]:
    return {thread: seq for witness in witnesses for thread, seq in witness.began_at.items()}


def _all(stored: Stored, witnesses: list[Witness], fresh: Pages) -> Iterator[Found]:
    for thread in stored.messages:
        yield from _messages(thread, stored.messages[thread])
    for witness in witnesses:
        yield from _device(witness, stored, fresh)
    for (thread, user), person in stored.participants.items():
        newest, messages = stored.threads[thread], stored.messages[thread]
        yield from _unread(thread, user, person, messages, stored)
        yield from _row(thread, user, person, newest, messages[-1], stored)
        yield from _pending(thread, user, person, messages, stored)


# --- What is stored


def _messages(thread: str, messages: list[Item]) -> Iterator[Found]:
    """In the order of their keys, since that is how they were read."""
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
    thread: str, user: str, person: Item, messages: list[Item], stored: Stored
) -> Iterator[Found]:
    read = person.get("lastReadSeq", 0)
    later = [m for m in messages if m["seq"] > max(read, person.get("visibleFromSeq", 1) - 1)]
    unread = sum(m.get("authorUserId") not in (None, user) for m in later)
    own = person.get("ownSinceRead", 0)
    counted = person["lastTally"] - person.get("lastReadTally", 0) - own
    where = f"{thread} {user}"
    if counted != unread:
        yield WRONG_UNREAD, f"{where}: {unread} unread after {read}, counted as {counted}"
    listed = bool(unread or person.get("markedUnread")) and person["folder"] == "inbox"
    if listed != bool(stored.rows.get(("GSI4", thread, user))):
        yield WRONG_UNREAD, f"{where}: {unread} unread in {person['folder']}, GSI4 has it otherwise"


def _row(
    thread: str, user: str, person: Item, head: Item, newest: Item, stored: Stored
) -> Iterator[Found]:
    where = f"{thread} {user}"
    summary = {
        "author": newest.get("authorUserId"),
        "type": newest["type"],
        "text": REMOVED if "removedAt" in newest else (newest.get("body") or "")[:PREVIEW],
    }
    wanted = (newest["seq"], newest["tally"], newest["createdAt"], summary)
    for what, item in (("thread", head), ("row", person)):
        if _standing(item) != wanted:
            yield WRONG_ROW, f"{where}: the {what} says {_standing(item)}, newest is {wanted}"
    pk = f"PARTICIPANT#{user}" + ("" if person["folder"] == "inbox" else f"#{person['folder']}")
    sk = f"{PINNED if person.get('pinned') else ''}{newest['createdAt']}#{thread}"
    if (person["GSI1PK"], person["GSI1SK"]) != (pk, sk):
        yield WRONG_ROW, f"{where}: is at {person['GSI1PK']} {person['GSI1SK']}, not {pk} {sk}"
    listed = stored.rows.get(("GSI1", thread, user), [])
    if [(row["GSI1PK"], row["GSI1SK"], *_standing(row)) for row in listed] != [(pk, sk, *wanted)]:
        yield WRONG_ROW, f"{where}: GSI1 has {len(listed)} rows for it, or another one"


def _standing(item: Item) -> tuple[Any, ...]:
    return item["lastSeq"], item["lastTally"], item["lastMessageAt"], item["lastMessage"]


def _pending(
    thread: str, user: str, person: Item, messages: list[Item], stored: Stored
) -> Iterator[Found]:
    """Everybody has had the time to fetch everything, and to say so."""
    where = f"{thread} {user}"
    rows, first = stored.rows.get(("GSI3", thread, user), []), person.get("firstUndeliveredSeq")
    delivered = person.get("deliveredSeq", 0)
    if rows or first is not None:
        yield LEFT_PENDING, f"{where}: pending from {first}, delivered {delivered}"
        return
    missed = [m["seq"] for m in messages if m["seq"] > delivered and m.get("authorUserId") != user]
    if missed:
        yield LOST, f"{where}: {missed[0]} was never delivered, and is not pending"


# --- What a device did and saw


def _device(witness: Witness, stored: Stored, fresh: Pages) -> Iterator[Found]:
    yield from _acknowledged(witness, stored)
    yield from _order_of_sending(witness)
    for thread in witness.began_at:
        yield from _shown(witness, thread, stored.messages[thread])
        yield from _page(witness, thread, fresh.get(thread, {}))


def _acknowledged(witness: Witness, stored: Stored) -> Iterator[Found]:
    by_id = {m["id"]: m for messages in stored.messages.values() for m in messages}
    for each in witness.of(Acknowledged):
        message = by_id.get(each.message)
        where = f"{witness.device}: {each.thread} {each.seq} {each.client_id}"
        if message is None:
            yield LOST, f"{where}: acknowledged, not stored"
        elif (message["seq"], message.get("clientId")) != (each.seq, each.client_id):
            yield LOST, f"{where}: acknowledged, another one is stored there"


def _order_of_sending(witness: Witness) -> Iterator[Found]:
    """What one connection sent to one thread is stored in that order, unless some of it was
    refused and sent again; and nothing is sent before the thread was caught up with."""
    acknowledged = {(a.connection, a.client_id): a.seq for a in witness.of(Acknowledged)}
    refused = {each.client_id for each in witness.of(Refused)}
    seen: set[str] = set()
    last: dict[tuple[int, str], int] = defaultdict(int)
    for sent in witness.of(Sent):
        if not sent.synced:
            yield OUT_OF_ORDER, f"{witness.device}: {sent.client_id} was sent before catching up"
        is_repeat = sent.client_id in seen or sent.client_id in refused
        seen.add(sent.client_id)
        seq = acknowledged.get((sent.connection, sent.client_id))
        if is_repeat or seq is None:
            continue
        if seq < last[sent.connection, sent.thread]:
            yield OUT_OF_ORDER, f"{witness.device}: {sent.thread} {seq} was sent after a later one"
        last[sent.connection, sent.thread] = seq


def _shown(witness: Witness, thread: str, messages: list[Item]) -> Iterator[Found]:
    shown = witness.shown_by_thread()[thread]
    by_id = {m["id"]: m for m in messages}
    where, highest = f"{witness.device}: {thread}", witness.began_at[thread]
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
        if not _is(by_id.get(each.message), each):
            yield PHANTOM, f"{where} {each.seq} {each.message} was shown, and is not stored so"
    for message in messages:
        if message["seq"] > witness.began_at[thread] and message["id"] not in ids:
            yield LOST, f"{where} {message['seq']} was never shown"


def _is(message: Item | None, shown: Any) -> bool:
    if message is None:
        return False
    place = (message["seq"], message.get("clientId"), message.get("authorUserId"))
    return place == (shown.seq, shown.client_id, shown.author) and shown.body in _bodies(message)


def _bodies(message: Item) -> set[str]:
    """All that it has ever said."""
    earlier = {each["body"] for each in message.get("earlierBodies", [])}
    return earlier | {message.get("body") or ""} | ({""} if "removedAt" in message else set())


def _page(witness: Witness, thread: str, fresh: dict[str, str]) -> Iterator[Found]:
    """What a page shows after catching up is what a fresh one shows."""
    for message, fragment in witness.page[thread].items():
        if message in fresh and fresh[message] != fragment:
            yield PHANTOM, f"{witness.device}: {thread} {message} is shown as it was, not as it is"
