"""A tab too large for its thread item is stored separately, loaded on demand, and moved back when
small."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from contracts.models import Amendment
from contracts.models.money import EXTRAS
from core.refusals import Refusal
from projects.panel.large_tabs import MAX_INLINE_BYTES, is_large, read_full_snapshot
from projects.panel.rebuild import list_differences
from projects.panel.refresh import refresh_tabs
from tests.contracts.test_panel import brief, opening, shots
from tests.test_access import BACKEND
from tests.threads.checker import assert_consistent
from threads import cache
from threads.dynamodb import keys
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import Item, query
from threads.models import TabEdit
from threads.queries import open_thread

NOTE = "字" * 1000


def tab_of(user, thread, name):
    return open_thread(user, thread).cached.tabs[name]


def note(user, thread, part, text=NOTE):
    version = tab_of(user, thread, "shotlist").version
    return shots(user, thread, "edit", version, part=part, name="notes", text=text)


def fill(user, thread, count=12):
    """Fills a shot list with the given number of long notes."""
    for number in range(count):
        shots(user, thread, text=f"Shot {number}", part=f"shot{number}")
        note(user, thread, f"shot{number}")


def separate_items(thread, tab):
    where = Item.sk.startswith(keys.edit_sk(tab, 0)[:-8])
    return [
        int(each.version) for each in query(keys.thread_pk(thread), where, limit=99).of(TabEdit)
    ]


def page(user, thread, tab=""):
    client = Client()
    client.force_login(user, backend=BACKEND)
    name = "projects:panel_tab" if tab else "threads:thread"
    return client.get(reverse(name, args=[thread, *([tab] if tab else [])])).content.decode()


def test_a_large_shot_list_adds_no_cost_to_opening_the_thread(leg, thread, buyer, seller):
    before = opening(buyer, thread)
    fill(seller, thread)
    tab = tab_of(buyer, thread, "shotlist")
    assert is_large(tab)
    large = opening(buyer, thread)
    assert large == ["Query"]
    assert large.capacity <= before.capacity + 1
    with count_requests() as requests:
        whole = read_full_snapshot(tab)
    assert requests == ["GetItem"]
    assert [item["notes"] for item in whole["items"]] == [NOTE] * 12
    assert list(list_differences(thread)) == []
    assert_consistent(thread)


def test_an_edit_of_a_large_tab_costs_one_read_and_one_write(leg, thread, buyer, seller):
    fill(seller, thread)
    with count_requests() as requests, CaptureQueriesContext(connection) as sql:
        shots(seller, thread, "tick", 24, part="shot3", text="done")
    assert (requests, len(sql)) == (["GetItem", "TransactWriteItems"], 0)
    whole = read_full_snapshot(tab_of(buyer, thread, "shotlist"))
    assert [item["done"] for item in whole["items"]].index(True) == 3


@pytest.mark.storage
def test_a_tab_that_shrinks_is_stored_with_its_thread_again(leg, thread, buyer, seller):
    fill(seller, thread, 9)
    assert is_large(tab_of(buyer, thread, "shotlist"))
    for number in range(6):
        note(seller, thread, f"shot{number}", "Short")
    tab = tab_of(buyer, thread, "shotlist")
    assert not is_large(tab)
    assert len(tab.snapshot["items"]) == 9
    assert list(list_differences(thread)) == []


def test_the_page_shows_the_progress_of_a_large_tab(leg, thread, buyer, seller):
    fill(seller, thread, 8)
    for number in range(2):
        shots(seller, thread, "tick", 16 + number, part=f"shot{number}", text="done")
    assert is_large(tab_of(buyer, thread, "shotlist"))
    html = page(buyer, thread)
    assert 'data-shot-progress="25%"' in html
    assert "<span data-progress-shown>25%</span>" in html
    assert NOTE not in html
    assert NOTE in page(buyer, thread, "shotlist")


def test_live_pages_are_notified_of_a_large_tab_and_fetch_it(leg, thread, buyer, seller, delivered):
    fill(seller, thread, 10)
    event = delivered.to(buyer, "panel.changed")[-1]
    assert (event["tab"], event["version"]) == ("shotlist", 20)
    assert "data-large" in event["html"]
    assert len(event["html"]) < 1000


@pytest.mark.storage
def test_a_concurrent_edit_is_refused_with_both_texts(leg, thread, buyer, seller):
    fill(seller, thread, 10)
    shots(buyer, thread, "edit", 20, part="shot1", name="notes", text="Mine")
    with pytest.raises(Refusal, match="PANEL_VERSION_CONFLICT") as refused:
        shots(seller, thread, "edit", 20, part="shot1", name="notes", text="Hers")
    assert (refused.value.details["mine"], refused.value.details["theirs"]) == ("Hers", "Mine")


def test_the_size_of_a_tab_is_limited(leg, thread, buyer, seller):
    with pytest.raises(Refusal, match="This tab is full"):
        fill(seller, thread, 40)
    assert list(list_differences(thread)) == []


@pytest.mark.storage
def test_only_the_current_version_of_a_large_tab_of_records_is_stored(leg, thread, buyer, seller):
    many_extras(leg, 60)
    assert_large(buyer, thread, "expenses", 60)
    first = separate_items(thread, "expenses")
    many_extras(leg, 5)
    assert_large(buyer, thread, "expenses", 65)
    assert len(separate_items(thread, "expenses")) == len(first) == 1
    assert separate_items(thread, "expenses") != first
    assert opening(buyer, thread) == ["Query"]
    assert "65 pieces" in page(seller, thread, "expenses")


def many_extras(leg, count):
    """Creates amendments as if that many cards had been accepted."""
    from contracts.actions.revisions import record_change
    from core.outbox.processing import process_now

    existing = Amendment.objects.filter(leg=leg).count()
    for number in range(existing + 1, existing + count + 1):
        items = [{"title": f"{number} pieces " + "x" * 400, "quantity": 1, "unit_cents": 100}]
        Amendment.objects.create(
            leg=leg,
            kind=EXTRAS,
            amount_cents=100,
            currency=leg.currency,
            items=items,
            made_by=leg.seller,
            made_at=timezone.now(),
        )
    process_now([record_change(leg.thread_id, by=leg.seller, key=f"extras-{existing}")])


def assert_large(user, thread, name, count):
    tab = tab_of(user, thread, name)
    assert is_large(tab)
    assert len(read_full_snapshot(tab)["legs"][0]["amendments"]) == count
    assert list(list_differences(thread)) == []


def test_rebuilt_tabs_are_the_same(leg, thread, buyer, seller):
    fill(seller, thread)
    many_extras(leg, 60)
    names = ("shotlist", "expenses")
    before = [
        (tab_of(buyer, thread, name).snapshot, separate_items(thread, name)) for name in names
    ]
    wholes = [read_full_snapshot(tab_of(buyer, thread, name)) for name in names]
    call_command("rebuild_snapshots", "--thread", thread, verbosity=0)
    assert [(tab_of(buyer, thread, n).snapshot, separate_items(thread, n)) for n in names] == before
    assert [read_full_snapshot(tab_of(buyer, thread, name)) for name in names] == wholes
    assert list(list_differences(thread)) == []


def test_a_lost_large_tab_is_detected_and_rebuilt(leg, thread, buyer, seller):
    many_extras(leg, 60)
    tab = tab_of(buyer, thread, "expenses")
    TabEdit(tab.pk, keys.edit_sk("expenses", tab.version)).delete()
    assert "expenses differs from its SQL records" in list(list_differences(thread))
    with pytest.raises(Refusal, match="TRY_AGAIN"):
        read_full_snapshot(tab)
    call_command("rebuild_snapshots", "--thread", thread, verbosity=0)
    assert_large(buyer, thread, "expenses", 60)


def test_a_reader_during_a_change_gets_the_current_tab(leg, thread, buyer, seller):
    many_extras(leg, 60)
    seen = tab_of(buyer, thread, "expenses")
    many_extras(leg, 1)
    assert len(read_full_snapshot(seen)["legs"][0]["amendments"]) == 61


def test_small_tabs_stay_with_their_thread(leg, thread, buyer, seller):
    brief(buyer, thread, "goals", "x" * 3000)
    refresh_tabs(thread)
    tabs = cache.reload(thread).tabs
    assert not any(is_large(tab) for tab in tabs.values())
    assert MAX_INLINE_BYTES == 24 * 1024
    assert separate_items(thread, "expenses") == []
