"""Live connections in the table: lookup in both directions, expiry, and last-seen times."""

from datetime import UTC, datetime, timedelta

import time_machine
from asgiref.sync import async_to_sync

from accounts.models import add_profile_entry
from core.outbox import processing
from tests.threads.conftest import make_person
from threads.actions.connections import (
    OpenConnection,
    list_connections,
    record_last_seen,
    write_connections,
)
from threads.cleanup import delete_expired_items
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import connection
from threads.models import Connection, Profile, UserConnection
from threads.queries import list_last_seen

ID = "conn_01JZZZZZZZZZZZZZZZZZZZZZZZ"
SINCE = "2026-05-04T09:30:00.125Z"


def record(user, connection_id: str = ID, session: str = "a hash") -> None:
    opened = OpenConnection(user.id, connection_id, "Firefox on Linux", session, SINCE)
    async_to_sync(write_connections)([opened], [])


def remove(user, connection_id: str = ID) -> None:
    async_to_sync(write_connections)([], [(user.id, connection_id)])


def see(user) -> None:
    async_to_sync(record_last_seen)(user.id)


def both(user, connection_id: str = ID) -> tuple[Connection | None, UserConnection | None]:
    return (
        Connection.find(keys.connection_pk(connection_id), keys.METADATA),
        UserConnection.find(keys.user_pk(user.id), keys.connection_sk(connection_id)),
    )


def later(**length: float) -> time_machine.travel:
    return time_machine.travel(datetime.now(UTC) + timedelta(**length))


def raw(pk: str, sk: str) -> dict | None:
    return connection().get_item(pk, sk).get("Item")


def test_a_connection_is_found_by_its_id_and_by_its_user(buyer):
    record(buyer)
    for found in both(buyer):
        assert (found.user_id, found.device) == (buyer.id, "Firefox on Linux")
        assert (found.session_hash, found.connected_at) == ("a hash", SINCE)
        assert found.last_seen_at > SINCE
        assert 24 * 3600 - 60 < found.ttl - datetime.now(UTC).timestamp() <= 24 * 3600
    assert [one.sk for one in list_connections(buyer)] == [keys.connection_sk(ID)]


def test_a_closed_connection_is_removed_in_both_directions(buyer):
    record(buyer)
    remove(buyer)
    assert both(buyer) == (None, None)
    assert list_connections(buyer) == []
    # Removal is idempotent.
    remove(buyer)


def test_a_refresh_moves_last_seen_and_keeps_connected_at(buyer):
    record(buyer)
    before = both(buyer)
    with later(hours=1):
        record(buyer)
        for found, first in zip(both(buyer), before, strict=True):
            assert found.connected_at == first.connected_at == SINCE
            assert found.last_seen_at > first.last_seen_at
            assert 3500 <= found.ttl - first.ttl <= 3700


def test_a_connection_expires_after_a_day_without_refresh(buyer):
    record(buyer)
    with later(hours=24, seconds=5):
        assert both(buyer) == (None, None)
        assert list_connections(buyer) == []
        assert raw(keys.connection_pk(ID), keys.METADATA)
        delete_expired_items()
        assert raw(keys.connection_pk(ID), keys.METADATA) is None
        assert raw(keys.user_pk(buyer.id), keys.connection_sk(ID)) is None


def test_connections_are_listed_per_user(buyer, seller):
    ids = [f"conn_01JZZZZZZZZZZZZZZZZZZZZZZ{letter}" for letter in "ABC"]
    for connection_id in ids:
        record(buyer, connection_id)
    record(seller)
    assert [one.sk.removeprefix("CONNECTION#") for one in list_connections(buyer)] == ids
    assert len(list_connections(seller)) == 1


def test_request_cost_of_a_connection(buyer):
    with count_requests() as requests:
        record(buyer)
        list_connections(buyer)
    assert requests == ["BatchWriteItem", "Query"]
    with count_requests() as requests:
        remove(buyer)
    assert requests == ["BatchWriteItem"]


def test_many_connections_share_their_requests(buyer, seller):
    opened = [
        OpenConnection(user.id, f"conn_{number:026d}", "Firefox", "a hash", SINCE)
        for user in (buyer, seller)
        for number in range(15)
    ]
    closed = [(one.user_id, one.connection_id) for one in opened]
    for batch in ((opened, []), ([], closed)):
        with count_requests() as requests:
            async_to_sync(write_connections)(*batch)
        # Thirty connections are sixty items, of which a request can contain 25.
        assert requests == ["BatchWriteItem"] * 3
    assert list_connections(buyer) == list_connections(seller) == []


# --- Last seen


def test_last_seen_is_rounded_to_the_minute(buyer, seller):
    processing.process_due()
    see(buyer)
    at = Profile.find(keys.user_pk(buyer.id), keys.PROFILE).last_seen_at
    assert list_last_seen([buyer.id, seller.id]) == {buyer.id: f"{at[:16]}Z"}


def test_a_profile_change_keeps_last_seen(buyer):
    processing.process_due()
    see(buyer)
    before = list_last_seen([buyer.id])
    buyer.display_name = "Beatrix"
    buyer.save()
    processing.process_entry(add_profile_entry(buyer))
    assert Profile.find(keys.user_pk(buyer.id), keys.PROFILE).display_name == "Beatrix"
    assert list_last_seen([buyer.id]) == before


def test_last_seen_creates_no_profile(db):
    user = make_person("Nil")
    Profile(keys.user_pk(user.id), keys.PROFILE).delete()
    see(user)
    assert Profile.find(keys.user_pk(user.id), keys.PROFILE) is None
    assert list_last_seen([user.id]) == {}
