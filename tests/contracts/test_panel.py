"""Tabs edited by users: versions, conflicts, published events and cost."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.refusals import Refusal
from projects.actions.panel import edit_tab
from projects.panel.editable_tabs import EditConflict
from projects.panel.rebuild import list_differences
from tests.contracts.conftest import book, sign
from tests.outbox.timing import make_due
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, make_person, messages_of, start
from tests.threads.test_budgets import grow
from threads import cache
from threads.actions.blocks import block_person
from threads.dynamodb.store import count_requests
from threads.queries import open_thread


def brief(user, thread, part="goals", text="Joy", version=0):
    return edit_tab(
        user, thread_id=thread, tab="brief", op="edit", version=version, part=part, text=text
    )


def shots(user, thread, op="add", version=0, **fields):
    return edit_tab(user, thread_id=thread, tab="shotlist", op=op, version=version, **fields)


def snapshot(user, thread, tab):
    return open_thread(user, thread).cached.tabs[tab].snapshot


def test_an_edit_is_stored_and_published_to_both(leg, thread, buyer, seller, delivered):
    assert brief(buyer, thread) == 1
    field = snapshot(seller, thread, "brief")["fields"]["goals"]
    assert (field["text"], field["by"], field["version"]) == ("Joy", buyer.id, 1)
    for user in (buyer, seller):
        event = delivered.to(user, "panel.changed")[-1]
        assert (event["tab"], event["version"], event["by"]) == ("brief", 1, buyer.id)
        assert "Joy" in event["html"]
    assert_consistent(thread)


def test_a_repeated_edit_changes_nothing(leg, thread, buyer, delivered):
    brief(buyer, thread)
    published = len(delivered)
    assert brief(buyer, thread) == 1
    assert len(delivered) == published


def test_a_stale_edit_is_refused_with_both_texts(leg, thread, buyer, seller):
    brief(buyer, thread, text="Hers")
    with pytest.raises(EditConflict) as conflict:
        brief(seller, thread, text="His")
    details = conflict.value.details
    assert (details["theirs"], details["mine"]) == ("Hers", "His")
    assert (details["by_name"], details["current"]) == ("Bea", 1)
    assert snapshot(buyer, thread, "brief")["fields"]["goals"]["text"] == "Hers"
    assert brief(seller, thread, text="Hers and his", version=1) == 2


def test_edits_of_different_parts_do_not_conflict(leg, thread, buyer, seller):
    brief(buyer, thread, "goals", "Joy")
    brief(seller, thread, "limits", "No rain")
    fields = snapshot(buyer, thread, "brief")["fields"]
    assert {name: part["text"] for name, part in fields.items()} == {
        "title": "Team portraits",
        "goals": "Joy",
        "limits": "No rain",
    }


def test_a_shot_list_can_be_filled_ticked_sorted_and_counted(leg, thread, buyer, seller):
    shots(buyer, thread, "template", text="product")
    items = snapshot(buyer, thread, "shotlist")["items"]
    shots(seller, thread, "tick", part=items[0]["id"], text="done")
    shots(seller, thread, "move", part=items[0]["id"], place=2)
    shots(buyer, thread, "edit", 3, part=items[1]["id"], name="owner", text=seller.id)
    shots(buyer, thread, "remove", part=items[5]["id"])
    after = snapshot(buyer, thread, "shotlist")["items"]
    assert [item["name"] for item in after] == ["Back", "Detail", "Front", "In use", "Group of all"]
    assert [item["done"] for item in after] == [False, False, True, False, False]
    assert after[0]["owner"] == seller.id


@pytest.mark.parametrize(
    ("tab", "op", "fields"),
    [
        ("brief", "edit", {"part": "nothing", "text": "x"}),
        ("brief", "edit", {"part": "goals", "text": "x" * 4001}),
        ("brief", "add", {"text": "x"}),
        ("shotlist", "add", {"text": " "}),
        ("shotlist", "tick", {"part": "gone", "text": "done"}),
        ("shotlist", "template", {"text": "none"}),
        ("moodboard", "add", {"text": "javascript:alert(1)"}),
        ("moodboard", "add", {"text": "https://["}),
        ("moodboard", "add", {"text": "https://" + "x" * 1001}),
    ],
)
def test_an_invalid_edit_is_refused_and_changes_nothing(leg, thread, buyer, tab, op, fields):
    before = snapshot(buyer, thread, tab)
    with pytest.raises(Refusal, match="PANEL_INVALID"):
        edit_tab(buyer, thread_id=thread, tab=tab, op=op, version=0, **fields)
    assert snapshot(buyer, thread, tab) == before


def test_an_added_participant_has_no_panel(leg, thread, buyer, seller, stranger, delivered):
    add_friend(buyer, thread_id=thread, user=stranger)
    with pytest.raises(Refusal, match="THREAD_NOT_FOUND"):
        brief(stranger, thread)
    brief(buyer, thread)
    assert delivered.to(stranger, "panel.changed") == []


def test_edits_are_refused_after_a_block(leg, thread, buyer, seller):
    block_person(seller, blocked=buyer)
    with pytest.raises(Refusal, match="MSG_BLOCKED_BY_USER"):
        brief(buyer, thread)


def test_an_edit_with_a_stale_cache_succeeds(leg, thread, buyer, seller):
    stale = cache.reload(thread).copy()
    brief(buyer, thread, "goals", "Joy")
    # The cache of a process that has not received the event.
    cache.invalidate(thread)
    cache.put(stale)
    assert brief(seller, thread, "limits", "No rain") == 2
    assert_consistent(thread)


def test_opening_a_project_costs_one_query_and_an_edit_one_write(leg, thread, buyer, seller):
    sign(buyer, leg)
    with count_requests() as opened, CaptureQueriesContext(connection) as sql:
        open_thread(buyer, thread)
    assert (len(opened), len(sql)) == (1, 0)
    with count_requests() as edited, CaptureQueriesContext(connection) as sql:
        brief(buyer, thread)
    assert (len(edited), len(sql)) == (1, 0)


def test_opening_a_project_costs_the_same_for_a_long_history(buyer, seller):
    short, long = start(buyer, seller), start(buyer, seller)
    grow(short, 100)
    grow(long, 3000)
    for thread in (short, long):
        book(thread, buyer, seller)
    for number in range(1, 31):
        brief(seller, long, text=f"{number} of 30", version=number - 1)
    brief(seller, short, text="30 of 30")
    few, many = (opening(buyer, thread) for thread in (short, long))
    assert few == many == ["Query"]
    assert many.capacity <= 1.2 * few.capacity


def test_full_tabs_cost_their_size_and_no_second_request(leg, thread, buyer, seller):
    before = opening(buyer, thread)
    for part in ("goals", "style"):
        brief(buyer, thread, part, "字" * 4000)
    for number in range(40):
        shots(seller, thread, text=f"{number:02d} " + "x" * 190)
    full = opening(buyer, thread)
    assert full == ["Query"]
    # A read unit is 4 KB, read consistently; a snapshot has at most 24 KB.
    assert before.capacity + 6 < full.capacity <= before.capacity + 2 * 24 / 4 + 1


def opening(user, thread):
    with count_requests() as requests:
        open_thread(user, thread)
    return requests


def test_records_of_a_locked_thread_are_shown_after_unlocking(leg, thread, buyer, seller):
    from core.outbox.processing import process_due
    from threads.dynamodb import keys
    from threads.dynamodb.change import Change
    from threads.dynamodb.transactions import update
    from threads.models import Thread

    item = Thread(keys.thread_pk(thread), keys.THREAD)
    update(item, Change(set={"status": "locked"}), None)
    cache.invalidate(thread)
    sign(buyer, leg)
    before = messages_of(thread)
    process_due()
    assert [m.id for m in messages_of(thread)] == [m.id for m in before]
    update(item, Change(set={"status": "open"}), None)
    cache.invalidate(thread)
    make_due()
    while process_due():
        pass
    assert "signed" in messages_of(thread)[-1].body
    assert snapshot(buyer, thread, "docs")["documents"][0]["signatures"][0]["user"] == buyer.id


def test_a_second_thread_of_the_same_users_is_another_project(leg, thread, buyer, seller):
    other = start(buyer, seller)
    book(other, buyer, seller)
    brief(buyer, other)
    assert "goals" not in snapshot(buyer, thread, "brief")["fields"]
    assert make_person("X").id not in open_thread(buyer, other).cached.thread.parties


@pytest.mark.storage
def test_rebuilt_snapshots_are_the_same(leg, thread, buyer, seller):
    from django.core.management import call_command

    brief(buyer, thread)
    shots(seller, thread, "template", text="wedding")
    sign(buyer, leg)
    before = contents(buyer, thread)
    cache.reload(thread)
    call_command("rebuild_snapshots", "--thread", thread, verbosity=0)
    assert contents(buyer, thread) == before
    assert_consistent(thread)
    assert list(list_differences(thread)) == []


@pytest.mark.storage
def test_check_stores_reports_differences(leg, thread, buyer):
    tab = cache.reload(thread).tabs["docs"]
    tab.snapshot = {"documents": []}
    tab.save()
    cache.invalidate(thread)
    assert list(list_differences(thread)) == ["docs differs from its SQL records"]


def contents(user, thread):
    """Returns the tabs without the times at which the table was updated."""
    tabs = open_thread(user, thread).cached.tabs
    return {
        name: (tab.version, tab.snapshot, tab.updated_by, tab.updated_at, tab.records_revision)
        for name, tab in tabs.items()
    }
