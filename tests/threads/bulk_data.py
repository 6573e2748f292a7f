"""Large amounts of data, written in bulk."""

from datetime import UTC, datetime, timedelta

from ulid import ULID

from tests.threads.conftest import messages_of, row, start, thread_item
from threads import cache
from threads.dynamodb import keys
from threads.dynamodb.table import put_many
from threads.models import Participant


def grow(thread: str, size: int) -> None:
    """Writes `size` messages of one length, so that costs can be compared."""
    began = datetime.now(UTC) - timedelta(days=2)
    (model,) = messages_of(thread)
    grown = []
    for seq in range(1, size + 1):
        message = model.copy()
        message_id = f"msg_{ULID.from_datetime(began + timedelta(milliseconds=seq))}"
        message.sk, message.seq, message.tally = keys.message_sk(message_id), seq, seq
        message.body = f"Message number {seq:06d}, as long as people write on average, or so."
        grown.append(message)
    model.delete()
    put_many(grown)
    newest = grown[-1]
    last = {
        "last_seq": newest.seq,
        "last_tally": newest.tally,
        "last_message_at": newest.created_at,
    }
    item = thread_item(thread)
    for name, value in {**last, "last_message_id": newest.id}.items():
        setattr(item, name, value)
    rows = list(list_rows(thread))
    for each in rows:
        for name, value in last.items():
            setattr(each, name, value)
    put_many([item, *rows])
    cache.invalidate(thread)


def list_rows(thread: str) -> list[Participant]:
    return list(cache.reload(thread).people.values())


def fill_inbox(user, seller, size: int) -> None:
    model = row(start(user, seller), user)
    rows, newest = [], keys.parse_iso(model.last_message_at)
    for number in range(1, size):
        thread = f"thrd_{ULID()}"
        each = model.copy()
        each.pk = keys.thread_pk(thread)
        each.last_message_at = keys.iso(newest - timedelta(minutes=2 * number))
        each.inbox_sk = keys.inbox_sk(each.last_message_at, thread, pinned=False)
        rows.append(each)
    put_many(rows)
