import time
from uuid import uuid4

from tests.threads.botocore_client import botocore_client
from threads.cleanup import delete_expired_items
from threads.dynamodb import keys
from threads.dynamodb.table import connection, query
from threads.models import RateBucket


def bucket(ttl: int) -> RateBucket:
    item = RateBucket(
        keys.user_pk(f"usr_{uuid4().hex}"), keys.rate_sk("test"), tokens=1, updated_at="", ttl=ttl
    )
    item.save()
    return item


def is_in_table(item: RateBucket) -> bool:
    return "Item" in connection().get_item(item.pk, item.sk)


def test_expired_items_are_invisible_and_deleted_by_the_cleanup():
    old, young = bucket(int(time.time()) - 5), bucket(int(time.time()) + 500)

    assert RateBucket.find(old.pk, old.sk) is None
    assert query(old.pk, limit=5).items == []
    assert is_in_table(old)

    assert delete_expired_items() >= 1
    assert not is_in_table(old)
    assert is_in_table(young)


def test_the_table_has_time_to_live_enabled():
    answer = botocore_client().describe_time_to_live(TableName=connection().table_name)
    assert answer["TimeToLiveDescription"]["TimeToLiveStatus"] in ("ENABLED", "ENABLING")
    assert answer["TimeToLiveDescription"]["AttributeName"] == "ttl"
