"""Prints the number of messages in the threads that stdin names; a separate process with the
settings of the service."""

import json
import sys

import django

PAGE_SIZE = 1000


def main() -> None:
    django.setup()
    print(sum(_count_messages(thread) for thread in json.load(sys.stdin)))


def _count_messages(thread: str) -> int:
    from threads.dynamodb import keys
    from threads.dynamodb.table import Item, connection

    total, after, is_complete = 0, None, False
    while not is_complete:
        page = connection().query(
            keys.thread_pk(thread),
            range_key_condition=Item.sk.startswith(keys.MESSAGES),
            limit=PAGE_SIZE,
            exclusive_start_key=after,
            select="COUNT",
            consistent_read=True,
        )
        total += page["Count"]
        after = page.get("LastEvaluatedKey")
        is_complete = after is None
    return total


if __name__ == "__main__":
    main()
