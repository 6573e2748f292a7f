"""Editing a tab that people write themselves."""

from accounts.models import User
from accounts.refusals import Refusal
from threads.actions.messages import check_may_write
from threads.models import TabSnapshot, keys
from threads.panel.telling import tell_tabs
from threads.panel.writing import write_tabs
from threads.panel.written import Conflict, Edit, apply, new_part
from threads.state import ThreadState
from threads.writing.revise import now


def edit_tab(
    user: User,
    *,
    thread_id: str,
    tab: str,
    op: str,
    version: int,
    part: str = "",
    name: str = "",
    text: str = "",
    place: int = 0,
) -> int:
    """The version of the tab after it; the same one as before if it was so already."""
    # What is added gets its id once, so that a second attempt does not add it twice.
    part = part or (new_part() if op == "add" else "")
    edit = Edit(tab, op, version, user.id, now(), part, name, text, place)
    seen = version

    def plan(state: ThreadState) -> list[TabSnapshot]:
        nonlocal seen
        check_has_panel(state, user.id)
        check_may_write(state, user.id)
        before = state.tabs.get(tab)
        if before is None:
            raise Refusal("TRY_AGAIN", "The panel is being prepared.")
        seen = before.version
        if version > seen:
            raise Refusal("BAD_FRAME", hint="There is no such version yet.")
        try:
            after = apply(before.snapshot, edit, before.version + 1)
        except Conflict as conflict:
            name = state.name_of(conflict.details["by"])["name"]
            conflict.details |= {"by_name": name, "current": before.version}
            raise
        return [] if after is None else [_next(before, after, edit)]

    state = write_tabs(thread_id, plan, editor=user.id)
    if state is None:
        return seen
    tell_tabs(state, [tab])
    return int(state.tabs[tab].version)


def _next(before: TabSnapshot, snapshot: dict[str, object], edit: Edit) -> TabSnapshot:
    return TabSnapshot(
        before.pk,
        keys.tab_sk(before.name),
        version=before.version + 1,
        snapshot=snapshot,
        updated_by=edit.by,
        updated_at=edit.at,
    )


def check_has_panel(state: ThreadState, user_id: str) -> None:
    """Those whose booking it is; for everybody else there is no panel."""
    if not has_panel(state, user_id):
        raise Refusal("THREAD_NOT_FOUND")


def has_panel(state: ThreadState, user_id: str) -> bool:
    thread = state.thread
    return thread.is_project and user_id in thread.parties and user_id in state.people
