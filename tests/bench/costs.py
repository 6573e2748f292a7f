"""Counts the DynamoDB requests of operations; a separate process with the service settings."""

import json
import sys
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import django


def main(seed_data: dict[str, Any]) -> None:
    django.setup()
    from threads.dynamodb.store import count_requests

    costs = {}
    for name, operation in _operations(seed_data).items():
        with count_requests() as requests:
            operation()
        costs[name] = {"requests": len(requests), "units": requests.capacity}
    print(json.dumps(costs))


def _operations(seed_data: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    from inbox.rows import get_column
    from threads.actions.cursors import mark_delivered, mark_read
    from threads.actions.messages import OutgoingMessage, send_batch
    from threads.queries import open_thread

    thread = seed_data["talking"][0]["thread"]
    buyer, seller = (_get_user(cookie) for cookie in seed_data["talking"][0]["cookies"])
    others = [one["thread"] for one in seed_data["talking"][1:9]]
    owners = [_get_user(one["cookies"][0]) for one in seed_data["talking"][1:9]]
    sent: list[Any] = []

    def make_outgoing(user: Any, thread_id: str) -> Any:
        return OutgoingMessage(
            user, thread_id, str(uuid4()), "As long as people write on average, or so."
        )

    def cursor_fields() -> dict[str, Any]:
        message = sent[-1]
        numbers = {"seq": message.seq, "tally": message.tally}
        return {"thread_id": thread, "message_id": message.id, **numbers}

    def make_open(name: str) -> Callable[[], Any]:
        one = seed_data[name]
        user = _get_user(one["cookie"])
        return lambda: open_thread(user, one["path"].split("/")[2])

    def make_list(name: str) -> Callable[[], Any]:
        user = _get_user(seed_data[name]["cookie"])
        return lambda: get_column(user, "inbox")

    open_thread(buyer, thread)
    for owner, other in zip(owners, others, strict=True):
        open_thread(owner, other)
    return {
        "send": lambda: sent.append(make_outgoing(buyer, thread).run()),
        "mark_delivered": lambda: mark_delivered(seller, **cursor_fields()),
        "mark_read": lambda: mark_read(seller, **cursor_fields()),
        "send 8 of 8 threads together": lambda: send_batch(
            [make_outgoing(owner, other) for owner, other in zip(owners, others, strict=True)]
        ),
        "send 8 of one thread together": lambda: send_batch(
            [make_outgoing(buyer, thread) for _ in range(8)]
        ),
        "open a thread, short": make_open("short"),
        "open a thread, long": make_open("long"),
        "page of the inbox, small": make_list("small"),
        "page of the inbox, large": make_list("large"),
    }


def _get_user(cookie: str) -> Any:
    from django.contrib.auth import SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    from accounts.models import User

    return User.objects.get(pk=SessionStore(cookie)[SESSION_KEY])


if __name__ == "__main__":
    main(json.loads(sys.stdin.readline()))
