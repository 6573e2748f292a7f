"""Creates users, threads and the transactions for the bare engine, and prints them as JSON; a
separate process with the service settings."""

import io
import json
import sys
from datetime import timedelta
from typing import Any
from uuid import uuid4

import django

CONVERSATIONS = 20
# Unique placeholders for numbers that change with every transaction.
SEQ, TALLY = 7_000_000_001, 8_000_000_001


def main(messages: int, rows: int) -> None:
    create_stores()
    _collect_static()
    pairs = create_pairs(2 * CONVERSATIONS + 5, messages=5)
    index_messages()
    talking, bare, special = (
        pairs[:CONVERSATIONS],
        pairs[CONVERSATIONS : 2 * CONVERSATIONS],
        pairs[2 * CONVERSATIONS :],
    )
    made = {
        "talking": [thread_of(pair) for pair in talking],
        "bare": [_engine_thread(pair) for pair in bare],
        "hot": _hot_thread(special[0], talking),
        "short": _filled_thread(special[1], 100),
        "long": _filled_thread(special[2], messages),
        "small": _inbox(special[3], 10),
        "large": _inbox(special[4], rows),
    }
    print(json.dumps(made))


def create_stores() -> None:
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("create_table", stdout=sys.stderr)


def _collect_static() -> None:
    from django.core.management import call_command

    call_command("collectstatic", interactive=False, verbosity=0)


def create_pairs(count: int, messages: int) -> list[dict[str, Any]]:
    from django.core.management import call_command

    output = io.StringIO()
    size = ["--pairs", str(count), "--messages", str(messages)]
    call_command("seed_load", *size, "--json", "--force", stdout=output)
    return json.loads(output.getvalue())["pairs"]


def index_messages() -> None:
    """Indexes before threads are filled, so that the service does not index them while measured."""
    from inbox.search.reconcile import reconcile_index

    reconcile_index()


def thread_of(pair: dict[str, Any]) -> dict[str, Any]:
    cookies = [pair["buyer"]["cookie"], pair["seller"]["cookie"]]
    return {"thread": pair["thread"], "cookies": cookies, "senders": 1}


def _hot_thread(pair: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    """A thread of twenty users who all write."""
    from accounts.models import User
    from tests.threads.conftest import add_friend

    users = [pair["buyer"], pair["seller"], *(other["buyer"] for other in others[:18])]
    owner = User.objects.get(pk=pair["buyer"]["id"])
    for account in users[2:]:
        user = User.objects.get(pk=account["id"])
        add_friend(owner, thread_id=pair["thread"], user=user)
    cookies = [account["cookie"] for account in users]
    return {"thread": pair["thread"], "cookies": cookies, "senders": len(cookies)}


def _engine_thread(pair: dict[str, Any]) -> dict[str, Any]:
    """The transaction of a send as the service builds it, with placeholders for its values."""
    from threads import cache
    from threads.actions.messages import new_text_message
    from threads.dynamodb import keys
    from threads.sending.new_message import RosterChange, now_ms
    from threads.sending.transaction import build_attempt

    real = cache.reload(pair["thread"])
    cached = real.copy()
    # The same day, so that the transaction has the usual five items.
    cached.thread.last_message_at = keys.iso(keys.datetime_from_ms(now_ms()))
    cached.thread.last_seq, cached.thread.last_tally = SEQ, TALLY
    client_id = str(uuid4())
    message = new_text_message(pair["buyer"]["id"], client_id=client_id, body=_body(), seen_seq=SEQ)
    attempt = build_attempt(cached, message, RosterChange())
    assert cached.thread.last_message_id != attempt.message.id
    return {
        "template": json.dumps({"TransactItems": attempt.write.items}),
        "names": {
            "old_seq": str(SEQ),
            "new_seq": str(SEQ + 1),
            "old_tally": str(TALLY),
            "new_tally": str(TALLY + 1),
            "old_message": cached.thread.last_message_id,
            "new_message": attempt.message.id,
            "now": attempt.message.created_at,
            "client_id": client_id,
        },
        "seq": real.thread.last_seq,
        "tally": real.thread.last_tally,
        "message": real.thread.last_message_id,
    }


def _body() -> str:
    from tests.bench.messaging_load import random_body

    return random_body()


def _filled_thread(pair: dict[str, Any], size: int) -> dict[str, Any]:
    """A thread with that many messages, one per minute."""
    from ulid import ULID

    from threads import cache
    from threads.dynamodb import keys
    from threads.dynamodb.table import Item, put_many, query
    from threads.models import Message

    cached = cache.reload(pair["thread"])
    newest = query(cached.thread.pk, Item.sk.startswith(keys.MESSAGES), limit=1, newest_first=True)
    (model,) = newest.of(Message)
    first_at = keys.parse_iso(model.created_at) - timedelta(minutes=size + 10)

    def message(number: int) -> Message:
        at = first_at + timedelta(minutes=number)
        copy = model.copy()
        copy.sk = keys.message_sk(f"msg_{ULID.from_datetime(at)}")
        copy.created_at, copy.client_id = keys.iso(at), str(uuid4())
        copy.seq = copy.tally = number + 1
        return copy

    put_many(message(number) for number in range(size - 5))
    return {"path": f"/threads/{pair['thread']}/", "cookie": pair["buyer"]["cookie"], "size": size}


def _inbox(pair: dict[str, Any], size: int) -> dict[str, Any]:
    """An inbox with that many rows."""
    from core.ids import new_id
    from threads import cache
    from threads.dynamodb import keys
    from threads.dynamodb.table import put_many
    from threads.models import Participant

    model = cache.reload(pair["thread"]).people[pair["buyer"]["id"]]
    first_at = keys.parse_iso(model.last_message_at) - timedelta(minutes=size + 10)

    def row(number: int) -> Participant:
        copy, thread = model.copy(), new_id("thrd")
        at = keys.iso(first_at + timedelta(minutes=number))
        copy.pk, copy.last_message_at = keys.thread_pk(thread), at
        copy.inbox_sk = keys.inbox_sk(at, thread, pinned=False)
        return copy

    put_many(row(number) for number in range(size - 1))
    return {"path": "/inbox/", "cookie": pair["buyer"]["cookie"], "size": size}


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
