"""Editing a tab that people write themselves."""

from dataclasses import replace
from typing import Any

from accounts.models import User
from core.rate_limits import check_rate_limit
from core.refusals import Refusal
from files.models import File
from files.tab_uses import reserve_for_tab
from projects.actions import pins
from projects.panel.diff import diff
from projects.panel.editable_tabs import Edit, EditConflict, apply, new_part_id
from projects.panel.events import publish_tabs
from projects.panel.large_tabs import read_full_snapshot
from projects.panel.storage import write_tabs
from threads import cache
from threads.actions.messages import check_can_write
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.models import TabSnapshot
from threads.rendering.attachments import describe_in_tab
from threads.sending.revision import now


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
    picture: str = "",
) -> int:
    """The version of the tab after it; the same one as before if it was so already."""
    check_rate_limit("panel", user.id)
    # What is added gets its id once, so that a second attempt does not add it twice.
    part = part or (new_part_id() if op == "add" else "")
    edit = Edit(tab, op, version, user.id, now(), part, name, text, place)
    if (tab, op) == (pins.MOODBOARD, "add"):
        return _pin(user, edit, thread_id, picture) if picture else _link(user, edit, thread_id)
    if (tab, op) == (pins.MOODBOARD, "remove"):
        return _unpin(user, edit, thread_id)
    return _write(user, edit, thread_id)


def _pin(user: User, edit: Edit, thread_id: str, picture: str) -> int:
    check_can_edit(cache.reload(thread_id), user.id)
    described = pins.reserve_image(user, picture, thread_id=thread_id)
    edit = replace(edit, part=pins.pin_id_for(picture), picture=described)
    version = _write(user, edit, thread_id)
    pins.confirm_pin(edit.part, thread_id=thread_id)
    return version


def _link(user: User, edit: Edit, thread_id: str) -> int:
    """Saves the link at once; projects/remote_pins.py fetches the picture behind it later."""
    is_theirs = has_panel(cache.get(thread_id), user.id)
    wanted = pins.queue_remote_image(user, edit, thread_id=thread_id) if is_theirs else None
    try:
        version = _write(user, edit, thread_id)
    except Refusal:
        pins.cancel_remote_image(wanted)
        raise
    pins.start_remote_image(wanted)
    return version


def show_fetched_image(user: User, *, thread_id: str, part: str, link: str, file: File) -> None:
    """What the link of a pin led to, in the name of whoever pinned it."""
    reserve_for_tab(file, tab=pins.MOODBOARD, part=part)
    shown = describe_in_tab(file)
    edit = Edit(pins.MOODBOARD, "picture", 0, user.id, now(), part, text=link, picture=shown)
    _write(user, edit, thread_id)
    pins.confirm_pin(part, thread_id=thread_id)


def _unpin(user: User, edit: Edit, thread_id: str) -> int:
    check_can_edit(cache.reload(thread_id), user.id)
    pins.prepare_removal(edit.part, thread_id=thread_id)
    version = _write(user, edit, thread_id)
    pins.release_image(edit.part, thread_id=thread_id)
    return version


def _write(user: User, edit: Edit, thread_id: str) -> int:
    tab, version = edit.tab, edit.version
    seen = version

    def plan(cached: CachedThread) -> list[TabSnapshot]:
        nonlocal seen
        check_can_edit(cached, user.id)
        before = cached.tabs.get(tab)
        if before is None:
            raise Refusal("TRY_AGAIN", "The panel is being prepared.")
        seen = before.version
        if version > seen:
            raise Refusal("BAD_FRAME", hint="There is no such version yet.")
        whole = read_full_snapshot(before)
        try:
            after = apply(whole, edit, before.version + 1)
        except EditConflict as conflict:
            name = cached.get_person(conflict.details["by"])["name"]
            conflict.details |= {"by_name": name, "current": before.version}
            raise
        return [] if after is None else [_next(before, whole, after, edit)]

    cached = write_tabs(thread_id, plan, editor=user.id)
    if cached is None:
        return seen
    # A shot shows its pin.
    publish_tabs(cached, [tab, "shotlist"] if tab == pins.MOODBOARD else [tab])
    return int(cached.tabs[tab].version)


def _next(
    before: TabSnapshot, whole: dict[str, Any], snapshot: dict[str, Any], edit: Edit
) -> TabSnapshot:
    after = TabSnapshot(
        before.pk,
        keys.tab_sk(before.name),
        version=before.version + 1,
        snapshot=snapshot,
        updated_by=edit.by,
        updated_at=edit.at,
    )
    after.changes = tuple(diff(whole, snapshot))
    return after


def check_can_edit(cached: CachedThread, user_id: str) -> None:
    check_has_panel(cached, user_id)
    check_can_write(cached, user_id)


def check_has_panel(cached: CachedThread, user_id: str) -> None:
    """Those whose booking it is; for everybody else there is no panel."""
    if not has_panel(cached, user_id):
        raise Refusal("THREAD_NOT_FOUND")


def has_panel(cached: CachedThread, user_id: str) -> bool:
    thread = cached.thread
    return thread.is_project and user_id in thread.parties and user_id in cached.people
