"""Every kind of item has a size bound that no item within the product's limits exceeds."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from contracts.actions.groups import MAX_LEGS
from contracts.cards.types import TYPES
from core.refusals import Refusal
from files.names import MAX_NAME_CHARS as LONGEST_FILE_NAME
from moderation.models import MAX_TEXT_CHARS
from projects.panel import editable_tabs, large_tabs, trim
from projects.pending_actions import MAX_PENDING_ACTIONS as MOST_WAITS
from threads.actions.drafts import MAX_DRAFT_CHARS
from threads.actions.revisions import MAX_HISTORY_BYTES
from threads.dynamodb.change import Change
from threads.dynamodb.conditions import ConditionBuilder
from threads.dynamodb.sizes import KB, MAX_ITEM_BYTES, item_bytes
from threads.dynamodb.table import Item, put_many, serialized
from threads.dynamodb.transactions import Transaction
from threads.forms import MAX_ATTACHMENTS
from threads.models import (
    ArchiveDue,
    ArchiveLocation,
    ArchiveStart,
    BlockVersion,
    CardShadow,
    Connection,
    Draft,
    FormerParticipant,
    Invitation,
    LeftThread,
    Message,
    Pack,
    PackCheck,
    PackedThread,
    Pair,
    PairThread,
    Participant,
    PendingAction,
    Profile,
    RateBucket,
    SentMarker,
    StartMarker,
    TabEdit,
    TabSnapshot,
    Thread,
    UserConnection,
)
from threads.models.message import MAX_BODY_LENGTH, PREVIEW_LENGTH, REACTIONS
from threads.models.thread import MAX_PARTICIPANTS

# One character for every limit, and four bytes in UTF-8.
WIDE = "𝕏"
ID = "m" * 31
MOMENT = "2026-11-17T12:00:00.000Z"
NUMBER = 2**53
PK, SK = f"THR#{ID}#{ID}", f"X#{ID}#{ID}#{ID}"

PERSON = {"id": ID, "handle": ID, "name": WIDE * 60, "avatar": WIDE * 200, "timeZone": "z" * 64}
LAST = {
    "text": WIDE * PREVIEW_LENGTH,
    "authorText": WIDE * PREVIEW_LENGTH,
    "author": ID,
    "type": "asset",
}
HOLD = {"reason": WIDE * MAX_TEXT_CHARS, "case": ID}
FILE = {
    **{"kind": "image", "id": ID, "name": WIDE * LONGEST_FILE_NAME, "type": "t" * 100},
    **{"size": NUMBER, "width": NUMBER, "height": NUMBER, "band": 3},
}
WAIT = {"user": ID, "what": ID, "type": "reschedule", "since": MOMENT}
PEOPLE = [ID] * MAX_PARTICIPANTS
RECORD = {"id": ID, "note": "", "done": False}
documents = st.dictionaries(
    st.text(max_size=9),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda parts: st.lists(parts) | st.dictionaries(st.text(max_size=9), parts),
    ),
)


def records(max_bytes: int) -> dict[str, Any]:
    """Tab of that many bytes as JSON, the format in which its size is limited.

    Small values have the largest share of delimiters, which DynamoDB counts differently.
    """
    count = max_bytes // (large_tabs.measure_bytes(RECORD) + 2) - 1
    return {"records": [RECORD] * count}


def schema_bytes(schema: dict[str, Any], whole: dict[str, Any], path: str) -> int:
    """Maximum bytes of a field; fails for a field without a limit."""
    if "$ref" in schema:
        return schema_bytes(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole, path)
    if "anyOf" in schema:
        return max(schema_bytes(each, whole, path) for each in schema["anyOf"])
    match schema["type"]:
        case "object":
            fields = schema.get("properties", {}).items()
            return sum(len(name) + 4 + schema_bytes(each, whole, name) for name, each in fields)
        case "array":
            assert "maxItems" in schema, f"{path}: a list without a limit"
            return int(schema["maxItems"]) * (4 + schema_bytes(schema["items"], whole, path))
        case "string" if "format" in schema or "enum" in schema:
            return 40
        case "string":
            assert "maxLength" in schema, f"{path}: text without a limit"
            return 4 * int(schema["maxLength"])
        case _:
            return 20


def model_bytes(model: type[BaseModel] | None, *, without: tuple[str, ...] = ()) -> int:
    if model is None:
        return 0
    schema = model.model_json_schema()
    for name in without:
        schema.get("properties", {}).pop(name, None)
    return schema_bytes(schema, schema, model.__name__)


def card_bytes(name: str) -> int:
    """Payload and inputs of all transitions, except the two fields that the server provides."""
    kind = TYPES[name]
    provided = ("address", "user_agent")
    transitions = sum(
        model_bytes(transition.input_model, without=provided) for transition in kind.transitions
    )
    files = kind.files[1] * item_bytes({"file": {"M": {"": {"S": str(FILE) * 2}}}})
    return 2 * KB + model_bytes(kind.proposal) + transitions + files


PAYLOAD = {"": "p" * max(map(card_bytes, TYPES))}
STEP = {
    **{"version": NUMBER, "move": "m" * 20, "by": ID, "at": MOMENT, "from": "f" * 20},
    **{"to": "t" * 20, "why": WIDE * 1000},
}
MAX_STEPS = 8


def participant(kind: type[Participant]) -> Participant:
    return kind(
        PK,
        SK,
        role="seller",
        person=PERSON,
        other_side=PERSON,
        folder="requests",
        blocked_by={ID, ID + "2"},
        sending_hold=HOLD,
        subject=WIDE * 200,
        kind="project",
        last_message=LAST,
        last_message_at=MOMENT,
        last_seq=NUMBER,
        last_tally=NUMBER,
        waits_on=f"{ID}#{'s' * 12}",
        inbox_pk=PK,
        inbox_sk=SK,
        pending_pk=PK,
        pending_sk=SK,
        unread_pk=PK,
        unread_sk=SK,
    )


def largest_thread() -> Thread:
    return Thread(
        PK,
        SK,
        kind="project",
        subject=WIDE * 200,
        group_id=ID,
        leg_id=ID,
        buyer_id=ID,
        seller_id=ID,
        participants=PEOPLE,
        party_ids=[ID] * (MAX_LEGS + 1),
        roster_version=NUMBER,
        city=WIDE * 80,
        status="archived",
        safe_mode_required=True,
        created_at=MOMENT,
        updated_at=MOMENT,
        last_seq=NUMBER,
        last_tally=NUMBER,
        last_message_id=ID,
        last_message_at=MOMENT,
        last_message=LAST,
        rev=NUMBER,
        waiting_for=ID,
        waits=[WAIT] * (MOST_WAITS * MAX_PARTICIPANTS),
        lock_reason=WIDE * MAX_TEXT_CHARS,
        soft_block=HOLD,
        booking_pk=PK,
        booking_sk=SK,
    )


def message(**fields: Any) -> Message:
    return Message(
        PK,
        SK,
        seq=NUMBER,
        tally=NUMBER,
        client_id=ID,
        type="asset",
        body=WIDE * MAX_BODY_LENGTH,
        author_id=ID,
        receiver_ids=PEOPLE,
        reply_to=ID,
        reactions=dict.fromkeys(REACTIONS, PEOPLE),
        flags={"kind": "f" * KB},
        created_at=MOMENT,
        edited_at=MOMENT,
        removed_at=MOMENT,
        hidden_at=MOMENT,
        archive_ref=ID,
        **fields,
    )


def text_message() -> Message:
    earlier = {"body": WIDE * MAX_BODY_LENGTH, "since": MOMENT}
    versions = MAX_HISTORY_BYTES // (4 * MAX_BODY_LENGTH)
    return message(attachments=[FILE] * MAX_ATTACHMENTS, earlier_bodies=[earlier] * versions)


def card_message() -> Message:
    """A counter-proposal includes the payload of the card that it answers."""
    return message(
        action={"payload": PAYLOAD, "answers": {"payload": PAYLOAD}, "said": WIDE * 1000}
    )


def tab() -> TabSnapshot:
    whole = records(large_tabs.MAX_INLINE_BYTES)
    assert large_tabs.make_inline_snapshot("docs", whole) is whole
    return TabSnapshot(PK, SK, version=9, snapshot=whole, updated_by=ID, updated_at=MOMENT, rev=9)


def edit() -> TabEdit:
    """The newest version of the largest tab, after an edit of its longest field."""
    assert trim.MAX_RECORDED_BYTES >= editable_tabs.MAX_TAB_BYTES
    field = {"text": WIDE * editable_tabs.MAX_TEXT_CHARS, "by": ID, "at": MOMENT}
    changes = [{"part": ID, "before": field, "after": field}]
    values = {"snapshot": records(trim.MAX_RECORDED_BYTES), "changes": changes}
    return TabEdit(PK, SK, version=9, edited_by=ID, edited_at=MOMENT, **values)


def card() -> CardShadow:
    return CardShadow(
        PK,
        SK,
        card_id=ID,
        type="reschedule",
        payload=PAYLOAD,
        state="s" * 20,
        version=NUMBER,
        created_by=ID,
        history=[STEP] * MAX_STEPS,
        idempotency_keys=["k" * 64] * MAX_STEPS,
        rev=NUMBER,
    )


CONNECTED = {
    **{"user_id": ID, "connected_at": MOMENT, "last_seen_at": MOMENT},
    **{"device": WIDE * 60, "session_hash": "h" * 64},
}
LARGEST: dict[type[Item], Callable[[], Item]] = {
    Thread: largest_thread,
    Participant: lambda: participant(Participant),
    Invitation: lambda: participant(Invitation),
    FormerParticipant: lambda: FormerParticipant(
        PK, SK, person=PERSON, has_left=True, sending_hold=HOLD
    ),
    LeftThread: lambda: LeftThread(PK, SK, left_at=MOMENT),
    Message: text_message,
    SentMarker: lambda: SentMarker(PK, SK, message_id=ID, seq=NUMBER, hash="h" * 64),
    TabSnapshot: tab,
    TabEdit: edit,
    CardShadow: card,
    PendingAction: lambda: PendingAction(PK, SK, type="reschedule", created_at=MOMENT),
    Profile: lambda: Profile(
        PK,
        SK,
        handle=ID,
        display_name=WIDE * 60,
        avatar=WIDE * 200,
        verified=True,
        city=WIDE * 80,
        time_zone="z" * 64,
        last_seen_at=MOMENT,
        rev=NUMBER,
    ),
    BlockVersion: lambda: BlockVersion(PK, SK, version=NUMBER),
    Draft: lambda: Draft(PK, SK, text=WIDE * MAX_DRAFT_CHARS, version=NUMBER, updated_at=MOMENT),
    RateBucket: lambda: RateBucket(PK, SK, tokens=NUMBER, updated_at=MOMENT),
    StartMarker: lambda: StartMarker(PK, SK, thread_id=ID, hash="h" * 64),
    Pair: lambda: Pair(
        PK, SK, accepted=True, blocked_by={ID, ID + "2"}, requested_by=ID, requested_at=MOMENT
    ),
    PairThread: lambda: PairThread(PK, SK, created_at=MOMENT),
    Connection: lambda: Connection(PK, SK, **CONNECTED),
    UserConnection: lambda: UserConnection(PK, SK, **CONNECTED),
    ArchiveDue: lambda: ArchiveDue(PK, SK),
    ArchiveStart: lambda: ArchiveStart(PK, SK, day=MOMENT),
    ArchiveLocation: lambda: ArchiveLocation(
        PK, SK, archive_id=ID, described="d" * 1024, since=MOMENT
    ),
    Pack: lambda: Pack(PK, SK, first_message_id=ID, last_message_id=ID, held=NUMBER, size=NUMBER),
    PackCheck: lambda: PackCheck(PK, SK),
    PackedThread: lambda: PackedThread(PK, SK),
}
KINDS = pytest.mark.parametrize("kind", Item.kinds, ids=lambda kind: kind.__name__)


@KINDS
def test_the_largest_item_that_the_limits_allow_is_within_its_bound(kind):
    assert kind in LARGEST, "add its largest item to LARGEST"
    size = item_bytes(serialized(LARGEST[kind]()))
    assert size <= kind.max_bytes < MAX_ITEM_BYTES


def test_the_largest_card_is_within_the_bound_of_its_message():
    assert item_bytes(serialized(card_message())) <= Message.max_bytes


@pytest.mark.parametrize("name", TYPES)
def test_every_field_of_a_card_has_a_limit(name):
    assert card_bytes(name) <= CardShadow.max_bytes


@pytest.mark.parametrize("name", TYPES)
def test_the_number_of_transitions_of_a_card_is_bounded(name):
    """The history is bounded, because no transition returns to an earlier state."""
    kind = TYPES[name]
    transitions = [transition for transition in kind.transitions if not transition.closes]
    edges = {(source, transition.to) for transition in transitions for source in transition.sources}

    def longest(state: str, seen: tuple[str, ...]) -> int:
        assert state not in seen, f"{name}: {state} is reached twice"
        return 1 + max((longest(to, (*seen, state)) for at, to in edges if at == state), default=0)

    # Plus the final transition, and a second signature during which the card stays pending.
    assert longest(kind.first, ()) + 2 <= MAX_STEPS


def oversized(kind: type[Item]) -> Item:
    item = LARGEST[kind]()
    item.pk = f"THR#{'x' * kind.max_bytes}"
    return item


@KINDS
def test_an_item_beyond_its_bound_is_refused_before_a_write(kind):
    beyond, write = oversized(kind), Transaction()
    for put in (lambda: write.put("item", beyond), lambda: put_many([beyond])):
        with pytest.raises(Refusal) as refusal:
            put()
        assert refusal.value.code == "TOO_LARGE"
    assert write.items == []


def test_a_change_beyond_the_bound_is_refused_before_a_write():
    write = Transaction()
    change = Change(set={"text": "x" * (Draft.max_bytes + 1)})
    with pytest.raises(Refusal):
        write.update("draft", Draft(PK, SK), change)
    assert write.items == []


def test_a_change_at_the_bound_is_accepted():
    """Its JSON is longer than the bound, so its exact size counts; conditions do not."""
    write, text = Transaction(), "x" * Draft.max_bytes
    condition = ConditionBuilder(Draft).equal(text=text)
    write.update("draft", Draft(PK, SK), Change(set={"text": text}), condition)
    assert len(write.items) == 1


@given(documents)
def test_json_is_longer_than_what_dynamodb_counts(document):
    """So an item whose JSON is within the bound needs no exact count."""
    raw = serialized(
        TabEdit(PK, SK, version=1, snapshot=document, edited_by=ID, edited_at=MOMENT, changes=[])
    )
    assert item_bytes(raw) < len(orjson.dumps(raw))


def test_a_kind_without_a_bound_cannot_be_declared():
    with pytest.raises(TypeError, match="bound"):
        type("Unbounded", (Item,), {"pk_prefix": "X#"})
    assert "Unbounded" not in {kind.__name__ for kind in Item.kinds}


@pytest.mark.storage
def test_the_engine_counts_bytes_like_the_product(thread):
    """An item at the bound is stored; it would be refused if our count were too low."""
    item = Draft(f"USER#{ID}", f"DRAFT#{thread}", text="", version=1, updated_at=MOMENT)
    item.text = "x" * (Draft.max_bytes - item_bytes(serialized(item)))
    assert item_bytes(serialized(item)) == Draft.max_bytes
    put_many([item])
    stored = Draft.find(item.pk, item.sk)
    assert stored is not None
    assert stored.text == item.text
