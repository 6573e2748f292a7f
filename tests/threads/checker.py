"""Checks that all items of a thread are consistent, read item by item from the table."""

from collections.abc import Callable, Iterator

from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.models import (
    ArchiveDue,
    Invitation,
    Message,
    Participant,
    SentMarker,
    TabSnapshot,
    Thread,
)
from threads.models.message import PREVIEW_LENGTH, SYSTEM, TEXT
from threads.models.participant import INBOX
from threads.models.thread import MAX_PARTICIPANTS
from threads.rendering.markdown import to_text
from threads.sending.revision import REMOVED_PREVIEW


def read_partition(thread_id: str) -> list[Item]:
    page = query(keys.thread_pk(thread_id), limit=1000)
    items = page.items
    while page.next_key:
        page = query(keys.thread_pk(thread_id), limit=1000, after=page.next_key)
        items += page.items
    return items


def assert_consistent(*thread_ids: str) -> None:
    for thread_id in thread_ids:
        problems = list(find_problems(read_partition(thread_id)))
        assert not problems, "\n".join([thread_id, *problems])


def find_problems(items: list[Item]) -> Iterator[str]:
    (thread,) = (item for item in items if isinstance(item, Thread))
    messages = [item for item in items if isinstance(item, Message)]
    people = [item for item in items if type(item) is Participant]
    invited = [item for item in items if isinstance(item, Invitation)]
    tabs = [item for item in items if isinstance(item, TabSnapshot)]
    markers = {item.sk: item for item in items if isinstance(item, SentMarker)}
    yield from _wrong_messages(messages)
    yield from _wrong_thread(thread, messages, people)
    yield from _wrong_revisions(thread, messages, tabs)
    yield from _wrong_markers(messages, markers)
    yield from _wrong_invitations(invited, thread)
    for person in people:
        for problem in _wrong_person(person, thread, messages):
            yield f"{person.person['name']}: {problem}"


def _wrong_messages(messages: list[Message]) -> Iterator[str]:
    """Expects `messages` in key order, the order in which they are read."""
    seqs = [message.seq for message in messages]
    if seqs != list(range(1, len(messages) + 1)):
        yield f"in key order the seqs are {seqs}"
    tally = 0
    for message in messages:
        tally += message.author_id is not None
        if message.tally != tally:
            yield f"message {message.seq} has tally {message.tally}, should be {tally}"
        if message.sk != keys.message_sk(message.id):
            yield f"message {message.seq} is not at the key of its id"
        if message.created_at != keys.iso(keys.message_time(message.id)):
            yield f"message {message.seq} has another time than its id"
    for day in {message.created_at[:10] for message in messages}:
        if ArchiveDue.find(keys.archive_pk(day, messages[0].thread_id), messages[0].pk) is None:
            yield f"the messages of {day} are not due for the archive"


def _wrong_thread(
    thread: Thread, messages: list[Message], people: list[Participant]
) -> Iterator[str]:
    newest = messages[-1]
    found = (thread.last_seq, thread.last_tally, thread.last_message_id, thread.last_message_at)
    wanted = (newest.seq, newest.tally, newest.id, newest.created_at)
    if found != wanted:
        yield f"the thread has {found}, its newest message {wanted}"
    last = thread.last_message
    if (last["author"], last["type"]) != (newest.author_id, newest.type):
        yield f"the thread shows {last}, its newest message is {newest.author_id} {newest.type}"
    if last["text"] != _shown(newest):
        yield f"the thread shows {last['text']!r}, its newest message is {newest.body!r}"
    if sorted(thread.participants) != sorted(person.user_id for person in people):
        yield "the thread lists other participants than it has"


def _shown(message: Message) -> str:
    if message.is_withheld:
        return REMOVED_PREVIEW
    body = message.body or ""
    return to_text(body)[:PREVIEW_LENGTH]


def _wrong_revisions(
    thread: Thread, messages: list[Message], tabs: list[TabSnapshot]
) -> Iterator[str]:
    """Each change has a revision of its own, and the last one is stamped on its item."""
    revs = sorted(message.rev for message in messages if message.rev)
    of_tabs = {tab.rev for tab in tabs}
    if len(set(revs)) != len(revs) or max([*revs, *of_tabs], default=0) != thread.rev:
        yield f"the thread is at revision {thread.rev}, its messages at {revs}, tabs at {of_tabs}"
    if of_tabs & set(revs):
        yield f"a message and a tab were both changed by one of {of_tabs & set(revs)}"
    for message in messages:
        if bool(message.edited_at) != bool(message.earlier_bodies):
            yield f"message {message.seq} has edited_at without earlier_bodies, or the reverse"


def _wrong_markers(messages: list[Message], markers: dict[str, SentMarker]) -> Iterator[str]:
    """A message without a marker is one that its client sent with `after_seq`."""
    sent = {keys.sent_marker_sk(one.author_id or SYSTEM, one.client_id): one for one in messages}
    if len(sent) != len(messages):
        yield f"{len(messages)} messages with {len(sent)} client ids"
    for sk, marker in markers.items():
        message = sent.get(sk)
        if message is None or (marker.message_id, marker.seq) != (message.id, message.seq):
            yield f"the marker {sk} does not match its message"
    for message in messages:
        sk = keys.sent_marker_sk(message.author_id or SYSTEM, message.client_id)
        if sk not in markers and (message.type != TEXT or message.author_id is None):
            yield f"message {message.seq} of type {message.type} has no marker"


def _wrong_person(person: Participant, thread: Thread, messages: list[Message]) -> Iterator[str]:
    row = (person.last_seq, person.last_tally, person.last_message_at, person.last_message)
    if row != (
        thread.last_seq,
        thread.last_tally,
        thread.last_message_at,
        thread.last_message,
    ):
        yield f"the row has {row}"
    if person.others_count != len(thread.participants) - 1:
        yield f"the row counts {person.others_count} others"
    waits = [each["user"] for each in thread.waits or []]
    types = {each["type"] for each in thread.waits or [] if each["user"] == person.waiting_for}
    if person.user_id in thread.parties and bool(person.step) != bool(types):
        yield f"the row shows the step {person.step}, not one of {types}"
    if person.step and (person.step not in types or person.user_id not in thread.parties):
        yield f"the row of {person.user_id} shows the step {person.step}"
    wanted = person.user_id if person.user_id in waits else thread.waiting_for
    if person.waiting_for != wanted or (waits and thread.waiting_for != waits[0]):
        yield f"the row waits for {person.waiting_for}, the thread for {thread.waiting_for}"
    yield from _wrong_place(person)
    yield from _wrong_cursors(person, messages)
    yield from _wrong_unread(person, messages)
    yield from _wrong_pending(person, messages)


def _wrong_invitations(invited: list[Invitation], thread: Thread) -> Iterator[str]:
    """A user is invited or a participant, never both, and together they stay below the limit."""
    for invitation in invited:
        yield from _wrong_place(invitation)
        if invitation.user_id in thread.participants:
            yield f"{invitation.person['name']} is invited, and in the thread"
        if (invitation.unread_pk, invitation.pending_pk) != (None, None):
            yield f"{invitation.person['name']} is invited, and has unread messages"
    if len(invited) + len(thread.participants) > MAX_PARTICIPANTS:
        yield f"{len(invited)} invited and {len(thread.participants)} participants"


def _wrong_place(person: Participant) -> Iterator[str]:
    pk = keys.inbox_pk(person.user_id, person.folder)
    is_own = person.last_message["author"] == person.user_id
    may_lag = is_own and person.inbox_sk <= person.position <= keys.last_position(person.inbox_sk)
    if person.inbox_pk != pk or not (person.inbox_sk == person.position or may_lag):
        yield f"{person.folder}, pinned {person.pinned}: {person.inbox_pk} {person.inbox_sk}"


def _wrong_cursors(person: Participant, messages: list[Message]) -> Iterator[str]:
    if not 0 <= person.last_read_seq <= person.last_seq:
        yield f"has read {person.last_read_seq} of {person.last_seq}"
    if not person.last_read_seq <= person.delivered_seq <= person.last_seq:
        yield f"has read {person.last_read_seq} and received {person.delivered_seq}"
    if person.last_read_seq:
        read = messages[person.last_read_seq - 1]
        cursor = (person.last_read_message_id, person.last_read_tally)
        if cursor != (read.id, read.tally):
            yield f"the read cursor {person.last_read_seq} has {cursor}"


def _wrong_unread(person: Participant, messages: list[Message]) -> Iterator[str]:
    later = [message for message in messages if message.seq > person.last_read_seq]
    own = sum(message.author_id == person.user_id for message in later)
    if person.own_since_read != own:
        yield f"wrote {own} since the cursor, the item has {person.own_since_read}"
    unread = sum(message.author_id not in (None, person.user_id) for message in later)
    # Not `person.unread`, which is never negative.
    counted = person.last_tally - person.last_read_tally - person.own_since_read
    if counted != unread:
        yield f"{unread} unread, counted as {counted}"
    listed = bool(unread or person.marked_unread) and person.folder == INBOX
    index = _index_keys(keys.unread_pk, person) if listed else (None, None)
    if (person.unread_pk, person.unread_sk) != index:
        yield f"{unread} unread in {person.folder}, GSI4 has {person.unread_pk}"


def _index_keys(pk_of: Callable[[str], str], person: Participant) -> tuple[str, str]:
    return pk_of(person.user_id), keys.thread_sk(person.thread_id)


def _wrong_pending(person: Participant, messages: list[Message]) -> Iterator[str]:
    first = person.first_undelivered_seq
    index = _index_keys(keys.pending_pk, person) if first else (None, None)
    if (person.pending_pk, person.pending_sk) != index:
        yield f"first undelivered {first}, GSI3 has {person.pending_pk}"
    if first and messages[first - 1].id != person.first_undelivered_message_id:
        yield f"first undelivered {first} has another id"
    missed = [
        message.seq
        for message in messages
        if message.seq > person.delivered_seq and message.author_id != person.user_id
    ]
    if missed and (first is None or first > missed[0]):
        yield f"misses {missed[0]}, pending from {first}"
    if first and first <= person.delivered_seq:
        yield f"has received {person.delivered_seq}, pending from {first}"
    if first and person.delivered_seq == person.last_seq:
        yield "has received everything, and is pending"
