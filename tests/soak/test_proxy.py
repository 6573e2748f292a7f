"""The proxy injects its faults on a real engine, and botocore recognises them."""

import os
from collections.abc import Iterator
from urllib.parse import urlsplit
from uuid import uuid4

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from tests.soak import proxy as proxies
from tests.soak.background import Background
from tests.soak.proxy import Proxy


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    engine = urlsplit(os.environ["PARLEY_DYNAMODB_ENDPOINT"]).port or 0
    with Background() as background:
        proxy = Proxy(engine, seed=1)
        background.run(proxy.start())
        yield proxy
        background.run(proxy.stop())


@pytest.fixture
def table(proxy):
    """A separate table, and a client without retries, as in the service."""
    name = f"proxy_{uuid4().hex[:12]}"
    client = _client(proxy)
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "owner", "AttributeType": "S"},
        ],
        GlobalSecondaryIndexes=[
            {
                "IndexName": "GSI1",
                "KeySchema": [{"AttributeName": "owner", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "ALL"},
            }
        ],
    )
    yield _Table(client, name)
    proxy.clear()
    client.delete_table(TableName=name)


def _client(proxy: Proxy):
    return botocore.session.get_session().create_client(
        "dynamodb",
        endpoint_url=f"http://127.0.0.1:{proxy.port}",
        region_name="eu-central-1",
        aws_access_key_id="embedded",
        aws_secret_access_key="embedded",
        config=Config(retries={"total_max_attempts": 1}, read_timeout=1, proxies={}),
    )


class _Table:
    def __init__(self, client, name: str) -> None:
        self.client, self.name = client, name

    def put(self, pk: str) -> None:
        item = {"pk": {"S": pk}, "owner": {"S": "mara"}}
        self.client.put_item(TableName=self.name, Item=item)

    def put_in_transaction(self, *pks: str) -> None:
        puts = [{"Put": {"TableName": self.name, "Item": {"pk": {"S": pk}}}} for pk in pks]
        self.client.transact_write_items(TransactItems=puts)

    def has(self, pk: str) -> bool:
        return "Item" in self.client.get_item(TableName=self.name, Key={"pk": {"S": pk}})

    def list_by_index(self) -> list[str]:
        found = self.client.query(
            TableName=self.name,
            IndexName="GSI1",
            KeyConditionExpression="#o = :o",
            ExpressionAttributeNames={"#o": "owner"},
            ExpressionAttributeValues={":o": {"S": "mara"}},
        )
        return sorted(item["pk"]["S"] for item in found["Items"])


def test_forwards_requests_unchanged(table):
    table.put("one")
    assert table.has("one")
    assert not table.has("two")


@pytest.mark.parametrize(
    ("fault", "codes"),
    [
        ("throttled", {"ProvisionedThroughputExceededException", "ThrottlingException"}),
        ("broken", {"InternalServerError"}),
    ],
)
def test_a_refused_write_is_not_stored(proxy, table, fault, codes):
    proxy.begin(fault, chance=1, seconds=60)
    with pytest.raises(ClientError) as refused:
        table.put("one")
    assert refused.value.response["Error"]["Code"] in codes
    proxy.clear()
    assert not table.has("one")
    assert proxy.happened[fault] == 1


def test_a_cancelled_transaction_names_the_conflicting_items(proxy, table):
    proxy.begin("conflict", chance=1, seconds=60)
    with pytest.raises(table.client.exceptions.TransactionCanceledException) as refused:
        table.put_in_transaction("one", "two", "three")
    reasons = [reason["Code"] for reason in refused.value.response["CancellationReasons"]]
    assert len(reasons) == 3
    assert set(reasons) == {"None", "TransactionConflict"}
    assert not table.has("one")


def test_drops_the_connection_after_the_write(proxy, table):
    proxy.begin("cut", chance=1, seconds=60)
    with pytest.raises(ConnectionClosedError):
        table.put("one")
    assert table.has("one")


def test_responds_after_the_timeout_of_the_client(proxy, table, monkeypatch):
    monkeypatch.setattr(proxies, "MAX_DELAY_SECONDS", 30.0)
    proxy.begin("slow", chance=1, seconds=60)
    with pytest.raises(ReadTimeoutError):
        _put_many(table)


def _put_many(table: _Table) -> None:
    for number in range(20):
        table.put(str(number))


def test_returns_a_stale_index_and_the_current_table(proxy, table):
    table.put("one")
    assert table.list_by_index() == ["one"]
    proxy.begin("stale", chance=1, seconds=60)
    table.put("two")
    assert table.list_by_index() == ["one"]
    assert table.has("two")
    proxy.clear()
    assert table.list_by_index() == ["one", "two"]


def test_discards_index_responses_that_are_too_old(proxy, table, monkeypatch):
    table.put("one")
    assert table.list_by_index() == ["one"]
    monkeypatch.setattr(proxies, "MAX_STALE_SECONDS", 0.0)
    proxy.begin("stale", chance=1, seconds=60)
    table.put("two")
    assert table.list_by_index() == ["one", "two"]


def test_a_fault_ends_after_its_duration(proxy, table):
    proxy.begin("broken", chance=1, seconds=0)
    table.put("one")
    assert table.has("one")
