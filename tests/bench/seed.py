"""Run by itself, with the settings of the service: people, threads, and what the bare engine is to
write. Prints it as JSON."""

import io
import json
import sys
from datetime import timedelta
from typing import Any
from uuid import uuid4

import django

CONVERSATIONS = 20
# Stand for numbers that change from one transaction to the next; nothing else looks like them.
SEQ, TALLY = 7_000_000_001, 8_000_000_001


def main(messages: int, rows: int) -> None:
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    call_command("create_table", stdout=sys.stderr)
    call_command("collectstatic", interactive=False, verbosity=0)
    pairs = _pairs(2 * CONVERSATIONS + 5, messages=5)
    _make_known_to_search()
    talking, bare, special = (
        pairs[:CONVERSATIONS],
        pairs[CONVERSATIONS : 2 * CONVERSATIONS],
        pairs[2 * CONVERSATIONS :],
    )
    made = {
        "talking": [_thread_of(pair) for pair in talking],
        "bare": [_bare(pair) for pair in bare],
        "hot": _hot(special[0], talking),
        "short": _grown(special[1], 100),
        "long": _grown(special[2], messages),
        "small": _inbox(special[3], 10),
        "large": _inbox(special[4], rows),
    }
    print(json.dumps(made))


def _pairs(count: int, messages: int) -> list[dict[str, Any]]:
    from django.core.management import call_command

    told = io.StringIO()
    size = ["--pairs", str(count), "--messages", str(messages)]
    call_command("seed_load", *size, "--json", "--force", stdout=told)
    return json.loads(told.getvalue())["pairs"]


def _make_known_to_search() -> None:
    """Before some of them grow: else the service would take in all of that while it is measured."""
    from inbox.search.reconcile import reconcile_index

    reconcile_index()


def _thread_of(pair: dict[str, Any]) -> dict[str, Any]:
    cookies = [pair["buyer"]["cookie"], pair["seller"]["cookie"]]
    return {"thread": pair["thread"], "cookies": cookies, "senders": 1}


def _hot(pair: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    """Twenty people in one thread, who all write."""
    from accounts.models import User
    from tests.threads.conftest import add_friend

    people = [pair["buyer"], pair["seller"], *(other["buyer"] for other in others[:18])]
    owner = User.objects.get(pk=pair["buyer"]["id"])
    for person in people[2:]:
        user = User.objects.get(pk=person["id"])
        add_friend(owner, thread_id=pair["thread"], user=user)
    cookies = [person["cookie"] for person in people]
    return {"thread": pair["thread"], "cookies": cookies, "senders": len(cookies)}


def _bare(pair: dict[str, Any]) -> dict[str, Any]:
    """The transaction of a send, exactly as the service builds it, with places for its values."""
    from threads import cache
    from threads.actions.messages import new_text_message
    from threads.dynamodb import keys
    from threads.sending.new_message import RosterChange, now_ms
    from threads.sending.transaction import build_attempt

    real = cache.reload(pair["thread"])
    cached = real.copy()
    # The same day, so that it is the usual transaction of five items.
    cached.thread.last_message_at = keys.iso(keys.datetime_from_ms(now_ms()))
    cached.thread.last_seq, cached.thread.last_tally = SEQ, TALLY
    client_id = str(uuid4())
    line = new_text_message(pair["buyer"]["id"], client_id=client_id, body=_body(), seen_seq=SEQ)
    attempt = build_attempt(cached, line, RosterChange())
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
    from tests.bench.messaging_load import something_to_say

    return something_to_say()


def _grown(pair: dict[str, Any], size: int) -> dict[str, Any]:
    """A thread with so many messages, each after the other by a minute."""
    from ulid import ULID

    from threads import cache
    from threads.dynamodb import keys
    from threads.dynamodb.table import Item, put_many, query
    from threads.models import Message

    cached = cache.reload(pair["thread"])
    newest = query(cached.thread.pk, Item.sk.startswith(keys.MESSAGES), limit=1, newest_first=True)
    (model,) = newest.of(Message)
    began = keys.parse_iso(model.created_at) - timedelta(minutes=size + 10)

    def message(number: int) -> Message:
        at = began + timedelta(minutes=number)
        twin = model.copy()
        twin.sk = keys.message_sk(f"msg_{ULID.from_datetime(at)}")
        twin.created_at, twin.client_id = keys.iso(at), str(uuid4())
        twin.seq = twin.tally = number + 1
        return twin

    put_many(message(number) for number in range(size - 5))
    return {"path": f"/threads/{pair['thread']}/", "cookie": pair["buyer"]["cookie"], "size": size}


def _inbox(pair: dict[str, Any], size: int) -> dict[str, Any]:
    """An inbox with so many rows."""
    from core.ids import new_id
    from threads import cache
    from threads.dynamodb import keys
    from threads.dynamodb.table import put_many
    from threads.models import Participant

    model = cache.reload(pair["thread"]).people[pair["buyer"]["id"]]
    began = keys.parse_iso(model.last_message_at) - timedelta(minutes=size + 10)

    def row(number: int) -> Participant:
        twin, thread = model.copy(), new_id("thrd")
        at = keys.iso(began + timedelta(minutes=number))
        twin.pk, twin.last_message_at = keys.thread_pk(thread), at
        twin.inbox_sk = keys.inbox_sk(at, thread, pinned=False)
        return twin

    put_many(row(number) for number in range(size - 1))
    return {"path": "/inbox/", "cookie": pair["buyer"]["cookie"], "size": size}


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
