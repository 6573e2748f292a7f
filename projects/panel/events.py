"""`panel.changed`, to those whose panel it is and who are still there."""

from collections.abc import Iterable

from projects.panel.rendering import render_tab
from realtime.broadcast.delivery import publish
from realtime.broadcast.events import PanelChanged
from threads.cache import CachedThread


def publish_tabs(cached: CachedThread, names: Iterable[str]) -> None:
    to = [user_id for user_id in cached.thread.parties if user_id in cached.people]
    for name in names:
        publish(panel_changed(cached, name), to=to)


def panel_changed(cached: CachedThread, name: str) -> PanelChanged:
    tab = cached.tabs[name]
    return PanelChanged(
        type="panel.changed",
        thread=cached.thread.id,
        tab=name,
        version=tab.version,
        rev=tab.rev,
        by=tab.updated_by,
        html=render_tab(cached, name),
    )
