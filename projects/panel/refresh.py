"""Updates the tabs of a thread from its SQL records and its last edits."""

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
    """Stores the tabs derived from records, and creates missing editable tabs."""
    changed: list[str] = []

    def plan(cached: CachedThread) -> list[TabSnapshot]:
        records = read_records(thread_id)
        if records is None:
            return []
        wanted = [*_recorded(records, cached), *_missing(records, cached)]
        changed[:] = [tab.name for tab in wanted if _differs(cached.tabs.get(tab.name), tab)]
        return wanted

    cached = write_tabs(thread_id, plan)
    if cached is not None:
        publish_tabs(cached, changed)


def _recorded(records: ThreadRecords, cached: CachedThread) -> list[TabSnapshot]:
    dossier = records.dossier
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
        for name, snapshot in make_snapshots(records).items()
    ]
    return [tab for tab in made if _is_older(cached.tabs.get(tab.name), dossier.revision)]


def _is_older(tab: TabSnapshot | None, revision: int) -> bool:
    return tab is None or (tab.records_revision or 0) < revision


def _missing(records: ThreadRecords, cached: CachedThread) -> list[TabSnapshot]:
    if not records.dossier.is_bound:
        return []
    return [_written(name, records, cached) for name in EDITABLE_TABS if name not in cached.tabs]


def _written(name: str, records: ThreadRecords, cached: CachedThread) -> TabSnapshot:
    """Restores an editable tab from its last edit, or makes the initial one."""
    last = find_last_edit(cached.thread.id, name)
    title = records.legs[0].offer.title
    return TabSnapshot(
        cached.thread.pk,
        keys.tab_sk(name),
        version=last.version if last else 0,
        snapshot=last.snapshot if last else make_initial_snapshot(name, title=title),
        updated_by=last.edited_by if last else records.legs[0].buyer_id,
        updated_at=last.edited_at if last else keys.iso(records.legs[0].created_at),
    )


def find_last_edit(thread_id: str, tab: str) -> TabEdit | None:
    where = Item.sk.between(keys.edit_sk(tab, 0), keys.edit_sk(tab, 99_999_999))
    page = query(keys.thread_pk(thread_id), where, limit=1, newest_first=True)
    return next(iter(page.of(TabEdit)), None)


def _differs(before: TabSnapshot | None, after: TabSnapshot) -> bool:
    return before is None or before.snapshot != make_inline_snapshot(after.name, after.snapshot)
