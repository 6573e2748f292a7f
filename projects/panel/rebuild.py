"""Rebuilds the snapshots of a thread from SQL, and compares them with it."""

from collections.abc import Iterator
from typing import Any

from core.refusals import Refusal
from projects.cards.consistency import (
    list_card_problems,
    refresh_open_cards,
    update_wording,
)
from projects.panel.large_tabs import is_large, make_inline_snapshot, read_full_snapshot
from projects.panel.record_tabs import make_snapshots, read_records
from projects.panel.refresh import find_last_edit, refresh_tabs
from projects.pending_actions import list_pending_action_problems, rebuild_pending_actions
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.models import TabEdit, TabSnapshot
from threads.models.thread import Thread


def rebuild(thread_id: str) -> bool:
    """Rebuilds a thread and publishes its tabs. Returns False if the thread does not exist."""
    cached = cache.load(thread_id)
    if cached is None:
        return False
    _delete_tabs(cached)
    cache.invalidate(thread_id)
    refresh_tabs(thread_id)
    rebuild_pending_actions(thread_id)
    refresh_open_cards(cached)
    return True


def _delete_tabs(cached: CachedThread) -> None:
    """Deletes tabs at the version that was read, so that a concurrent edit is kept."""
    for tab in cached.tabs.values():
        write = Transaction()
        write.delete(tab.sk, tab, TabSnapshot.version == tab.version)
        if is_large(tab) and tab.records_revision is not None:
            write.delete("aside", TabEdit(tab.pk, keys.edit_sk(tab.name, tab.version)))
        # A page that is syncing now has to sync again.
        change = Change(add={"rev": 1})
        write.update("thread", cached.thread, change, Thread.pk.exists())
        try:
            write.commit()
        except TransactionCancelled:
            continue


def list_differences(thread_id: str) -> Iterator[str]:
    """Lists the differences between a thread in DynamoDB and its SQL records."""
    records = read_records(thread_id)
    cached = cache.load(thread_id)
    if records is None:
        return
    if cached is None:
        yield "the thread does not exist in DynamoDB"
        return
    binding = records.binding
    if binding is not None and not binding.holds(cached.thread):
        yield "the thread is not bound to its booking"
    if binding is None and cached.thread.is_project:
        yield "the thread is a project without a booking"
    yield from list_card_problems(cached)
    yield from list_pending_action_problems(cached)
    for name, snapshot in make_snapshots(records).items():
        tab = cached.tabs.get(name)
        if tab is None or not _holds(tab, snapshot):
            yield f"{name} differs from its SQL records"
        elif tab.records_revision != records.dossier.revision:
            yield f"{name} is of revision {tab.records_revision}, not {records.dossier.revision}"
    for name in ("brief", "moodboard", "shotlist"):
        tab, last = cached.tabs.get(name), find_last_edit(thread_id, name)
        if last is not None and (tab is None or not _holds(tab, last.snapshot or {})):
            yield f"{name} differs from its last edit"


def _holds(tab: TabSnapshot, whole: dict[str, Any]) -> bool:
    """Compares the content, and the inline snapshot of a large tab with its content."""
    try:
        content = read_full_snapshot(tab)
    except Refusal:
        return False
    is_inline_current = tab.snapshot == make_inline_snapshot(tab.name, content)
    return is_inline_current and _comparable(content) == _comparable(whole)


def _comparable(snapshot: dict[str, Any]) -> dict[str, Any]:
    if "cards" not in snapshot:
        return snapshot
    cards = [card | {"what": update_wording(card["what"])} for card in snapshot["cards"]]
    return snapshot | {"cards": cards}
