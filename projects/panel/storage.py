"""Writing tabs: each with its version, and the thread's `rev` with them, in one transaction."""

import time
from collections.abc import Callable, Iterable

from django.conf import settings

from core.refusals import Refusal
from projects.panel.large_tabs import fold, is_large
from threads import cache as states
from threads.cache import ThreadState
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.store import StoreUnavailable
from threads.dynamodb.table import Where
from threads.dynamodb.transactions import Cancelled, Transaction
from threads.models import Participant, TabEdit, TabSnapshot, Thread
from threads.models.thread import LOCKED
from threads.sending.revision import now
from threads.sending.transaction import may_write

# The tabs as they should be, of the thread as it is; none if they are so already.
Plan = Callable[[ThreadState], list[TabSnapshot]]


def write_tabs(thread_id: str, plan: Plan, *, editor: str | None = None) -> ThreadState | None:
    """The thread with these tabs, or None if there was nothing to do. `editor` is who wrote them:
    somebody who has to be there, and free to write. Records are carried whoever is."""
    backoff = Backoff()
    with states.turn(thread_id):
        while True:
            state, tabs = _prepare(thread_id, plan)
            if not tabs:
                return None
            try:
                _build(state, tabs, editor).commit()
                return _remember(state, tabs)
            except Cancelled:
                states.forget(thread_id)
                backoff.wait()
            except StoreUnavailable as error:
                # It may have been written: looking will tell.
                states.forget(thread_id)
                backoff.wait_after(error)


def _prepare(thread_id: str, plan: Plan) -> tuple[ThreadState, list[TabSnapshot]]:
    """That it is refused, or done already, is never said from memory alone."""
    believed = states.known(thread_id)
    if believed is not None:
        try:
            tabs = plan(believed)
            if tabs:
                return believed, tabs
        except Refusal:
            pass
    state = states.look(thread_id)
    return state, plan(state)


def _build(state: ThreadState, tabs: list[TabSnapshot], editor: str | None) -> Transaction:
    write = Transaction()
    rev = state.thread.rev + 1
    for tab in tabs:
        before, edit = state.tabs.get(tab.name), _edit_of(tab)
        tab.rev = rev
        tab.snapshot = fold(tab.name, tab.snapshot)
        write.put(tab.sk, tab, _is_newer(before, tab))
        if editor:
            edit.changes = list(tab.changes)
            write.put(f"edit {tab.name}", edit, TabEdit.pk.does_not_exist())
            _shorten_previous(write, before)
        elif tab.truth_revision is not None:
            _keep_aside(write, before, tab, edit)
    change = Change(set={"rev": rev, "updated_at": now()})
    write.update("thread", state.thread, change, _as_is(state, editor))
    if editor:
        me = state.people[editor]
        write.check(me.sk, me, may_write(state) & Participant.pk.exists())
    return write


def _shorten_previous(write: Transaction, before: TabSnapshot | None) -> None:
    """The edit before keeps only what it changed, and expires; the newest holds the whole tab."""
    if before is None or not before.version:
        return
    expires = int(time.time()) + settings.TAB_EDIT_DAYS * 24 * 3600
    about = {"version": before.version, "ttl": expires}
    about |= {"edited_by": before.updated_by, "edited_at": before.updated_at}
    previous = TabEdit(before.pk, keys.edit_sk(before.name, before.version))
    write.update(f"before {before.name}", previous, Change(set=about, remove=("snapshot",)))


def _keep_aside(
    write: Transaction, before: TabSnapshot | None, tab: TabSnapshot, edit: TabEdit
) -> None:
    """What a large one holds. Of those that follow the records, no earlier one is needed."""
    if before is not None and is_large(before) and before.version != tab.version:
        write.delete(f"before {tab.name}", _edit_of(before))
    if is_large(tab):
        write.put(f"edit {tab.name}", edit)


def _is_newer(before: TabSnapshot | None, tab: TabSnapshot) -> Where:
    if tab.truth_revision is not None:
        made_from = TabSnapshot.truth_revision
        return TabSnapshot.pk.does_not_exist() | (made_from < tab.truth_revision)
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


def _as_is(state: ThreadState, editor: str | None) -> Where:
    as_is = Thread.rev == state.thread.rev
    if editor is None:
        return as_is
    return as_is & (Thread.status != LOCKED) & Thread.soft_block.does_not_exist()


def _remember(state: ThreadState, tabs: Iterable[TabSnapshot]) -> ThreadState:
    with states.changing:
        for tab in tabs:
            state.tabs[tab.name] = tab
            state.thread.rev = tab.rev
    return state.copy()
