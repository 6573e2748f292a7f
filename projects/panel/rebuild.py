"""Snapshots are disposable: thrown away and made again, they are the same; and whether they are."""

from collections.abc import Iterator
from typing import Any

from core.refusals import Refusal
from projects.cards.consistency import wrong_cards
from projects.panel.large_tabs import fold, is_large, read_whole
from projects.panel.record_tabs import read_truth, snapshots_of
from projects.panel.refresh import find_last_edit, refresh_tabs
from projects.pending_actions import rebuild_waits, wrong_waits
from threads import cache as states
from threads.cache import ThreadState
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.transactions import Cancelled, Transaction
from threads.models import TabEdit, TabSnapshot
from threads.models.thread import Thread


def rebuild(thread_id: str) -> bool:
    """False if the table does not know the thread. Whoever has it open is told what came of it."""
    state = states.read(thread_id)
    if state is None:
        return False
    _throw_away(state)
    states.forget(thread_id)
    refresh_tabs(thread_id)
    rebuild_waits(thread_id)
    return True


def _throw_away(state: ThreadState) -> None:
    """At the version that was read: what somebody writes meanwhile stays."""
    for tab in state.tabs.values():
        write = Transaction()
        write.delete(tab.sk, tab, TabSnapshot.version == tab.version)
        if is_large(tab) and tab.truth_revision is not None:
            write.delete("aside", TabEdit(tab.pk, keys.edit_sk(tab.name, tab.version)))
        # So that a page which is catching up at this moment looks again.
        change = Change(add={"rev": 1})
        write.update("thread", state.thread, change, Thread.pk.exists())
        try:
            write.commit()
        except Cancelled:
            continue


def differences(thread_id: str) -> Iterator[str]:
    """Where the table and the records do not say the same."""
    truth = read_truth(thread_id)
    state = states.read(thread_id)
    if truth is None:
        return
    if state is None:
        yield "there is no such thread in the table"
        return
    binding = truth.binding
    if binding is not None and not binding.holds(state.thread):
        yield "it is not bound to what was booked"
    if binding is None and state.thread.is_project:
        yield "it is a project without a booking"
    yield from wrong_cards(state)
    yield from wrong_waits(state)
    for name, snapshot in snapshots_of(truth).items():
        tab = state.tabs.get(name)
        if tab is None or not _holds(tab, snapshot):
            yield f"{name} is not what is recorded"
        elif tab.truth_revision != truth.dossier.revision:
            yield f"{name} is of revision {tab.truth_revision}, not {truth.dossier.revision}"
    for name in ("brief", "moodboard", "shotlist"):
        tab, last = state.tabs.get(name), find_last_edit(thread_id, name)
        if last is not None and (tab is None or not _holds(tab, last.snapshot or {})):
            yield f"{name} is not what was written last"


def _holds(tab: TabSnapshot, whole: dict[str, Any]) -> bool:
    """Both the thread's copy and, if it is large, what is kept aside."""
    try:
        return tab.snapshot == fold(tab.name, whole) and read_whole(tab) == whole
    except Refusal:
        return False
