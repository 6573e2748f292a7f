"""Requests built by the product equal those of PynamoDB."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.update import Action
from pynamodb.models import Model
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
OTHERS = ("pinned", "last_message", "blocked_by")
DOCUMENTS = st.dictionaries(
    st.text(max_size=3),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda parts: st.lists(parts) | st.dictionaries(st.text(max_size=3), parts),
        max_leaves=5,
    ),
)


def participant() -> Participant:
    return Participant(keys.thread_pk(THREAD), keys.participant_sk(PERSON))


def values_of(name: str) -> st.SearchStrategy[Any]:
    if name in TEXTS:
        return st.text(min_size=1, max_size=9)
    if name in NUMBERS:
        return st.integers(0, 10**9)
    return {
        "pinned": st.booleans(),
        "last_message": DOCUMENTS,
        "blocked_by": st.sets(st.text(min_size=1, max_size=9), min_size=1, max_size=1),
    }[name]


@st.composite
def changes(draw: st.DrawFn) -> Change:
    """Each attribute is set, set if absent, added to, removed or unchanged."""
    change = Change()
    for name in (*TEXTS, *NUMBERS, *OTHERS):
        values = values_of(name)
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
    marks = request.pop("ExpressionAttributeNames", {})
    marks = marks | request.pop("ExpressionAttributeValues", {})
    for part in ("UpdateExpression", "ConditionExpression"):
        if part in request:
            request[part] = re.sub(r"[#:]\d+", lambda mark: f"«{marks[mark[0]]}»", request[part])
    return request


@st.composite
def conditions(draw: st.DrawFn) -> tuple[Condition | None, Condition | None]:
    """A condition for templates, of one or two builders, and the same one of PynamoDB."""
    ours: Condition | None = None
    theirs: Condition | None = None
    for _ in range(draw(st.integers(0, 2))):
        builder = ConditionBuilder(Participant)
        for operation in draw(st.lists(st.sampled_from(list(CONDITIONS)), min_size=1, max_size=4)):
            name = draw(st.sampled_from((*TEXTS, *NUMBERS)))
            value = draw(values_of(name))
            part = CONDITIONS[operation](getattr(Participant, name), value)
            theirs = part if theirs is None else theirs & part
            add = getattr(builder, operation)
            _ = add(name) if operation == "absent" else add(**{name: value})
        ours = builder if ours is None else ours & builder
    return ours, theirs


CONDITIONS: dict[str, Callable[[Any, Any], Condition]] = {
    "equal": lambda attribute, value: attribute == value,
    "differ": lambda attribute, value: attribute != value,
    "over": lambda attribute, value: attribute.does_not_exist() | (attribute <= value),
    "free": lambda attribute, value: Participant.pk.does_not_exist() | (attribute <= value),
    "absent": lambda attribute, value: attribute.does_not_exist(),
}


def updates(change: Change, ours: Condition | None, theirs: Condition | None) -> list[Any]:
    mine, yours = Transaction(), TransactWrite(connection=connection().connection)
    mine.update("row", participant(), change, ours)
    yours.update(participant(), actions(change), condition=theirs, return_values="ALL_OLD")
    return [plain(mine.items[0]["Update"]), plain(dict(yours._update_items[0]))]


@given(change=changes(), is_conditional=st.booleans())
def test_an_update_equals_that_of_pynamodb(change, is_conditional):
    condition = None
    if is_conditional:
        condition = (Participant.last_seq == 7) & (Participant.folder == "inbox")
    mine, yours = updates(change, condition, condition)
    assert mine == yours


@given(change=changes(), both=conditions())
def test_an_update_from_a_template_equals_that_of_pynamodb(change, both):
    """Each example is built twice: the second time from a template that exists already."""
    for _ in range(2):
        requests = updates(change, *both)
        for request in requests:
            if "ConditionExpression" in request:
                # PynamoDB nests what a builder puts side by side.
                expression = request["ConditionExpression"]
                request["ConditionExpression"] = expression.replace("(", "").replace(")", "")
        assert requests[0] == requests[1]


def test_a_template_keeps_nothing_of_a_request():
    """Requests of the same shape have values of their own."""
    written = Transaction()
    for number in (1, 2):
        condition = ConditionBuilder(Participant).equal(last_seq=number)
        written.update("row", participant(), Change(set={"last_seq": number + 1}), condition)
    requests = [each["Update"] for each in written.items]
    assert [each["ExpressionAttributeValues"] for each in requests] == [
        {":0": {"N": "2"}, ":1": {"N": "1"}},
        {":0": {"N": "3"}, ":1": {"N": "2"}},
    ]
    assert requests[0]["UpdateExpression"] == requests[1]["UpdateExpression"]


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


@pytest.mark.parametrize("kind", Item.kinds, ids=lambda kind: kind.__name__)
def test_a_new_item_equals_that_of_pynamodb(kind):
    ours, theirs = kind("THR#a", "X#b", ttl=7), kind.__new__(kind)
    Model.__init__(theirs, "THR#a", "X#b", ttl=7)
    assert ours.attribute_values == theirs.attribute_values
    with pytest.raises(ValueError, match="no attribute unknown"):
        kind("THR#a", "X#b", unknown=1)
