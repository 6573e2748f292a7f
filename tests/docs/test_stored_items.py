"""docs/data-model.md lists the items that a conversation stores, and which are reserved."""

import io
import re
import time
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import User
from core.outbox import processing
from files.actions import accept_file
from projects.actions.bookings import link_bookings
from projects.actions.panel import edit_tab
from tests.contracts.card_scenes import propose
from tests.contracts.conftest import book
from tests.docs import pages
from tests.docs.test_data_model import ITEMS, ON_EVERY_ITEM, PAGE, name_of
from tests.threads.conftest import add_friend, ask, make_person, say, start
from threads.actions.blocks import block_person
from threads.actions.cursors import mark_all_read
from threads.actions.folders import mark_unread, mute_thread
from threads.actions.holds import hold_author
from threads.actions.participants import add_participant, leave_thread, remove_participant
from threads.actions.staff import hide_message, lock_thread, redact_message, soft_block_thread
from threads.actions.suspensions import mute_person
from threads.archive.archiver import archive_thread
from threads.archive.packer import make_pack_check
from threads.archive.restore import list_packs
from threads.archive.work_list import advance_first_day, get_first_day
from threads.dynamodb import keys
from threads.dynamodb.table import connection, parse_item

DAY = 24 * 3600


@pytest.fixture
def stored_items(db: None) -> dict[str, list[dict[str, Any]]]:
    """All items of a conversation of two users and a guest, by the name of their kind."""
    buyer, seller, guest = people = [make_person(name) for name in ("Bea", "Sam", "Gus")]
    seller.avatar, seller.city = "sam.jpg", "Lisbon"
    seller.save()
    processing.process_due()
    thread = start(buyer, seller, city="Lisbon")
    add_friend(buyer, thread_id=thread, user=guest)
    add_friend(buyer, thread_id=thread, user=(former_participant := make_person("Ida")))
    leave_thread(former_participant, thread_id=thread)
    add_participant(buyer, thread_id=thread, user=make_person("Ivo"))
    file = accept_file(seller, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))
    message = say(seller, thread, attachments=[file.id])
    say(seller, thread, "Call me on 0171 3920042")
    hold_author(thread_id=thread, user_id=guest.id, reason="Why.", case_id="case_2")
    remove_participant(buyer, thread_id=thread, user_id=guest.id)
    mute_thread(buyer, thread_id=thread, until=keys.now())
    mark_all_read(seller, thread_id=thread)
    mark_unread(seller, thread_id=thread)
    group = _make_group(thread, buyer, seller)
    shard = _archive(thread)
    block_person(seller, blocked=buyer)
    request = ask(guest, seller)
    hide_message(thread_id=thread, message_id=message.id)
    redact_message(thread_id=thread, message_id=message.id, text=message.body[:3])
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
        keys.archive_pk(message.created_at[:10], thread),
        keys.packed_pk(shard),
        keys.pack_check_pk(shard),
        keys.ARCHIVING,
        *(keys.user_pk(person.id) for person in people),
    ]
    by_kind = defaultdict(list)
    for pk in partitions:
        for raw in connection().query(pk, limit=1000)["Items"]:
            by_kind[name_of(type(parse_item(raw)))].append(raw)
    return by_kind


def _make_group(thread: str, buyer: User, seller: User) -> str:
    """Links a booking of the two users with another one; returns the thread of the group."""
    other = make_person("Mia")
    legs = [book(thread, buyer, seller), book(start(buyer, other), buyer, other)]
    edit_tab(buyer, thread_id=thread, tab="brief", op="edit", version=0, part="goals", text="Joy")
    propose("extras", legs[0])
    return link_bookings(buyer, title="A day", leg_ids=[leg.id for leg in legs]).thread_id


def _archive(thread: str) -> int:
    """Archives the thread, with a pending check of one pack as after an interrupted run."""
    archive_thread(thread, since="2020-01-01", before=datetime.now(UTC))
    advance_first_day(datetime.now(UTC).date(), was=get_first_day())
    (pack,) = list_packs(thread)
    make_pack_check(thread, pack.id).save()
    return keys.archive_shard(thread)


def is_reserved(text: str) -> bool:
    return "Reserved for" in text


def test_every_item_has_the_documented_keys(stored_items):
    for row in ITEMS:
        for raw in stored_items[row["item"]]:
            for key in ("pk", "sk"):
                assert re.fullmatch(_pattern(pages.only(row[key])), raw[key]["S"])


def _pattern(format_: str) -> str:
    return re.sub("<[^>]+>", "[^#]+", re.escape(format_).replace(r"\ ", " "))


def test_exactly_the_reserved_items_are_not_written(stored_items):
    assert {row["item"]: is_reserved(row["what it is"]) for row in ITEMS} == {
        row["item"]: not stored_items[row["item"]] for row in ITEMS
    }


def test_exactly_the_reserved_attributes_are_not_written(stored_items):
    for row in ITEMS:
        if is_reserved(row["what it is"]):
            continue
        listed = pages.rows(pages.section(PAGE, f"### {row['item']}"))
        in_use = {pages.only(a["attribute"]) for a in listed if not is_reserved(a["holds"])}
        written = {name for raw in stored_items[row["item"]] for name in raw} - ON_EVERY_ITEM
        assert (row["item"], written) == (row["item"], in_use)


def test_items_expire_as_documented(stored_items):
    for row in ITEMS:
        lifetimes = {
            int(raw["ttl"]["N"]) - time.time() for raw in stored_items[row["item"]] if "ttl" in raw
        }
        without = [raw for raw in stored_items[row["item"]] if "ttl" not in raw]
        if row["expires"] == "never":
            assert not lifetimes
        elif stored_items[row["item"]]:
            days = int(row["expires"].split(" day")[0])
            # An item that expires only after its successor exists has no ttl before.
            assert not without or "after the next" in row["expires"]
            assert all(days * DAY - 60 < lifetime <= days * DAY for lifetime in lifetimes)
