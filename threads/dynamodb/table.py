"""The table: its indexes, the base class of its items, and functions to read and write it."""

import functools
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from django.conf import settings
from pynamodb.connection.base import MetaTable
from pynamodb.connection.table import TableConnection
from pynamodb.constants import BATCH_GET_PAGE_LIMIT, BATCH_WRITE_PAGE_LIMIT, COUNT
from pynamodb.exceptions import TableDoesNotExist
from pynamodb.expressions.condition import Condition
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection, KeysOnlyProjection
from pynamodb.models import Model

from threads.dynamodb.attributes import (
    IntAttribute,
    UnicodeAttribute,
    default_values,
    parse_attributes,
)
from threads.dynamodb.client import SyncClient
from threads.dynamodb.query_requests import query_request
from threads.dynamodb.retry import Backoff
from threads.dynamodb.sizes import check_item
from threads.dynamodb.store import Store
from threads.dynamodb.unknown_kinds import record_unknown_item

ItemT = TypeVar("ItemT", bound="Item")
Key = tuple[str, str]
# Types for callers that must not import PynamoDB.
Index = GlobalSecondaryIndex
KeyCondition = Condition

QUERY_PAGE_SIZE = 500


class InboxIndex(GlobalSecondaryIndex["Item"]):
    """The rows of a folder with everything they show: pinned first, then newest."""

    class Meta:
        index_name = "GSI1"
        projection = IncludeProjection(
            [
                "subject",
                "kind",
                "folder",
                "otherSide",
                "othersCount",
                "lastMessageAt",
                "lastMessage",
                "lastSeq",
                "lastTally",
                "lastReadTally",
                "ownSinceRead",
                "pinned",
                "muted",
                "mutedUntil",
                "markedUnread",
                "requestState",
                "roleContext",
                "waitingFor",
            ]
        )

    pk = UnicodeAttribute(hash_key=True, attr_name="GSI1PK")
    sk = UnicodeAttribute(range_key=True, attr_name="GSI1SK")


class BookingIndex(GlobalSecondaryIndex["Item"]):
    """The threads of a leg or a group."""

    class Meta:
        index_name = "GSI2"
        projection = KeysOnlyProjection()

    pk = UnicodeAttribute(hash_key=True, attr_name="GSI2PK")
    sk = UnicodeAttribute(range_key=True, attr_name="GSI2SK")


class PendingIndex(GlobalSecondaryIndex["Item"]):
    """A user's threads with messages that were delivered to none of their devices."""

    class Meta:
        index_name = "GSI3"
        projection = IncludeProjection(["firstUndeliveredSeq", "firstUndeliveredMsgId"])

    pk = UnicodeAttribute(hash_key=True, attr_name="GSI3PK")
    sk = UnicodeAttribute(range_key=True, attr_name="GSI3SK")


class UnreadIndex(GlobalSecondaryIndex["Item"]):
    """The threads in a user's inbox with unread messages."""

    class Meta:
        index_name = "GSI4"
        projection = KeysOnlyProjection()

    pk = UnicodeAttribute(hash_key=True, attr_name="GSI4PK")
    sk = UnicodeAttribute(range_key=True, attr_name="GSI4SK")


class Item(Model):
    """Base class of all items. The prefixes of its keys identify the items of a subclass."""

    class Meta:
        table_name = settings.DYNAMODB["table"]
        billing_mode = "PAY_PER_REQUEST"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    ttl = IntAttribute(null=True)

    inbox = InboxIndex()
    bookings = BookingIndex()
    pending = PendingIndex()
    unread_threads = UnreadIndex()

    # Prefixes of the keys; the sort key of some kinds is a constant.
    pk_prefix: ClassVar[str] = ""
    sk_prefix: ClassVar[str] = ""
    # The size limit of the kind; see threads/dynamodb/sizes.py.
    max_bytes: ClassVar[int]
    kinds: ClassVar[list[type["Item"]]] = []

    @classmethod
    def has_sk(cls, sk: str) -> bool:
        """Whether a sort key with the kind's prefix belongs to it; a constant must match fully."""
        return cls.sk_prefix.endswith("#") or sk == cls.sk_prefix

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.pk_prefix:
            if "max_bytes" not in vars(cls):
                raise TypeError(f"{cls.__name__} declares no size limit")
            Item.kinds.append(cls)

    def __init__(
        self,
        pk: str | None = None,
        sk: str | None = None,
        _user_instantiated: bool = True,
        **attributes: Any,
    ) -> None:
        """Does what PynamoDB does, without going through all attributes of the kind."""
        kind = type(self)
        if unknown := attributes.keys() - kind.get_attributes().keys():
            raise ValueError(f"{kind.__name__} has no attribute {', '.join(sorted(unknown))}")
        self.attribute_values = {**default_values(kind), "pk": pk, "sk": sk, **attributes}

    @classmethod
    def _get_connection(cls) -> TableConnection:
        # PynamoDB would open one connection per class.
        return connection()

    @classmethod
    def from_raw_data(cls, data: dict[str, Any]) -> Self:
        item = cls.__new__(cls)
        item.attribute_values = parse_attributes(cls, data)
        return item

    def serialize(self, null_check: bool = True) -> dict[str, Any]:
        """Without optional attributes that have their default."""
        raw = super().serialize(null_check)
        for name, attribute in self.get_attributes().items():
            if attribute.null and self.attribute_values.get(name) == attribute.default:
                raw.pop(attribute.attr_name, None)
        return raw

    @property
    def is_expired(self) -> bool:
        # AWS may take days to delete an expired item, and the embedded engine never does.
        return self.ttl is not None and self.ttl <= time.time()

    def copy(self) -> Self:
        """A copy whose attributes can be set independently."""
        copied = self.__class__.__new__(self.__class__)
        copied.__dict__.update(self.__dict__)
        copied.attribute_values = dict(self.attribute_values)
        return copied

    @classmethod
    def find(cls, pk: str, sk: str, *, consistent: bool = True) -> Self | None:
        response = connection().get_item(pk, sk, consistent_read=consistent)
        raw = response.get("Item")
        item = cls.from_raw_data(raw) if raw else None
        if item is None or item.is_expired:
            return None
        cls.load_contents([item])
        return item

    @classmethod
    def load_contents(cls, items: list[Any]) -> None:
        """Loads the parts of these items that are stored elsewhere; overridden by such kinds."""


@functools.cache
def connection() -> TableConnection:
    schema = Item._get_schema()
    table = TableConnection(settings.DYNAMODB["table"])
    region, endpoint = settings.DYNAMODB["region"], settings.DYNAMODB["endpoint"]
    client = SyncClient(
        region=region,
        endpoint=endpoint,
        connect_timeout=settings.DYNAMODB["connect_timeout"],
        read_timeout=settings.DYNAMODB["read_timeout"],
    )
    table.connection = Store(client, region=region, endpoint=endpoint)
    table.connection.add_meta_table(
        MetaTable(
            {
                "TableName": table.table_name,
                "KeySchema": schema["key_schema"],
                "AttributeDefinitions": schema["attribute_definitions"],
                "GlobalSecondaryIndexes": [
                    {"IndexName": index["index_name"], "KeySchema": index["key_schema"]}
                    for index in schema["global_secondary_indexes"]
                ],
            }
        )
    )
    return table


def parse_item(raw: dict[str, Any]) -> Item | None:
    """The item as an instance of its kind; None if only a newer version has that kind."""
    pk, sk = raw["pk"]["S"], raw["sk"]["S"]
    for kind in Item.kinds:
        if pk.startswith(kind.pk_prefix) and sk.startswith(kind.sk_prefix) and kind.has_sk(sk):
            return kind.from_raw_data(raw)
    record_unknown_item(pk, sk)
    return None


def parse_items(raws: Iterable[dict[str, Any]]) -> list[Item]:
    """Parses items and leaves out those of unknown kinds."""
    return [item for item in map(parse_item, raws) if item is not None]


@dataclass
class Page:
    items: list[Item]
    # The start of the next page; None on the last page.
    next_key: dict[str, Any] | None = None

    @property
    def has_more(self) -> bool:
        return self.next_key is not None

    def of(self, kind: type[ItemT]) -> list[ItemT]:
        return [item for item in self.items if isinstance(item, kind)]


def query(
    pk: str,
    where: Condition | None = None,
    *,
    limit: int,
    index: GlobalSecondaryIndex | None = None,
    newest_first: bool = False,
    after: dict[str, Any] | None = None,
    consistent: bool = True,
    with_contents: bool = True,
) -> Page:
    """The items of one page without expired ones, in one request unless there are items of unknown
    kinds. `with_contents=False` leaves out contents that are stored outside the table."""
    items: list[Item] = []
    while True:
        request = query_request(connection().table_name, pk, where, index, limit=limit)
        request["ScanIndexForward"] = not newest_first
        if consistent and index is None:
            request["ConsistentRead"] = True
        if after:
            request["ExclusiveStartKey"] = after
        response = _query(request)
        found = parse_items(response["Items"])
        items += found
        # Reads replacements for items of unknown kinds, so that the page is filled.
        limit, after = len(response["Items"]) - len(found), response.get("LastEvaluatedKey")
        if not limit or after is None:
            return Page(_unexpired(items, with_contents=with_contents), after)


def _unexpired(found: Iterable[Item], *, with_contents: bool) -> list[Item]:
    items = [item for item in found if not item.is_expired]
    if with_contents:
        for kind in {type(item) for item in items}:
            kind.load_contents([item for item in items if type(item) is kind])
    return items


def count(
    pk: str,
    where: Condition | None = None,
    *,
    limit: int,
    index: GlobalSecondaryIndex | None = None,
) -> int:
    """The number of items, up to a limit, without reading the items themselves."""
    request = query_request(connection().table_name, pk, where, index, limit=limit)
    return int(_query(request | {"Select": COUNT})["Count"])


def _query(request: dict[str, Any]) -> dict[str, Any]:
    return connection().connection._make_api_call("Query", request)


def get_many(keys: Iterable[Key], *, with_contents: bool = True) -> list[Item]:
    """Reads items by BatchGetItem in chunks; unprocessed keys are requested again."""
    wanted = [{"pk": pk, "sk": sk} for pk, sk in dict.fromkeys(keys)]
    found: list[dict[str, Any]] = []
    backoff = Backoff()
    while wanted:
        chunk, wanted = wanted[:BATCH_GET_PAGE_LIMIT], wanted[BATCH_GET_PAGE_LIMIT:]
        response = connection().batch_get_item(
            chunk,  # type: ignore[arg-type]
            consistent_read=True,
        )
        found += response["Responses"].get(connection().table_name, [])
        left = response.get("UnprocessedKeys", {}).get(connection().table_name, {}).get("Keys", [])
        if left:
            wanted += [{"pk": key["pk"]["S"], "sk": key["sk"]["S"]} for key in left]
            backoff.wait("UnprocessedKeys")
    return _unexpired(parse_items(found), with_contents=with_contents)


def query_all(
    pk: str,
    where: Condition | None = None,
    *,
    index: GlobalSecondaryIndex | None = None,
    with_contents: bool = True,
) -> Iterator[Item]:
    """All items, page by page."""
    after = None
    while True:
        page = query(
            pk, where, limit=QUERY_PAGE_SIZE, index=index, after=after, with_contents=with_contents
        )
        yield from page.items
        after = page.next_key
        if after is None:
            return


def serialized(item: Item) -> dict[str, Any]:
    raw = item.serialize()
    check_item(item.max_bytes, raw)
    return raw


def put_many(items: Iterable[Item]) -> None:
    """Writes items by BatchWriteItem in chunks; unprocessed items are sent again."""
    waiting = iter(items)
    while chunk := [serialized(item) for item in islice(waiting, BATCH_WRITE_PAGE_LIMIT)]:
        backoff = Backoff()
        while chunk:
            response = connection().batch_write_item(put_items=chunk)
            left = response.get("UnprocessedItems", {}).get(connection().table_name, [])
            chunk = [request["PutRequest"]["Item"] for request in left]
            if chunk:
                backoff.wait("UnprocessedItems")


# --- Creating the table


class Shape(NamedTuple):
    keys: tuple[str, ...]
    projection: str
    attributes: frozenset[str]


def create_table() -> list[str]:
    """Creates the table if it does not exist; returns how an existing one differs."""
    try:
        described = connection().describe_table()
    except TableDoesNotExist:
        Item.create_table(wait=True)
        described = connection().describe_table()
    return list_schema_differences(described) + _enable_ttl(Item.ttl.attr_name)


def _enable_ttl(wanted: str) -> list[str]:
    """Enables expiry of items by `ttl`; until they are deleted, reads skip expired items."""
    table = connection()
    response = table.connection._make_api_call(
        "DescribeTimeToLive", {"TableName": table.table_name}
    )
    found = response["TimeToLiveDescription"].get("AttributeName")
    if found is None:
        table.update_time_to_live(wanted)
    return [f"items expire by {found}, should by {wanted}"] if found not in (None, wanted) else []


def list_schema_differences(described: dict[str, Any]) -> list[str]:
    wanted, found = _wanted_shapes(), _found_shapes(described)
    missing = [f"index {name} is missing" for name in sorted(wanted.keys() - found.keys())]
    unknown = [f"index {name} is not one of ours" for name in sorted(found.keys() - wanted.keys())]
    other = [
        f"{name} is {found[name]}, should be {wanted[name]}"
        for name in sorted(wanted.keys() & found.keys())
        if wanted[name] != found[name]
    ]
    return missing + unknown + other


def _wanted_shapes() -> dict[str, Shape]:
    schema = Item._get_schema()
    shapes = {"table": Shape(_names(schema["key_schema"]), "ALL", frozenset())}
    for index in schema["global_secondary_indexes"]:
        shapes[index["index_name"]] = _shape(
            {"KeySchema": index["key_schema"], "Projection": index["projection"]}
        )
    return shapes


def _found_shapes(described: dict[str, Any]) -> dict[str, Shape]:
    shapes = {"table": Shape(_names(described["KeySchema"]), "ALL", frozenset())}
    for index in described.get("GlobalSecondaryIndexes", []):
        shapes[index["IndexName"]] = _shape(index)
    return shapes


def _shape(index: dict[str, Any]) -> Shape:
    projection = index["Projection"]
    return Shape(
        _names(index["KeySchema"]),
        projection["ProjectionType"],
        frozenset(projection.get("NonKeyAttributes", [])),
    )


def _names(key_schema: Sequence[Any]) -> tuple[str, ...]:
    return tuple(key["AttributeName"] for key in sorted(key_schema, key=lambda k: k["KeyType"]))
