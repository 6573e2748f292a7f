"""`panel.changed`, to those whose panel it is and who are still there."""

from collections.abc import Iterable

from projects.panel.rendering import render_tab
from realtime.broadcast.delivery import deliver
from realtime.broadcast.events import PanelChanged
from threads.cache import ThreadState


def publish_tabs(state: ThreadState, names: Iterable[str]) -> None:
    to = [user_id for user_id in state.thread.parties if user_id in state.people]
    for name in names:
        deliver(panel_changed(state, name), to=to)


def panel_changed(state: ThreadState, name: str) -> PanelChanged:
    tab = state.tabs[name]
    return PanelChanged(
        type="panel.changed",
        thread=state.thread.id,
        tab=name,
        version=tab.version,
        rev=tab.rev,
        by=tab.updated_by,
        html=render_tab(state, name),
    )
