"""The table: idempotent creation, reported schema differences, and expired items."""

import time
from collections.abc import Iterator
from io import StringIO
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from pynamodb.exceptions import AttributeDeserializationError

from tests.threads.botocore_client import botocore_client
from tests.threads.conftest import messages_of
from threads.actions.revisions import set_reaction
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import (
    Item,
    connection,
    create_table,
    get_many,
    list_schema_differences,
    parse_item,
    put_many,
    query,
)
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.models import Connection, Draft, RateBucket, SentMarker, TabSnapshot, UserConnection


def test_creating_the_table_is_idempotent(thread):
    assert create_table() == []
    assert create_table() == []
    assert query(keys.thread_pk(thread), limit=10).items


# --- Schema differences


class OtherTables:
    """Tables with other schemas on the same engine."""

    def __init__(self) -> None:
        self.client = botocore_client()
        self.created: list[str] = []

    def create(self, indexes: list[dict], sort_key: str = "sk") -> dict:
        name = f"other_{uuid4().hex}"
        keyed = {"pk", sort_key}
        keyed |= {key["AttributeName"] for index in indexes for key in index["KeySchema"]}
        self.client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[
                {"AttributeName": each, "AttributeType": "S"} for each in sorted(keyed)
            ],
            KeySchema=_schema("pk", sort_key),
            **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
        )
        self.created.append(name)
        return self.client.describe_table(TableName=name)["Table"]


def _schema(pk: str, sk: str) -> list[dict]:
    return [
        {"AttributeName": pk, "KeyType": "HASH"},
        {"AttributeName": sk, "KeyType": "RANGE"},
    ]


def index_of(name: str, projection: dict | None = None, keyed_by: str = "") -> dict:
    ours = botocore_client().describe_table(TableName=connection().table_name)
    (index,) = (
        each for each in ours["Table"]["GlobalSecondaryIndexes"] if each["IndexName"] == name
    )
    return {
        "IndexName": name,
        "KeySchema": _schema(*keyed_by.split()) if keyed_by else index["KeySchema"],
        "Projection": projection or index["Projection"],
    }


@pytest.fixture
def other_tables(table) -> Iterator[OtherTables]:
    tables = OtherTables()
    yield tables
    for name in tables.created:
        tables.client.delete_table(TableName=name)


ALL = ["GSI1", "GSI2", "GSI3", "GSI4"]


def test_an_equal_schema_has_no_differences(other_tables):
    assert list_schema_differences(other_tables.create([index_of(name) for name in ALL])) == []


def test_a_missing_index_is_named(other_tables):
    described = other_tables.create([index_of(name) for name in ALL if name != "GSI3"])
    assert list_schema_differences(described) == ["index GSI3 is missing"]


def test_all_indexes_of_a_table_without_any_are_named(other_tables):
    assert list_schema_differences(other_tables.create([])) == [
        f"index {name} is missing" for name in ALL
    ]


def test_an_extra_index_is_named(other_tables):
    extra = index_of("GSI2") | {"IndexName": "GSI9"}
    described = other_tables.create([*(index_of(name) for name in ALL), extra])
    assert list_schema_differences(described) == ["index GSI9 is not one of ours"]


def test_another_projection_is_described(other_tables):
    whole = index_of("GSI1", {"ProjectionType": "ALL"})
    described = other_tables.create([whole, *(index_of(name) for name in ALL[1:])])
    (difference,) = list_schema_differences(described)
    assert difference.startswith("GSI1 is ")
    assert "ALL" in difference
    assert "lastMessage" in difference


def test_a_missing_attribute_of_an_index_is_described(other_tables):
    fewer = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["firstUndeliveredSeq"]}
    indexes = [index_of(name, fewer if name == "GSI3" else None) for name in ALL]
    (difference,) = list_schema_differences(other_tables.create(indexes))
    assert difference.startswith("GSI3 is ")
    assert "firstUndeliveredMsgId" in difference


def test_other_keys_are_described(other_tables):
    indexes = [index_of(name, keyed_by="GSI4PK GSI1SK" if name == "GSI4" else "") for name in ALL]
    (difference,) = list_schema_differences(other_tables.create(indexes))
    assert difference.startswith("GSI4 is ")
    (difference,) = list_schema_differences(
        other_tables.create([index_of(name) for name in ALL], sort_key="created")
    )
    assert difference.startswith("table is ")


def test_the_command_prints_the_table_name():
    output = StringIO()
    call_command("create_table", stdout=output)
    assert connection().table_name in output.getvalue()


def test_the_command_fails_for_a_difference(monkeypatch):
    import threads.management.commands.create_table as command

    monkeypatch.setattr(command, "create_table", lambda: ["index GSI3 is missing"])
    with pytest.raises(CommandError, match="index GSI3 is missing"):
        call_command("create_table", stdout=StringIO())


def get_ttl_attribute() -> str | None:
    client = botocore_client()
    answer = client.describe_time_to_live(TableName=connection().table_name)
    return answer["TimeToLiveDescription"].get("AttributeName")


def set_ttl_attribute(by: str, *, enabled: bool) -> None:
    botocore_client().update_time_to_live(
        TableName=connection().table_name,
        TimeToLiveSpecification={"Enabled": enabled, "AttributeName": by},
    )


def test_an_interrupted_creation_is_completed():
    set_ttl_attribute("ttl", enabled=False)
    assert get_ttl_attribute() is None
    assert create_table() == []
    assert get_ttl_attribute() == "ttl"


def test_another_ttl_attribute_is_reported():
    set_ttl_attribute("ttl", enabled=False)
    set_ttl_attribute("expires", enabled=True)
    try:
        assert create_table() == ["items expire by expires, should by ttl"]
    finally:
        set_ttl_attribute("expires", enabled=False)
        assert create_table() == []


# --- Expiry


def marker(thread: str, name: str, ttl: int) -> SentMarker:
    pk = keys.thread_pk(thread)
    return SentMarker(
        pk, keys.sent_marker_sk("system", name), message_id="m", seq=1, hash="h", ttl=ttl
    )


def test_expired_items_are_not_read(thread):
    now = int(time.time())
    expired, live = marker(thread, "gone", now - 1), marker(thread, "there", now + 60)
    put_many([expired, live])

    assert SentMarker.find(expired.pk, expired.sk) is None
    assert SentMarker.find(live.pk, live.sk) is not None
    found = get_many([(expired.pk, expired.sk), (live.pk, live.sk)])
    assert [item.sk for item in found] == [live.sk]
    page = query(expired.pk, Item.sk.startswith(keys.sent_marker_sk("system", "")), limit=10)
    assert [item.sk for item in page.items] == [live.sk]


def test_an_item_expires_in_the_second_of_its_ttl(thread):
    item = marker(thread, "now", int(time.time()))
    put_many([item])
    assert SentMarker.find(item.pk, item.sk) is None


def test_every_kind_with_a_ttl_expires(buyer):
    now = int(time.time())
    pk, at = keys.user_pk(buyer.id), "2026-05-04T09:30:00.125Z"
    fields = {
        "user_id": buyer.id,
        "connected_at": at,
        "last_seen_at": at,
        "device": "phone",
        "session_hash": "x",
    }
    for ttl, expected in ((now - 5, 0), (now + 60, 3)):
        items = [
            RateBucket(pk, keys.rate_sk("starts"), tokens=3, updated_at=at, ttl=ttl),
            UserConnection(pk, keys.connection_sk("conn_1"), ttl=ttl, **fields),
            Connection(keys.connection_pk(buyer.id), keys.METADATA, ttl=ttl, **fields),
        ]
        put_many(items)
        assert sum(type(item).find(item.pk, item.sk) is not None for item in items) == expected
        assert len(get_many((item.pk, item.sk) for item in items)) == expected
        assert len(query(pk, limit=10).items) == max(0, expected - 1)


def test_an_item_without_ttl_does_not_expire(buyer):
    draft = Draft(
        keys.user_pk(buyer.id), keys.draft_sk("thrd_1"), text="", version=1, updated_at=""
    )
    put_many([draft])
    assert Draft.find(draft.pk, draft.sk) is not None


# --- Reading and writing


def test_batch_reads_are_chunked_and_deduplicated(thread):
    items = [marker(thread, f"{number:03d}", int(time.time()) + 60) for number in range(130)]
    put_many(items)
    wanted = [(item.pk, item.sk) for item in items]
    found = get_many([*wanted, *wanted])
    assert sorted(item.sk for item in found) == sorted(item.sk for item in items)


def test_an_item_of_an_unknown_kind_is_omitted():
    assert parse_item({"pk": {"S": "NONE#1"}, "sk": {"S": "NONE"}}) is None


def test_every_item_is_parsed_as_its_own_kind():
    for kind in Item.kinds:
        # Only tabs of known names are parsed.
        named = "brief" if kind is TabSnapshot else ""
        raw = {"pk": {"S": f"{kind.pk_prefix}x"}, "sk": {"S": kind.sk_prefix + named}}
        assert type(parse_item(raw)) is kind


def test_items_are_parsed_like_by_pynamodb(thread, buyer):
    set_reaction(
        buyer, thread_id=thread, message_id=messages_of(thread)[0].id, reaction="👍", on=True
    )
    raws = connection().query(keys.thread_pk(thread))["Items"]
    raws.append({"pk": {"S": "THR#x"}, "sk": {"S": f"{keys.MESSAGES}x"}, "body": {"NULL": True}})
    for raw in raws:
        item = parse_item(raw)
        assert item.attribute_values == type(item)._instantiate(raw).attribute_values
    assert len({type(parse_item(raw)) for raw in raws}) >= 4
    with pytest.raises(AttributeDeserializationError):
        parse_item(raws[-1] | {"body": {"N": "1"}})


def test_a_cancelled_transaction_names_the_failed_operation_in_any_order(thread):
    """PynamoDB sorts the operations by kind: checks, deletes, puts, updates."""
    pk = keys.thread_pk(thread)
    one, two, three, four = (
        marker(thread, name, int(time.time()) + 60) for name in ("one", "two", "three", "four")
    )
    put_many([one, two, three, four])
    absent, present = SentMarker.pk.does_not_exist(), SentMarker.pk.exists()
    for wrong in ("check", "delete", "put", "update"):
        write = Transaction()
        conditions = dict.fromkeys(("check", "delete", "put", "update"), present)
        conditions[wrong] = absent
        write.update("update", four, Change(set={"seq": 9}), conditions["update"])
        write.put("put", three, conditions["put"])
        write.delete("delete", two, conditions["delete"])
        write.check("check", one, conditions["check"])
        with pytest.raises(TransactionCancelled) as cancelled:
            write.commit()
        assert list(cancelled.value.reasons) == [wrong]
        assert cancelled.value.failed(wrong)
    assert SentMarker.find(pk, four.sk).seq == 1
