"""The edit history of a tab stores each change, not a copy of the tab for every edit."""

import time

import pytest

from projects.panel.diff import diff
from projects.panel.editable_tabs import BRIEF_FIELDS, MAX_TEXT_CHARS
from projects.panel.large_tabs import measure_bytes, read_full_snapshot
from projects.panel.rebuild import list_differences, rebuild
from tests.contracts.test_large_tabs import fill, tab_of
from tests.contracts.test_panel import brief, shots, snapshot
from tests.threads.checker import assert_consistent
from threads import cache
from threads.cleanup import delete_expired_items
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.models import TabEdit


def edits(thread, tab="brief"):
    where = Item.sk.startswith(keys.edit_sk(tab, 0)[:-8])
    return query(keys.thread_pk(thread), where, limit=200).of(TabEdit)


def stored_bytes(edit):
    return measure_bytes({"snapshot": edit.snapshot, "changes": edit.changes})


def fill_brief(user, thread):
    for version, part in enumerate(part for part in BRIEF_FIELDS if part != "title"):
        brief(user, thread, part, "字" * MAX_TEXT_CHARS, version)


def test_edits_in_a_full_brief_store_only_the_changed_text(leg, thread, buyer):
    fill_brief(buyer, thread)
    before = sum(map(stored_bytes, edits(thread)))
    for number in range(40):
        brief(buyer, thread, "title", f"Title {number}", 5 + number)
    assert sum(map(stored_bytes, edits(thread))) - before < 40 * 512
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_each_edit_records_what_it_changed(leg, thread, buyer, seller):
    brief(buyer, thread, text="Joy")
    brief(seller, thread, text="More joy", version=1)
    first, second = edits(thread)
    (entry,) = second.changes
    assert (entry["part"], entry["before"]["text"], entry["after"]["text"]) == (
        "goals",
        "Joy",
        "More joy",
    )
    assert (second.edited_by, first.edited_by) == (seller.id, buyer.id)
    assert (first.snapshot, first.changes[0]["after"]["text"]) == (None, "Joy")
    assert second.snapshot["fields"]["goals"]["text"] == "More joy"


@pytest.mark.storage
def test_earlier_edits_expire_and_the_newest_stays(leg, thread, buyer, settings):
    settings.TAB_EDIT_DAYS = 0
    for number in range(3):
        brief(buyer, thread, text=f"Joy {number}", version=number)
    assert [int(edit.version) for edit in edits(thread)] == [3]
    delete_expired_items()
    assert TabEdit.find(keys.thread_pk(thread), keys.edit_sk("brief", 3)).ttl is None
    rebuild(thread)
    assert snapshot(buyer, thread, "brief")["fields"]["goals"]["text"] == "Joy 2"


def test_edits_expire_after_the_configured_days(leg, thread, buyer, settings):
    settings.TAB_EDIT_DAYS = 3
    brief(buyer, thread)
    brief(buyer, thread, text="More", version=1)
    first, newest = edits(thread)
    assert abs(first.ttl - time.time() - 3 * 24 * 3600) < 60
    assert newest.ttl is None


def test_an_edit_stored_by_an_earlier_version_can_be_read_and_continued(leg, thread, buyer):
    brief(buyer, thread)
    (old,) = edits(thread)
    old.changes = None
    old.save()
    rebuild(thread)
    assert snapshot(buyer, thread, "brief")["fields"]["goals"]["text"] == "Joy"
    assert brief(buyer, thread, text="More", version=1) == 2
    first, second = edits(thread)
    assert (first.snapshot, second.changes[0]["before"]["text"]) == (None, "Joy")


def test_a_large_tab_can_be_read_while_it_is_edited(leg, thread, buyer, seller):
    fill(seller, thread)
    seen = tab_of(buyer, thread, "shotlist")
    shots(seller, thread, "tick", 24, part="shot3", text="done")
    assert [item["done"] for item in read_full_snapshot(seen)["items"]].index(True) == 3
    cache.invalidate(thread)
    rebuild(thread)
    assert list(list_differences(thread)) == []


def test_a_diff_names_added_removed_changed_and_moved_items():
    old = {"items": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}, {"id": "c", "name": "C"}]}
    new = {"items": [{"id": "c", "name": "C"}, {"id": "a", "name": "AA"}, {"id": "d", "name": "D"}]}
    assert diff(old, new) == [
        {"part": "a", "before": {"name": "A"}, "after": {"name": "AA"}},
        {"part": "b", "before": {"id": "b", "name": "B"}, "after": None},
        {"part": "d", "before": None, "after": {"id": "d", "name": "D"}},
        {"part": "order", "before": ["a", "b", "c"], "after": ["c", "a", "d"]},
    ]
    assert diff(old, old) == []
