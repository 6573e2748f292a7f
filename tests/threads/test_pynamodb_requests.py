"""Requests built by the product equal those of PynamoDB."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pynamodb.expressions.update import Action
from pynamodb.transactions import TransactWrite
from ulid import ULID

from tests.threads.conftest import messages_of, row, thread_item
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.conditions import ConditionBuilder
from threads.dynamodb.expressions import serialized
from threads.dynamodb.store import Store
from threads.dynamodb.table import InboxIndex, Item, connection, count, query
from threads.dynamodb.transactions import Transaction
from threads.models import Message, Participant

THREAD, PERSON = f"thrd_{'0' * 26}", f"usr_{'0' * 26}"
TEXTS = ("subject", "last_read_message_id", "inbox_sk", "folder")
NUMBERS = ("last_seq", "last_tally", "own_since_read", "delivered_seq")


def participant() -> Participant:
    return Participant(keys.thread_pk(THREAD), keys.participant_sk(PERSON))


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Each attribute is set, set if absent, added to, removed or unchanged."""
    change = Change()
    for name in (*TEXTS, *NUMBERS):
        values = st.text(min_size=1, max_size=9) if name in TEXTS else st.integers(0, 10**9)
        operation = draw(st.sampled_from(["set", "if absent", "add", "remove", "stays"]))
        if operation == "set":
            change.set[name] = draw(values)
        elif operation == "if absent":
            change.set_if_absent[name] = draw(values)
        elif operation == "add" and name in NUMBERS:
            change.add[name] = draw(values)
        elif operation == "remove":
            change.remove += (name,)
    if not (change.set or change.set_if_absent or change.add or change.remove):
        change.set["pinned"] = True
    return change


def actions(change: Change) -> list[Action]:
    """The same change as PynamoDB actions."""

    def attribute(name: str) -> Any:
        return getattr(Participant, name)

    return [
        *(attribute(name).set(value) for name, value in change.set.items()),
        *(
            attribute(name).set(attribute(name) | value)
            for name, value in change.set_if_absent.items()
        ),
        *(attribute(name).add(value) for name, value in change.add.items()),
        *(attribute(name).remove() for name in change.remove),
    ]


def plain(request: dict[str, Any]) -> dict[str, Any]:
    """Replaces the placeholders by their names and values, since their numbering may differ."""
    names = request.pop("ExpressionAttributeNames", {})
    values = request.pop("ExpressionAttributeValues", {})
    marks = {**names, **{mark: str(value) for mark, value in values.items()}}
    for part in ("UpdateExpression", "ConditionExpression"):
        for mark in sorted(marks, key=len, reverse=True):
            if part in request:
                request[part] = request[part].replace(mark, f"«{marks[mark]}»")
    return request


@given(change=changes(), is_conditional=st.booleans())
def test_an_update_equals_that_of_pynamodb(change, is_conditional):
    condition = None
    if is_conditional:
        condition = (Participant.last_seq == 7) & (Participant.folder == "inbox")
    ours, theirs = Transaction(), TransactWrite(connection=connection().connection)
    ours.update("row", participant(), change, condition)
    theirs.update(participant(), actions(change), condition=condition, return_values="ALL_OLD")
    (mine,), (yours,) = [each["Update"] for each in ours.items], theirs._update_items
    assert plain(mine) == plain(dict(yours))


def test_put_check_and_delete_equal_those_of_pynamodb():
    person = participant()
    person.folder, person.last_seq, person.person = "inbox", 3, {"id": PERSON, "tags": [1, None]}
    ours, theirs = Transaction(), TransactWrite(connection=connection().connection)
    exists = Participant.pk.exists()
    ours.check("a", person, exists)
    theirs.condition_check(Participant, person.pk, person.sk, condition=exists)
    ours.delete("b", person, exists)
    theirs.delete(person, condition=exists)
    # Like PynamoDB, the product refuses an item without its required attributes.
    message = Message(keys.thread_pk(THREAD), keys.message_sk(f"msg_{ULID()}"))
    for transaction in (lambda: ours.put("c", message), lambda: theirs.save(message)):
        with pytest.raises(ValueError, match="None|has no"):
            transaction()
    checks, deletes = theirs._condition_check_items, theirs._delete_items
    wanted = [{"ConditionCheck": dict(checks[0])}, {"Delete": dict(deletes[0])}]
    for mine, yours in zip(ours.items, wanted, strict=True):
        ((kind, request),) = mine.items()
        assert plain(request) == plain(yours[kind])


def test_a_condition_equals_that_of_pynamodb():
    """Every kind of condition, joined with one of PynamoDB."""
    ours = ConditionBuilder(Participant).equal(last_seq=7, pinned=False).differ(folder="spam")
    ours.free(last_tally=3).over(blocked_until="2026").absent("request_state", "blocked_by")
    blocked_until, other = Participant.blocked_until, Participant.pk.exists()
    theirs = (
        (Participant.last_seq == 7)
        & (Participant.pinned == False)  # noqa: E712
        & (Participant.folder != "spam")
        & (Participant.pk.does_not_exist() | (Participant.last_tally <= 3))
        & (blocked_until.does_not_exist() | (blocked_until <= "2026"))
        & Participant.request_state.does_not_exist()
        & Participant.blocked_by.does_not_exist()
    )
    expressions = []
    for condition in (ours & other, theirs & other):
        transaction = Transaction()
        transaction.update("row", participant(), Change(set={"folder": "inbox"}), condition)
        request = plain(transaction.items[0]["Update"])
        expressions.append(request["ConditionExpression"].replace("(", "").replace(")", ""))
    assert expressions[0] == expressions[1]
    assert expressions[0].count(" OR ") == 2


def test_a_condition_has_no_redundant_parentheses():
    """DynamoDB refuses redundant parentheses."""
    one, two = (
        ConditionBuilder(Participant).over(last_tally=3),
        ConditionBuilder(Participant).free(last_tally=3),
    )
    assert one.serialize({}, {}) == "(attribute_not_exists (#0) OR #0 <= :0)"
    assert two.serialize({}, {}) == "(attribute_not_exists (#1) OR #0 <= :0)"


def test_serialized_items_equal_those_of_pynamodb(thread, buyer):
    for item in (thread_item(thread), row(thread, buyer), *messages_of(thread)):
        assert serialized(item) == item.serialize()


START = {"pk": {"S": "THR#1"}, "sk": {"S": "MSG#1"}}


@pytest.fixture
def requested(monkeypatch) -> list[Any]:
    """The Queries that would be sent."""
    requests: list[Any] = []

    def record(store: Store, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        requests.append((operation, request))
        return {"Items": [], "Count": 0}

    monkeypatch.setattr(Store, "_make_api_call", record)
    return requests


@pytest.mark.parametrize("where", [None, Item.sk.startswith("MSG#"), Item.sk.between("a", "b")])
@pytest.mark.parametrize("after", [None, START])
@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("consistent", [False, True])
def test_a_query_equals_that_of_pynamodb(where, after, newest_first, consistent, requested):
    order = {"newest_first": newest_first, "consistent": consistent}
    query("THR#1", where, limit=7, after=after, **order)
    theirs = {"scan_index_forward": not newest_first, "consistent_read": consistent}
    connection().query(
        "THR#1", range_key_condition=where, limit=7, exclusive_start_key=after, **theirs
    )
    assert requested[0] == requested[1]


@pytest.mark.parametrize("where", [None, InboxIndex.sk >= "2026"])
def test_a_query_of_an_index_equals_that_of_pynamodb(where, requested):
    index = {"range_key_condition": where, "limit": 7, "index_name": "GSI1"}
    query("USR#1", where, limit=7, index=Item.inbox)
    connection().query("USR#1", **index, scan_index_forward=True)
    count("USR#1", where, limit=7, index=Item.inbox)
    connection().query("USR#1", **index, select="COUNT")
    assert requested[0] == requested[1]
    assert requested[2] == requested[3]
