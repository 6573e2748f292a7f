"""Outbox handler for bookings: binds a thread to its booking, adds the system message, makes tabs.

Each step is idempotent, so that an entry that was interrupted by a crash can be processed again.
"""

from typing import Any

from core.outbox.claims import extend
from core.outbox.handlers import Postponed
from core.outbox.models import OutboxEntry
from projects.binding import bind_thread
from projects.cards.outbox import handle_card
from projects.panel.groups import open_group_thread
from projects.panel.record_tabs import ThreadRecords, read_records
from projects.panel.refresh import refresh_tabs
from projects.pending_actions import list_pending_actions
from threads import cache
from threads.cache import CachedThread
from threads.events import publish_message, publish_roster
from threads.models.message import PREVIEW_LENGTH, SYSTEM
from threads.rendering.markdown import escape_markdown
from threads.sending import NewMessage, NothingToDo, RosterChange, append


def handle_booking(entry: OutboxEntry) -> None:
    thread_id = entry.payload["thread"]
    records = read_records(thread_id)
    if records is None:
        return
    card = entry.payload.get("card")
    if card is not None:
        by_staff = entry.payload.get("by_staff", False)
        handle_card(
            card["id"],
            version=card["version"],
            by_staff=by_staff,
            binding=records.binding,
            **_message_fields(entry),
        )
    elif cache.load(thread_id) is None:
        open_group_thread(records, **_message_fields(entry))
    else:
        _append_message(thread_id, records, **_message_fields(entry))
    extend(entry)
    refresh_tabs(thread_id)


def _message_fields(entry: OutboxEntry) -> dict[str, Any]:
    payload = entry.payload
    return {"key": payload["key"], "text": payload["says"], "named": payload.get("named")}


def _append_message(
    thread_id: str, records: ThreadRecords, *, key: str, text: str, named: dict[str, str] | None
) -> None:
    """Appends the system message and binds the thread in one transaction."""

    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        if cached.thread.is_locked or cached.thread.soft_block:
            raise Postponed
        message = NewMessage(
            client_id=key,
            body=escape_markdown(text),
            preview=text[:PREVIEW_LENGTH],
            type=SYSTEM,
            named=named,
            waits=list_pending_actions(cached),
            hashed_text=text,
        )
        message = bind_thread(message, records.binding, cached)
        if not message.body:
            raise NothingToDo
        return message, RosterChange()

    try:
        appended = append(thread_id, plan)
    except NothingToDo:
        return
    publish_message(appended)
    if appended.is_new and appended.cached.thread.is_project:
        publish_roster(appended.cached, [])
