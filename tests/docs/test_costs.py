"""What docs/speed.md says an operation costs is what it costs, counted on the real engine: the
requests exactly, and the capacity units, which are somebody's bill."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync

from inbox.queries import (
    count_rows,
    get_row,
    list_folder,
    list_unread,
    list_waiting,
)
from projects.actions.panel import edit_tab
from tests.contracts.conftest import book
from tests.docs import pages
from tests.indexes import settle
from tests.threads.bulk_data import fill_inbox, grow
from tests.threads.conftest import (
    deliver_up_to,
    make_person,
    messages_of,
    read_up_to,
    row,
    say,
    start,
    thread_item,
)
from threads import cache
from threads.actions.connections import (
    OpenConnection,
    list_connections,
    now,
    write_connections,
)
from threads.actions.drafts import save_draft
from threads.actions.folders import archive_thread, pin_thread, restore_thread
from threads.actions.messages import OutgoingMessage, send_batch
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.actions.start import start_thread
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import put_many
from threads.models import Connection, Message, PendingAction
from threads.queries import (
    can_message_directly,
    catch_up,
    get_message,
    get_rows,
    list_newer,
    list_older,
    list_participants,
    list_pending,
    list_positions,
    open_thread,
    open_thread_at,
    open_thread_at_first_unread,
)

# As in the bench: what people write on average.
BODY = "Could we move the shoot to the morning? The light in the hall is best before ten, I think."
Operation = Callable[[], object]


def sending(user, thread: str, last_seq: int) -> OutgoingMessage:
    """As the page of a user who has seen the newest message sends it."""
    known = {"seen_seq": last_seq, "after_seq": last_seq}
    return OutgoingMessage(user, thread, str(uuid4()), BODY, **known)


def reading(buyer, seller) -> Iterator[tuple[str, Operation]]:
    thread = start(buyer, seller)
    grow(thread, 200)
    read_up_to(seller, messages_of(thread)[20])
    messages = messages_of(thread)
    yield "thread metadata", lambda: thread_item(thread)
    yield "open a thread, cold", lambda: open_thread(buyer, thread)
    yield "open a thread, warm", lambda: open_thread(buyer, thread)
    yield (
        "open at the first unread message, far back",
        lambda: open_thread_at_first_unread(seller, thread),
    )
    yield "older page", lambda: list_older(buyer, thread, before=messages[100].id)
    yield "newer page", lambda: list_newer(buyer, thread, after=messages[100].id)
    yield "around a message far back", lambda: open_thread_at(buyer, thread, messages[50].id)
    yield "one message, by its key", lambda: Message.find(messages[0].pk, messages[0].sk)
    yield "one message, with access check", lambda: get_message(buyer, thread, messages[0].id)
    yield "participants", lambda: list_participants(buyer, thread)
    yield (
        "messages after a message, none",
        lambda: catch_up(buyer, thread, after=messages[-1].id),
    )
    yield "messages after a message, 20", lambda: catch_up(buyer, thread, after=messages[-21].id)
    yield "whether two users can message directly", lambda: can_message_directly(buyer, seller)


def listing(seller) -> Iterator[tuple[str, Operation]]:
    user = make_person("Many")
    fill_inbox(user, seller, 120)
    ids = [each.thread_id for each in list_folder(user, "inbox").rows]
    unread = [row(thread, user) for thread in ids]
    for each in unread:
        each.unread_pk, each.unread_sk = keys.unread_pk(user.id), keys.thread_sk(each.thread_id)
        each.last_tally, each.last_read_tally, each.own_since_read = 3, 1, 0
    message = f"msg_{'0' * 26}"
    of_a_card = {"type": "extras", "created_at": keys.now()}
    waiting = [
        PendingAction(keys.user_pk(user.id), keys.pending_action_sk(thread, message), **of_a_card)
        for thread in ids
    ]
    put_many([*unread, *waiting])
    settle()
    yield "a folder of the inbox, 50 rows", lambda: list_folder(user, "inbox")
    yield "unread only, 50 rows", lambda: list_unread(user)
    yield "waiting, 50 rows", lambda: list_waiting(user)
    yield "counts of folders", lambda: count_rows(user)
    yield "many threads by id, 50", lambda: get_rows(user, ids)
    yield "one row of the inbox", lambda: get_row(user, ids[0])
    yield "unread count of a row", lambda: unread[0].unread
    pin_thread(user, thread_id=ids[0])
    just_now = "a row changed just now"
    yield f"a folder of the inbox, 50 rows, {just_now}", lambda: list_folder(user, "inbox")
    yield f"counts of folders, {just_now}", lambda: count_rows(user)


def writing(buyer, seller) -> Iterator[tuple[str, Operation]]:
    thread = start(buyer, seller)
    sent = [say(seller, thread, BODY)]

    def send() -> None:
        sent.append(sending(buyer, thread, sent[-1].seq).run())

    yield "send, warm", send
    yield "mark delivered, at the newest", lambda: deliver_up_to(seller, sent[-1])
    yield "send, warm, recipient has all messages", send
    yield "mark read, at the newest", lambda: read_up_to(seller, sent[-1])
    cache.invalidate(thread)
    yield "send, cold", send
    yield "send, warm, recipient lacks some", send
    yield "send, warm, the same again", send
    by_others = "send by another client, with a marker"
    yield by_others, lambda: sent.append(say(buyer, thread, BODY, seen_seq=sent[-1].seq))
    yield "mark read, at an earlier message", lambda: read_up_to(seller, sent[-3])
    yield "send a reply", lambda: say(buyer, thread, BODY, reply_to=sent[1].id)
    yield (
        "edit",
        lambda: edit_message(buyer, thread_id=thread, message_id=sent[-1].id, body="Or at noon?"),
    )
    yield (
        "react",
        lambda: set_reaction(
            seller, thread_id=thread, message_id=sent[-1].id, reaction="👍", on=True
        ),
    )
    yield "remove", lambda: remove_message(buyer, thread_id=thread, message_id=sent[-1].id)
    last_seq = thread_item(thread).last_seq
    yield (
        "batch of 8 of one thread",
        lambda: send_batch([sending(buyer, thread, last_seq) for _ in range(8)]),
    )
    others = [start(buyer, seller) for _ in range(8)]
    for other in others:
        say(seller, other, BODY)
    yield (
        "batch of 8 of 8 threads",
        lambda: send_batch([sending(buyer, other, 2) for other in others]),
    )
    yield "save a draft", lambda: save_draft(buyer, thread_id=thread, text=BODY, version=0)
    yield "archive", lambda: archive_thread(buyer, thread_id=thread)
    yield "restore", lambda: restore_thread(buyer, thread_id=thread)
    yield (
        "start a thread",
        lambda: start_thread(
            buyer, seller=seller, client_id=str(uuid4()), subject="In May", body=BODY
        ),
    )


def coming(buyer, seller) -> Iterator[tuple[str, Operation]]:
    late = make_person("Late")
    threads = [start(buyer, late) for _ in range(2)]
    for thread in threads:
        for _ in range(20):
            say(buyer, thread, BODY)
    settle()
    pending = async_to_sync(list_pending)
    named = pending(late).rows

    def come_back() -> None:
        pending(late)
        for each in named:
            catch_up(late, each["thread"], after=each["first_undelivered"])

    opened = OpenConnection(late.id, f"conn_{0:026d}", "Firefox", "0" * 64, now())
    write = async_to_sync(write_connections)
    yield "pending deliveries", lambda: pending(late)
    yield "reconnect to 2 threads with 20 missed each", come_back
    yield "connect", lambda: write([opened], [])
    yield "a user's devices", lambda: list_connections(late)
    yield (
        "user of a connection",
        lambda: Connection.find(keys.connection_pk(opened.connection_id), keys.METADATA),
    )
    yield "close", lambda: write([], [(late.id, opened.connection_id)])
    yield (
        "positions of 100 threads on screens",
        lambda: async_to_sync(list_positions)(
            [f"thrd_{number:026d}" for number in range(98)] + threads
        ),
    )


def agreeing(buyer, seller) -> Iterator[tuple[str, Operation]]:
    thread = start(buyer, seller)
    book(thread, buyer, seller)
    open_thread(buyer, thread)
    fields = {"tab": "brief", "op": "edit", "version": 0, "part": "goals", "text": BODY}
    yield "edit a tab", lambda: edit_tab(buyer, thread_id=thread, **fields)
    yield "open a project", lambda: open_thread(buyer, thread)


@pytest.mark.django_db
@pytest.mark.parametrize("kind", [reading, listing, writing, coming, agreeing])
def test_costs_what_the_page_says(kind):
    people = {"buyer": make_person("Bea"), "seller": make_person("Sam")}
    wanted = {name: people[name] for name in kind.__code__.co_varnames[: kind.__code__.co_argcount]}
    table = pages.rows(pages.section(pages.read("speed.md"), "## Cost of each operation"))
    said = {each["operation"]: (int(each["requests"]), float(each["units"])) for each in table}
    found: dict[str, tuple[int, float]] = {}
    for name, operation in kind(**wanted):
        with count_requests() as requests:
            operation()
        assert "Scan" not in requests
        found[name] = len(requests), requests.capacity
    lines = "\n".join(f"| {name} | {n} | {units:g} |" for name, (n, units) in found.items())
    assert found == {name: said.get(name) for name in found}, f"\n{lines}"
