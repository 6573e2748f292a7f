"""docs/data-model.md says of the table what the models say."""

import re

import pytest

from tests.docs import pages
from threads import models
from threads.dynamodb import keys
from threads.dynamodb.table import Item

PAGE = pages.read("data-model.md")
ITEMS = pages.rows(pages.section(PAGE, "## Items"))
A_MESSAGE = "msg_01JZZZZZZZZZZZZZZZZZZZZZZZ"
PAIR = keys.pair_pk("<upper user>", "<lower user>")

# Made by the same functions as the keys that are stored.
KEYS = {
    models.Thread: (keys.thread_pk("<thread>"), keys.THREAD),
    models.TabSnapshot: (keys.thread_pk("<thread>"), keys.tab_sk("<tab>")),
    models.TabEdit: (
        keys.thread_pk("<thread>"),
        keys.edit_sk("<tab>", 0).replace("00000000", "<version>"),
    ),
    models.FormerParticipant: (
        keys.thread_pk("<thread>"),
        keys.former_participant_sk("<user>"),
    ),
    models.Invitation: (keys.thread_pk("<thread>"), keys.invitation_sk("<user>")),
    models.Participant: (keys.thread_pk("<thread>"), keys.participant_sk("<user>")),
    models.Message: (
        keys.thread_pk("<thread>"),
        keys.message_sk(A_MESSAGE)
        .replace(A_MESSAGE, "<message>")
        .replace(keys.iso(keys.message_time(A_MESSAGE)), "<time>"),
    ),
    models.SentMarker: (keys.thread_pk("<thread>"), keys.sent_marker_sk("<author>", "<client id>")),
    models.Pack: (keys.thread_pk("<thread>"), keys.pack_sk("<pack>")),
    models.CardShadow: (keys.thread_pk("<thread>"), keys.card_sk("<message>")),
    models.Pair: (PAIR, keys.STATE),
    models.PairThread: (PAIR, keys.pair_thread_sk("<thread>")),
    models.Profile: (keys.user_pk("<user>"), keys.PROFILE),
    models.BlockVersion: (keys.user_pk("<user>"), keys.BLOCKS),
    models.StartMarker: (keys.user_pk("<user>"), keys.start_marker_sk("<client id>")),
    models.PendingAction: (keys.user_pk("<user>"), keys.pending_action_sk("<thread>", "<what>")),
    models.Draft: (keys.user_pk("<user>"), keys.draft_sk("<thread>")),
    models.LeftThread: (keys.user_pk("<user>"), keys.left_thread_sk("<thread>")),
    models.RateBucket: (keys.user_pk("<user>"), keys.rate_sk("<what>")),
    models.UserConnection: (keys.user_pk("<user>"), keys.connection_sk("<connection>")),
    models.Connection: (keys.connection_pk("<connection>"), keys.METADATA),
    models.ArchiveDue: (
        re.sub(r"\d\d$", "<shard>", keys.archive_pk("<day>", "<thread>")),
        keys.pair_thread_sk("<thread>"),
    ),
    models.ArchiveStart: (keys.ARCHIVING, keys.STATE),
    models.ArchiveLocation: (keys.ARCHIVING, keys.LOCATION),
    models.PackedThread: (
        re.sub(r"\d\d$", "<shard>", keys.packed_pk(0)),
        keys.pair_thread_sk("<thread>"),
    ),
    models.PackCheck: (
        re.sub(r"\d\d$", "<shard>", keys.pack_check_pk(0)),
        keys.pack_check_sk("<thread>", "<pack>", "<check>"),
    ),
}
ON_EVERY_ITEM = {"pk", "sk", "ttl"}


def name_of(kind: type[Item]) -> str:
    return re.sub(r"(?<=.)([A-Z])", lambda letter: f" {letter[0].lower()}", kind.__name__)


def test_lists_every_item_with_its_keys_and_no_other():
    listed = {row["item"]: (pages.only(row["pk"]), pages.only(row["sk"])) for row in ITEMS}
    assert len(listed) == len(ITEMS)
    assert listed == {name_of(kind): KEYS[kind] for kind in Item.kinds}


def test_describes_the_attributes_of_every_item_and_of_no_other():
    described = pages.headings(pages.section(PAGE, "## Attributes"))
    assert described == [row["item"] for row in ITEMS]


@pytest.mark.parametrize("kind", Item.kinds, ids=name_of)
def test_lists_every_attribute_with_its_type(kind):
    # A kind that extends another one has its attributes, which are listed once.
    base = kind.__base__ if kind.__base__ in Item.kinds else kind
    listed = {
        pages.only(row["attribute"]): row["type"]
        for row in pages.rows(pages.section(PAGE, f"### {name_of(base)}"))
    }
    stored = {
        attribute.attr_name: attribute.attr_type + (", optional" if attribute.null else "")
        for attribute in kind.get_attributes().values()
        if attribute.attr_name not in ON_EVERY_ITEM
    }
    assert listed == stored


def test_lists_every_index_with_its_keys_and_what_it_projects():
    listed = {
        pages.only(row["index"]): (
            pages.quoted(row["partition key"])[0],
            pages.quoted(row["sort key"])[0],
            pages.quoted(row["projects"]) or row["projects"],
        )
        for row in pages.rows(pages.section(PAGE, "## Indexes"))
    }
    schema = Item._get_schema()["global_secondary_indexes"]
    assert listed == {index["index_name"]: _shape(index) for index in schema}


def _shape(index) -> tuple:
    names = {key["KeyType"]: key["AttributeName"] for key in index["key_schema"]}
    projected = index["projection"].get("NonKeyAttributes", "keys only")
    return names["HASH"], names["RANGE"], projected


def test_spells_the_keys_of_the_indexes():
    at, thread = "<lastMessageAt>", "<thread>"
    listed = {
        pages.only(row["index"]): (
            pages.quoted(row["partition key"])[1:],
            pages.quoted(row["sort key"])[1:],
        )
        for row in pages.rows(pages.section(PAGE, "## Indexes"))
    }
    assert listed == {
        "GSI1": (
            [keys.inbox_pk("<user>", "inbox"), keys.inbox_pk("<user>", "<folder>")],
            [keys.inbox_sk(at, thread, pinned=False), keys.inbox_sk(at, thread, pinned=True)],
        ),
        "GSI2": ([keys.leg_pk("<leg>"), keys.group_pk("<group>")], ["<createdAt>"]),
        "GSI3": ([keys.pending_pk("<user>")], [keys.thread_sk(thread)]),
        "GSI4": ([keys.unread_pk("<user>")], [keys.thread_sk(thread)]),
    }


def test_the_sort_keys_come_in_the_order_that_it_shows():
    shown = pages.rows(pages.section(PAGE, "## Order of the sort keys"))
    in_page = [name for row in shown for name in pages.quoted(row["sort key"])]
    of_thread = [kind.sk_prefix for kind in Item.kinds if kind.pk_prefix == keys.thread_pk("")]
    assert in_page == sorted(of_thread, reverse=True)
    below = [
        name for row in shown if row["comes"] == "never" for name in pages.quoted(row["sort key"])
    ]
    assert below == [name for name in in_page if name < keys.MESSAGES]


SOURCES = [
    "The single-table chat article",
    "The blueprint B.1",
    "The connection-management article",
    "The messages-table schema",
    "The pending-deliveries table",
]


def test_says_of_all_five_sources_what_became_of_them():
    rows = pages.rows(pages.section(PAGE, "## Sources"))
    assert list(dict.fromkeys(row["source"] for row in rows)) == SOURCES
    assert all(row["theirs"] and row["ours"] for row in rows)


def test_the_sizes_are_those_of_the_models():
    rows = pages.rows(pages.section(PAGE, "## Sizes"))
    listed = {row["item"].replace(" ", "").lower(): row["at most"] for row in rows}
    declared = {kind.__name__.lower(): f"{kind.max_bytes // 1024} KB" for kind in Item.kinds}
    assert listed == declared
