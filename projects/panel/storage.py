"""Writes tabs with their versions and the thread's `rev` in one transaction."""

import time
from collections.abc import Callable, Iterable

from django.conf import settings

from core.refusals import Refusal
from projects.panel.large_tabs import is_large, make_inline_snapshot
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.store import StoreUnavailable
from threads.dynamodb.table import KeyCondition
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.models import Participant, TabEdit, TabSnapshot, Thread
from threads.models.thread import LOCKED
from threads.sending.revision import now
from threads.sending.transaction import can_write

# Returns the tabs to write for the current thread; empty if nothing changes.
Plan = Callable[[CachedThread], list[TabSnapshot]]


def write_tabs(thread_id: str, plan: Plan, *, editor: str | None = None) -> CachedThread | None:
    """Returns the thread with the new tabs, or None if nothing changed. `editor` must be a
    participant who can send messages; without one the tabs are derived from records."""
    backoff = Backoff()
    with cache.write_lock(thread_id):
        while True:
            state, tabs = _prepare(thread_id, plan)
            if not tabs:
                return None
            try:
                _build(state, tabs, editor).commit()
                return _remember(state, tabs)
            except TransactionCancelled:
                cache.invalidate(thread_id)
                backoff.wait()
            except StoreUnavailable as error:
                # It may have been written: the next attempt reads the thread again.
                cache.invalidate(thread_id)
                backoff.wait_after(error)


def _prepare(thread_id: str, plan: Plan) -> tuple[CachedThread, list[TabSnapshot]]:
    """Plans from the cache, but confirms a refusal or a no-op with a fresh read."""
    cached = cache.peek(thread_id)
    if cached is not None:
        try:
            tabs = plan(cached)
            if tabs:
                return cached, tabs
        except Refusal:
            pass
    cached = cache.reload(thread_id)
    return cached, plan(cached)


def _build(cached: CachedThread, tabs: list[TabSnapshot], editor: str | None) -> Transaction:
    write = Transaction()
    rev = cached.thread.rev + 1
    for tab in tabs:
        before, edit = cached.tabs.get(tab.name), _edit_of(tab)
        tab.rev = rev
        tab.snapshot = make_inline_snapshot(tab.name, tab.snapshot)
        write.put(tab.sk, tab, _is_newer(before, tab))
        if editor:
            edit.changes = list(tab.changes)
            write.put(f"edit {tab.name}", edit, TabEdit.pk.does_not_exist())
            _shorten_previous(write, before)
        elif tab.records_revision is not None:
            _store_content(write, before, tab, edit)
    change = Change(set={"rev": rev, "updated_at": now()})
    write.update("thread", cached.thread, change, _as_is(cached, editor))
    if editor:
        me = cached.people[editor]
        write.check(me.sk, me, can_write(cached) & Participant.pk.exists())
    return write


def _shorten_previous(write: Transaction, before: TabSnapshot | None) -> None:
    """Reduces the previous edit to its changes, with an expiry; the newest holds the whole tab."""
    if before is None or not before.version:
        return
    expires = int(time.time()) + settings.TAB_EDIT_DAYS * 24 * 3600
    about = {"version": before.version, "ttl": expires}
    about |= {"edited_by": before.updated_by, "edited_at": before.updated_at}
    previous = TabEdit(before.pk, keys.edit_sk(before.name, before.version))
    write.update(f"before {before.name}", previous, Change(set=about, remove=("snapshot",)))


def _store_content(
    write: Transaction, before: TabSnapshot | None, tab: TabSnapshot, edit: TabEdit
) -> None:
    """Stores the content of a large tab. Tabs derived from records keep no earlier content."""
    if before is not None and is_large(before) and before.version != tab.version:
        write.delete(f"before {tab.name}", _edit_of(before))
    if is_large(tab):
        write.put(f"edit {tab.name}", edit)


def _is_newer(before: TabSnapshot | None, tab: TabSnapshot) -> KeyCondition:
    if tab.records_revision is not None:
        made_from = TabSnapshot.records_revision
        return TabSnapshot.pk.does_not_exist() | (made_from < tab.records_revision)
    if before is None:
        return TabSnapshot.pk.does_not_exist()
    return TabSnapshot.version == before.version


def _edit_of(tab: TabSnapshot) -> TabEdit:
    return TabEdit(
        tab.pk,
        keys.edit_sk(tab.name, tab.version),
        version=tab.version,
        snapshot=tab.snapshot,
        edited_by=tab.updated_by,
        edited_at=tab.updated_at,
    )


def _as_is(cached: CachedThread, editor: str | None) -> KeyCondition:
    as_is = Thread.rev == cached.thread.rev
    if editor is None:
        return as_is
    return as_is & (Thread.status != LOCKED) & Thread.soft_block.does_not_exist()


def _remember(cached: CachedThread, tabs: Iterable[TabSnapshot]) -> CachedThread:
    with cache.update_lock:
        for tab in tabs:
            cached.tabs[tab.name] = tab
            cached.thread.rev = tab.rev
    return cached.copy()
