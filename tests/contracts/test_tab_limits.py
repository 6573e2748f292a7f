"""Tabs that list records stay within their size limit for any number of records."""

import pytest
from django.utils import timezone

from contracts.actions.revisions import record_change
from contracts.models import Amendment, Card, DeliverableManifest
from contracts.models.money import EXTRAS
from core.outbox.processing import process_now
from projects.panel.large_tabs import count_pending, measure_bytes, read_full_snapshot
from projects.panel.rebuild import list_differences, rebuild
from projects.panel.record_tabs import make_snapshots, read_records
from projects.panel.trim import MAX_LISTED, MAX_RECORDED_BYTES, trim
from tests.contracts.card_helpers import propose
from tests.contracts.test_large_tabs import page, tab_of
from tests.threads.checker import assert_consistent


def refresh(leg, key):
    process_now([record_change(leg.thread_id, by=leg.seller, key=key)])


def assert_within_limit(user, thread, name):
    whole = read_full_snapshot(tab_of(user, thread, name))
    assert measure_bytes(whole) <= MAX_RECORDED_BYTES
    assert list(list_differences(thread)) == []
    rebuild(thread)
    assert read_full_snapshot(tab_of(user, thread, name)) == whole
    assert_consistent(thread)
    return whole


def deliver(leg, count):
    entries = [{"name": "a", "size": 1, "sha256": "0" * 64, "link": "https://a.example/"}]
    made = {"leg": leg, "made_by": leg.seller, "made_at": timezone.now(), "entries": entries}
    DeliverableManifest.objects.bulk_create(
        DeliverableManifest(key=f"{number}", title=f"{number:04} " + "字" * 115, **made)
        for number in range(count)
    )


def test_thousands_of_manifests_stay_within_the_limit(leg, thread, buyer):
    deliver(leg, 3000)
    refresh(leg, "many")
    whole = assert_within_limit(buyer, thread, "files")
    listed = len(whole["manifests"])
    assert 0 < listed <= MAX_LISTED
    assert whole["more"]["manifests"] == 3000 - listed
    html = page(buyer, thread, "files")
    assert f"Not shown: {3000 - listed} earlier deliveries." in html


def test_thousands_of_open_cards_are_all_counted(leg, thread):
    card = propose("extras", leg)
    own = ("id", "key", "message_id")
    same = {
        field.attname: getattr(card, field.attname)
        for field in Card._meta.concrete_fields
        if field.name not in own
    }
    Card.objects.bulk_create(
        Card(key=f"copy {number}", message_id=f"msg_{number}", **same) for number in range(1500)
    )
    whole = make_snapshots(read_records(thread))["actions"]
    assert measure_bytes(whole) <= MAX_RECORDED_BYTES
    assert len([card for card in whole["cards"] if card["isOpen"]]) <= MAX_LISTED
    assert count_pending(whole) == 1501 + len(whole["offers"]) + len(whole["signing"])


def test_thousands_of_long_extras_keep_the_totals(leg, thread, buyer):
    items = [{"title": "字" * 400, "quantity": 1, "unit_cents": 100}] * 10
    made = {"leg": leg, "kind": EXTRAS, "amount_cents": 1, "currency": leg.currency}
    made |= {"items": items, "made_by": leg.seller, "made_at": timezone.now()}
    Amendment.objects.bulk_create(Amendment(**made) for _ in range(2000))
    refresh(leg, "many")
    (account,) = assert_within_limit(buyer, thread, "expenses")["legs"]
    assert len(account["amendments"]) + account["more"]["amendments"] == 2000
    assert account["total"] == account["price"] + 2000


@pytest.mark.storage
def test_a_tab_is_trimmed_only_beyond_the_limit():
    fits = {"manifests": [{"id": "a" * 1000}] * 100}
    assert trim({**fits}) == fits
    beyond = trim({"manifests": [{"id": f"{number}" + "a" * 1100} for number in range(100)]})
    assert measure_bytes(beyond) <= MAX_RECORDED_BYTES
    assert beyond["more"] == {"manifests": 50}
    assert beyond["manifests"][-1]["id"].startswith("99")
