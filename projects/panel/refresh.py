"""Making snapshots from the truth: when records change, and when somebody threw them away."""

from projects.panel.editable_tabs import make_initial_snapshot
from projects.panel.events import publish_tabs
from projects.panel.large_tabs import make_inline_snapshot
from projects.panel.record_tabs import ThreadRecords, make_snapshots, read_records
from projects.panel.storage import write_tabs
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.models import TabEdit, TabSnapshot
from threads.models.tab import EDITABLE_TABS


def refresh_tabs(thread_id: str) -> None:
    """What the records say now, and empty tabs to write in where there are none yet."""
    changed: list[str] = []

    def plan(cached: CachedThread) -> list[TabSnapshot]:
        truth = read_records(thread_id)
        if truth is None:
            return []
        wanted = [*_recorded(truth, cached), *_missing(truth, cached)]
        changed[:] = [tab.name for tab in wanted if _differs(cached.tabs.get(tab.name), tab)]
        return wanted

    cached = write_tabs(thread_id, plan)
    if cached is not None:
        publish_tabs(cached, changed)


def _recorded(truth: ThreadRecords, cached: CachedThread) -> list[TabSnapshot]:
    dossier = truth.dossier
    made = [
        TabSnapshot(
            cached.thread.pk,
            keys.tab_sk(name),
            version=dossier.revision,
            snapshot=snapshot,
            updated_by=dossier.changed_by_id,
            updated_at=keys.iso(dossier.changed_at),
            records_revision=dossier.revision,
        )
        for name, snapshot in make_snapshots(truth).items()
    ]
    return [tab for tab in made if _is_older(cached.tabs.get(tab.name), dossier.revision)]


def _is_older(tab: TabSnapshot | None, revision: int) -> bool:
    return tab is None or (tab.records_revision or 0) < revision


def _missing(truth: ThreadRecords, cached: CachedThread) -> list[TabSnapshot]:
    if not truth.dossier.is_bound:
        return []
    return [_written(name, truth, cached) for name in EDITABLE_TABS if name not in cached.tabs]


def _written(name: str, truth: ThreadRecords, cached: CachedThread) -> TabSnapshot:
    """From its last edit; before the first one, as it is when a panel opens."""
    last = find_last_edit(cached.thread.id, name)
    title = truth.legs[0].offer.title
    return TabSnapshot(
        cached.thread.pk,
        keys.tab_sk(name),
        version=last.version if last else 0,
        snapshot=last.snapshot if last else make_initial_snapshot(name, title=title),
        updated_by=last.edited_by if last else truth.legs[0].buyer_id,
        updated_at=last.edited_at if last else keys.iso(truth.legs[0].created_at),
    )


def find_last_edit(thread_id: str, tab: str) -> TabEdit | None:
    where = Item.sk.between(keys.edit_sk(tab, 0), keys.edit_sk(tab, 99_999_999))
    page = query(keys.thread_pk(thread_id), where, limit=1, newest_first=True)
    return next(iter(page.of(TabEdit)), None)


def _differs(before: TabSnapshot | None, after: TabSnapshot) -> bool:
    return before is None or before.snapshot != make_inline_snapshot(after.name, after.snapshot)
