"""Proofs: previews that a seller lays out in the files tab, for the others to look at."""

from collections.abc import Sequence

from django.db import transaction

from accounts.models import User
from contracts.actions.manifests import check_can_show_proofs
from contracts.actions.revisions import record_change
from core.refusals import Refusal
from files.models import File
from files.tab_uses import list_in_tab, place_in_tab, release_from_tab
from projects.actions.panel import check_has_panel
from projects.panel.record_tabs import PROOFS
from threads import cache
from threads.actions.messages import check_can_write
from threads.file_access import list_usable_files
from threads.outbox_handlers import process_entries

# As many as a snapshot has room for, with everything else that is in it.
MAX_PROOFS = 60


def add_proofs(user: User, *, thread_id: str, file_ids: Sequence[str]) -> None:
    """The record first, then the conversation follows; those that are there already stay so."""
    check_can_add_proofs(user, thread_id)
    files = list_usable_files(user, file_ids, thread_id=thread_id)
    if any(file.kind == File.Kind.TEXT for file in files):
        raise Refusal("UPLOAD_TYPE", "Proofs are pictures or PDFs.")
    with transaction.atomic():
        check_can_show_proofs(user, thread_id)
        new = place_in_tab(files, tab=PROOFS)
        if not new:
            return
        if len(list_in_tab(PROOFS, thread_id=thread_id)) > MAX_PROOFS:
            raise Refusal("PANEL_INVALID", f"At most {MAX_PROOFS} proofs fit here.")
        count = "a proof" if len(new) == 1 else f"{len(new)} proofs"
        says = f"{user.display_name} added {count} to the files."
        entry = record_change(thread_id, by=user, key=f"{new[0].id}:proofs", says=says)
    process_entries([entry])


def remove_proof(user: User, *, thread_id: str, file_id: str) -> None:
    """By who brought it. What is gone already stays so."""
    check_can_add_proofs(user, thread_id)
    with transaction.atomic():
        check_can_show_proofs(user, thread_id)
        there = list_in_tab(PROOFS, thread_id=thread_id)
        use = next((each for each in there if each.file_id == file_id), None)
        if use is None:
            return
        if use.file.owner_id != user.id:
            raise Refusal("ACTION_FORBIDDEN", "Who brought a proof removes it.")
        release_from_tab(use)
        entry = record_change(thread_id, by=user, key=f"{file_id}:removed")
    process_entries([entry])


def check_can_add_proofs(user: User, thread_id: str) -> None:
    cached = cache.reload(thread_id)
    check_has_panel(cached, user.id)
    check_can_write(cached, user.id)
    if user.id == cached.thread.buyer_id:
        raise Refusal("ACTION_FORBIDDEN", "The seller shows proofs.")
