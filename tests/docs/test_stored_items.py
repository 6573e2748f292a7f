"""docs/data-model.md says what a conversation leaves in the table, and what nothing writes yet."""

import io
import re
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from accounts.models import User
from core.outbox import processing
from files.actions import accept_file
from projects.actions.bookings import link_bookings
from projects.actions.panel import edit_tab
from tests.contracts.card_helpers import propose
from tests.contracts.conftest import book
from tests.docs import pages
from tests.docs.test_data_model import ITEMS, ON_EVERY_ITEM, PAGE, name_of
from tests.threads.conftest import add_friend, ask, make_person, say, start
from threads.actions.blocks import block_person
from threads.actions.connections import (
    OpenConnection,
    now,
    record_last_seen,
    write_connections,
)
from threads.actions.cursors import mark_all_read
from threads.actions.drafts import save_draft
from threads.actions.folders import mark_unread, mute_thread
from threads.actions.holds import hold_author
from threads.actions.participants import add_participant, leave_thread, remove_participant
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.actions.staff import hide_message, lock_thread, redact_message, soft_block_thread
from threads.actions.suspensions import mute_person
from threads.archive.archiver import archive_thread
from threads.archive.packer import make_pack_check
from threads.archive.restore import list_packs
from threads.archive.work_list import advance_first_day, get_first_day
from threads.dynamodb import keys
from threads.dynamodb.table import connection, parse_item

DAY = 24 * 3600
CONNECTION = f"conn_{'0' * 26}"


@pytest.fixture
def found(db: None) -> dict[str, list[dict[str, Any]]]:
    """By the name of their kind: all items of two people who talked, and of a guest of theirs."""
    buyer, seller, guest = people = [make_person(name) for name in ("Bea", "Sam", "Gus")]
    seller.avatar, seller.city = "sam.jpg", "Lisbon"
    seller.save()
    processing.process_due()
    thread = start(buyer, seller, city="Lisbon")
    add_friend(buyer, thread_id=thread, user=guest)
    add_friend(buyer, thread_id=thread, user=(gone := make_person("Ida")))
    leave_thread(gone, thread_id=thread)
    add_participant(buyer, thread_id=thread, user=(invited := make_person("Ivo")))
    mute_thread(invited, thread_id=thread)
    file = accept_file(seller, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))
    said = say(seller, thread, attachments=[file.id])
    say(seller, thread, "Call me on 0171 3920042")
    hold_author(thread_id=thread, user_id=guest.id, reason="Why.", case_id="case_2")
    remove_participant(buyer, thread_id=thread, user_id=guest.id)
    mute_thread(buyer, thread_id=thread, until=keys.now())
    mark_all_read(seller, thread_id=thread)
    group = _booked(thread, buyer, seller)
    add_friend(buyer, thread_id=group, user=make_person("Eva"))
    shard = _archived(thread)
    _revised(thread, buyer, seller)
    mark_all_read(seller, thread_id=thread)
    mark_unread(seller, thread_id=thread)
    save_draft(seller, thread_id=thread, text="Shall we", version=0)
    opened = OpenConnection(seller.id, CONNECTION, "Firefox", "0" * 64, now())
    async_to_sync(write_connections)([opened], [])
    async_to_sync(record_last_seen)(seller.id)
    block_person(seller, blocked=buyer)
    request = ask(guest, seller)
    hide_message(thread_id=thread, message_id=said.id)
    redact_message(thread_id=thread, message_id=said.id, text=said.body[:3])
    soft_block_thread(thread_id=thread, reason="Contact details", case_id="case_1")
    lock_thread(thread_id=thread, reason="Keep calm.")
    hold_author(thread_id=thread, user_id=seller.id, reason="Why.", case_id="case_1")
    mute_person(buyer, until=timezone.now() + timedelta(days=1))
    partitions = [
        keys.thread_pk(thread),
        keys.thread_pk(group),
        keys.thread_pk(request),
        keys.pair_pk(buyer.id, seller.id),
        keys.pair_pk(guest.id, seller.id),
        keys.archive_pk(said.created_at[:10], thread),
        keys.packed_pk(shard),
        keys.pack_check_pk(shard),
        keys.ARCHIVING,
        keys.connection_pk(CONNECTION),
        *(keys.user_pk(person.id) for person in people),
    ]
    by_kind = defaultdict(list)
    for pk in partitions:
        for raw in connection().query(pk, limit=1000)["Items"]:
            by_kind[name_of(type(parse_item(raw)))].append(raw)
    return by_kind


def _booked(thread: str, buyer: User, seller: User) -> str:
    """The thread of a group with somebody else, in which a booking of these two is."""
    other = make_person("Mia")
    legs = [book(thread, buyer, seller), book(start(buyer, other), buyer, other)]
    edit_tab(buyer, thread_id=thread, tab="brief", op="edit", version=0, part="goals", text="Joy")
    propose("extras", legs[0])
    return link_bookings(buyer, title="A day", leg_ids=[leg.id for leg in legs]).thread_id


def _archived(thread: str) -> int:
    """With one pack that was noted to be looked at, as if we had been stopped then."""
    archive_thread(thread, since="2020-01-01", before=datetime.now(UTC))
    advance_first_day(datetime.now(UTC).date(), was=get_first_day())
    (pack,) = list_packs(thread)
    make_pack_check(thread, pack.id).save()
    return keys.archive_shard(thread)


def _revised(thread: str, buyer: User, seller: User) -> None:
    """A reply that was edited, reacted to and removed."""
    first = say(buyer, thread, "In the morning?")
    reply = say(seller, thread, "At ten.", reply_to=first.id)
    edit_message(seller, thread_id=thread, message_id=reply.id, body="At nine.")
    set_reaction(buyer, thread_id=thread, message_id=reply.id, reaction="👍", on=True)
    remove_message(seller, thread_id=thread, message_id=reply.id)


def is_reserved(text: str) -> bool:
    return "Reserved for" in text


def test_every_item_has_the_keys_that_the_page_gives_its_kind(found):
    for row in ITEMS:
        for raw in found[row["item"]]:
            for key in ("pk", "sk"):
                assert re.fullmatch(_pattern(pages.only(row[key])), raw[key]["S"])


def _pattern(spelled: str) -> str:
    return re.sub("<[^>]+>", "[^#]+", re.escape(spelled).replace(r"\ ", " "))


def test_what_is_called_reserved_is_not_written_and_the_rest_is(found):
    assert {row["item"]: is_reserved(row["what it is"]) for row in ITEMS} == {
        row["item"]: not found[row["item"]] for row in ITEMS
    }


def test_attributes_that_are_called_reserved_are_not_written_and_the_rest_are(found):
    for row in ITEMS:
        if is_reserved(row["what it is"]):
            continue
        listed = pages.rows(pages.section(PAGE, f"### {row['item']}"))
        in_use = {pages.only(a["attribute"]) for a in listed if not is_reserved(a["holds"])}
        written = {name for raw in found[row["item"]] for name in raw} - ON_EVERY_ITEM
        assert (row["item"], written) == (row["item"], in_use)


def test_items_live_as_long_as_the_page_says(found):
    for row in ITEMS:
        lives = {int(raw["ttl"]["N"]) - time.time() for raw in found[row["item"]] if "ttl" in raw}
        without = [raw for raw in found[row["item"]] if "ttl" not in raw]
        if row["expires"] == "never":
            assert not lives
        elif found[row["item"]]:
            days = int(row["expires"].split(" day")[0])
            # An item that expires after another one follows has no ttl before that.
            assert not without or "after the next" in row["expires"]
            assert all(days * DAY - 60 < life <= days * DAY for life in lives)
