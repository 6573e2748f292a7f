"""Makes a thread follow its dossier: bound to what was booked, told what happened, its tabs made.

Each step leaves what is done already as it is, so that an entry of the outbox which a crash left
half-way is simply carried again.
"""

from typing import Any

from core.outbox.claims import extend
from core.outbox.handlers import Postponed
from core.outbox.models import OutboxEntry
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

OPENS = "The project panel is open."


def handle_booking(entry: OutboxEntry) -> None:
    thread_id = entry.payload["thread"]
    truth = read_records(thread_id)
    if truth is None:
        return
    card = entry.payload.get("card")
    if card is not None:
        by_staff = entry.payload.get("by_staff", False)
        handle_card(card["id"], version=card["version"], by_staff=by_staff, **_line_of(entry))
    elif cache.load(thread_id) is None:
        open_group_thread(truth, **_line_of(entry))
    else:
        _say(thread_id, truth, **_line_of(entry))
    extend(entry)
    refresh_tabs(thread_id)


def _line_of(entry: OutboxEntry) -> dict[str, Any]:
    payload = entry.payload
    return {"key": payload["key"], "says": payload["says"], "named": payload.get("named")}


def _say(
    thread_id: str, truth: ThreadRecords, *, key: str, says: str, named: dict[str, str] | None
) -> None:
    """Line and binding are one transaction: there is no project of which nobody was told."""

    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        if cached.thread.is_locked or cached.thread.soft_block:
            raise Postponed
        binding = truth.binding
        if binding is not None and binding.holds(cached.thread):
            binding = None
        text = " ".join(filter(None, [says, OPENS if binding else ""]))
        if not text:
            raise NothingToDo
        line = NewMessage(
            client_id=key,
            body=escape_markdown(text),
            preview=text[:PREVIEW_LENGTH],
            type=SYSTEM,
            named=named,
            binding=binding,
            waits=list_pending_actions(cached),
            # Carried again, it no longer opens anything; it is the same line all the same.
            hashed_text=says,
        )
        return line, RosterChange()

    try:
        appended = append(thread_id, plan)
    except NothingToDo:
        return
    publish_message(appended)
    if appended.is_new and appended.cached.thread.is_project:
        publish_roster(appended.cached, [])
