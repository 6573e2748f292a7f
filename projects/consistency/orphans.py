"""From the table to the records: items about something that does not exist.

Reads the whole table, a page at a time: maintenance, like the removal of expired items. What looks
wrong is read once more before it is reported, since people go on using the service meanwhile.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from core.outbox.claims import pending
from projects.consistency.references import References, ordering_keys_of
from threads.dynamodb.table import Item, connection, get_many, parse_item

PAGE_SIZE = 1000
# All that the checks need of an item: never what people wrote.
ATTRIBUTES = [
    *("pk", "sk", "ttl", "kind", "legId", "lbgId", "buyerUserId", "sellerUserId", "cardId"),
    *("blockedBy", "type", "createdAt", "archiveId"),
]


def find_orphans() -> Iterator[str]:
    unknown = 0
    for raws in _pages():
        items = []
        for raw in raws:
            item = parse_item(raw)
            if item is None:
                unknown += 1
            elif not item.is_expired:
                items.append(item)
        yield from _confirmed(items)
    if unknown:
        yield f"{unknown} items are of no kind that is known"


def _confirmed(items: list[Item]) -> Iterator[str]:
    suspicious = {(item.pk, item.sk) for item, _ in _check(items)}
    if suspicious:
        again = get_many(suspicious, whole=False)
        for item, problem in _check(again):
            if pending().filter(ordering_key__in=ordering_keys_of(item)).exists():
                # The records changed just now, and the outbox is about to change the item.
                continue
            yield f"{item.pk} {item.sk}: {problem}"


def _check(items: Iterable[Item]) -> Iterator[tuple[Item, str]]:
    items = list(items)
    references = References(items)
    for item in items:
        for problem in references.problems_of(item):
            yield item, problem


def _pages() -> Iterator[list[dict[str, Any]]]:
    start = None
    while True:
        page = connection().scan(
            attributes_to_get=ATTRIBUTES, limit=PAGE_SIZE, exclusive_start_key=start
        )
        yield page["Items"]
        start = page.get("LastEvaluatedKey")
        if start is None:
            return
