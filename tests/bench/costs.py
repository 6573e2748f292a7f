"""Run by itself, with the settings of the service: what each operation asks of DynamoDB."""

import json
import sys
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import django


def main(plot: dict[str, Any]) -> None:
    django.setup()
    from threads.dynamodb.store import count_requests

    costs = {}
    for name, operation in _operations(plot).items():
        with count_requests() as requests:
            operation()
        costs[name] = {"requests": len(requests), "units": requests.capacity}
    print(json.dumps(costs))


def _operations(plot: dict[str, Any]) -> dict[str, Callable[[], Any]]:
    from inbox.rows import get_column
    from threads.actions.cursors import mark_delivered, mark_read
    from threads.actions.messages import OutgoingMessage, send_batch
    from threads.queries import open_thread

    thread = plot["talking"][0]["thread"]
    buyer, seller = (_person(cookie) for cookie in plot["talking"][0]["cookies"])
    others = [one["thread"] for one in plot["talking"][1:9]]
    owners = [_person(one["cookies"][0]) for one in plot["talking"][1:9]]
    sent: list[Any] = []

    def sending(user: Any, thread_id: str) -> Any:
        return OutgoingMessage(
            user, thread_id, str(uuid4()), "As long as people write on average, or so."
        )

    def place() -> dict[str, Any]:
        message = sent[-1]
        numbers = {"seq": message.seq, "tally": message.tally}
        return {"thread_id": thread, "message_id": message.id, **numbers}

    def opened(name: str) -> Callable[[], Any]:
        one = plot[name]
        person = _person(one["cookie"])
        return lambda: open_thread(person, one["path"].split("/")[2])

    def listed(name: str) -> Callable[[], Any]:
        person = _person(plot[name]["cookie"])
        return lambda: get_column(person, "inbox")

    open_thread(buyer, thread)
    for owner, other in zip(owners, others, strict=True):
        open_thread(owner, other)
    return {
        "send": lambda: sent.append(sending(buyer, thread).run()),
        "mark_delivered": lambda: mark_delivered(seller, **place()),
        "mark_read": lambda: mark_read(seller, **place()),
        "send 8 of 8 threads together": lambda: send_batch(
            [sending(owner, other) for owner, other in zip(owners, others, strict=True)]
        ),
        "send 8 of one thread together": lambda: send_batch(
            [sending(buyer, thread) for _ in range(8)]
        ),
        "open a thread, short": opened("short"),
        "open a thread, long": opened("long"),
        "page of the inbox, small": listed("small"),
        "page of the inbox, large": listed("large"),
    }


def _person(cookie: str) -> Any:
    from django.contrib.auth import SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore

    from accounts.models import User

    return User.objects.get(pk=SessionStore(cookie)[SESSION_KEY])


if __name__ == "__main__":
    main(json.loads(sys.stdin.readline()))
