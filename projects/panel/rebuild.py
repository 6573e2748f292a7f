"""Snapshots are disposable: thrown away and made again, they are the same; and whether they are."""

from collections.abc import Iterator
from typing import Any

from core.refusals import Refusal
from projects.cards.consistency import list_card_problems
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
    """False if the table does not know the thread. Whoever has it open is told what came of it."""
    cached = cache.load(thread_id)
    if cached is None:
        return False
    _throw_away(cached)
    cache.invalidate(thread_id)
    refresh_tabs(thread_id)
    rebuild_pending_actions(thread_id)
    return True


def _throw_away(cached: CachedThread) -> None:
    """At the version that was read: what somebody writes meanwhile stays."""
    for tab in cached.tabs.values():
        write = Transaction()
        write.delete(tab.sk, tab, TabSnapshot.version == tab.version)
        if is_large(tab) and tab.records_revision is not None:
            write.delete("aside", TabEdit(tab.pk, keys.edit_sk(tab.name, tab.version)))
        # So that a page which is catching up at this moment looks again.
        change = Change(add={"rev": 1})
        write.update("thread", cached.thread, change, Thread.pk.exists())
        try:
            write.commit()
        except TransactionCancelled:
            continue


def list_differences(thread_id: str) -> Iterator[str]:
    """Where the table and the records do not say the same."""
    truth = read_records(thread_id)
    cached = cache.load(thread_id)
    if truth is None:
        return
    if cached is None:
        yield "there is no such thread in the table"
        return
    binding = truth.binding
    if binding is not None and not binding.holds(cached.thread):
        yield "it is not bound to what was booked"
    if binding is None and cached.thread.is_project:
        yield "it is a project without a booking"
    yield from list_card_problems(cached)
    yield from list_pending_action_problems(cached)
    for name, snapshot in make_snapshots(truth).items():
        tab = cached.tabs.get(name)
        if tab is None or not _holds(tab, snapshot):
            yield f"{name} is not what is recorded"
        elif tab.records_revision != truth.dossier.revision:
            yield f"{name} is of revision {tab.records_revision}, not {truth.dossier.revision}"
    for name in ("brief", "moodboard", "shotlist"):
        tab, last = cached.tabs.get(name), find_last_edit(thread_id, name)
        if last is not None and (tab is None or not _holds(tab, last.snapshot or {})):
            yield f"{name} is not what was written last"


def _holds(tab: TabSnapshot, whole: dict[str, Any]) -> bool:
    """Both the thread's copy and, if it is large, what is kept aside."""
    try:
        return (
            tab.snapshot == make_inline_snapshot(tab.name, whole)
            and read_full_snapshot(tab) == whole
        )
    except Refusal:
        return False
