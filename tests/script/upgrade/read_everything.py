"""Reads all threads of a data folder with the current code and prints what it found as JSON.

Run with `script/manage --data DIR shell`. Threads are read as pages read them: through the table,
the archive and the search index.
"""

import json
import re
from collections import defaultdict

from django.test import Client

from accounts.models import User
from contracts.models import Card, Leg, Receipt
from inbox.search.query_parser import parse_query
from inbox.search.search import search
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query_all
from threads.models import Message
from threads.queries import list_all_rows


def list_threads() -> dict[str, list[User]]:
    threads: dict[str, list[User]] = defaultdict(list)
    for user in User.objects.order_by("id"):
        for row in list_all_rows(user.id):
            threads[row.thread_id].append(user)
    return threads


def list_messages(thread_id: str) -> list[Message]:
    items = query_all(keys.thread_pk(thread_id), Item.sk.startswith(keys.MESSAGES))
    return [item for item in items if isinstance(item, Message)]


def open_page(user: User, thread_id: str) -> int:
    client = Client(SERVER_NAME="127.0.0.1")
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return client.get(f"/threads/{thread_id}/").status_code


def can_find(user: User, thread_id: str, message: Message) -> bool:
    words = " ".join(sorted(set(re.findall(r"\w{4,}", message.body or "")), key=len)[-4:])
    results = search(user, parse_query(words), thread_id=thread_id)
    return any(message.id in hit.url for result in results for hit in result.hits)


def read_everything() -> dict[str, int]:
    threads = list_threads()
    messages = {thread_id: list_messages(thread_id) for thread_id in threads}
    stored = [message for listed in messages.values() for message in listed]
    archived = [message for message in stored if message.archive_ref]
    oldest = {
        thread_id: next(m for m in listed if m.archive_ref and m.author_id and m.body)
        for thread_id, listed in messages.items()
        if any(m.archive_ref and m.author_id and m.body for m in listed)
    }
    return {
        "users": User.objects.count(),
        "threads": len(threads),
        "rows": sum(map(len, threads.values())),
        "messages": len(stored),
        "archived": len(archived),
        "characters": sum(len(message.body or "") for message in stored),
        "legs": Leg.objects.count(),
        "receipts": Receipt.objects.count(),
        "cards": Card.objects.count(),
        "pages": sum(open_page(users[0], thread) == 200 for thread, users in threads.items()),
        "archived_threads": len(oldest),
        "found_in_archive": sum(
            can_find(threads[thread][0], thread, message) for thread, message in oldest.items()
        ),
    }


print(json.dumps(read_everything()))
