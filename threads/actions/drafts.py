"""What somebody was writing, kept over their devices. A different draft is never overwritten."""

from accounts.models import User
from accounts.refusals import Refusal
from realtime.delivery import deliver
from realtime.events import DraftChanged
from threads import state as states
from threads.models import Draft, keys
from threads.models.changes import Change, update
from threads.models.message import MAX_BODY
from threads.writing.line import now_ms

MOST_RACES = 5


def save_draft(user: User, *, thread_id: str, text: str, version: int) -> None:
    """On the version that it was written on; if another device was faster, both texts stay."""
    if user.id not in states.recall(thread_id).people:
        raise Refusal("THREAD_NOT_FOUND")
    draft = Draft(keys.user_pk(user.id), keys.draft_sk(thread_id))
    for _ in range(MOST_RACES):
        if _store(draft, text, version):
            break
        current = find_draft(user, thread_id)
        version = current.version if current else 0
        text = both(current.text, text) if current else text
    deliver(draft_changed(thread_id, text, version + 1), to=[user.id])


def _store(draft: Draft, text: str, version: int) -> bool:
    """An empty one stays as a version, so that an older text of another device cannot come back."""
    as_read = Draft.version == version if version else Draft.version.does_not_exist()
    now = keys.iso(keys.moment_of_ms(now_ms()))
    change = Change(set={"text": text[:MAX_BODY], "version": version + 1, "updated_at": now})
    return update(draft, change, as_read)


def both(stored: str, text: str) -> str:
    if not stored.strip() or stored.strip() in text:
        return text
    if text.strip() in stored:
        return stored
    return f"{stored}\n\n{text}"


def find_draft(user: User, thread_id: str) -> Draft | None:
    return Draft.find(keys.user_pk(user.id), keys.draft_sk(thread_id))


def draft_changed(thread_id: str, text: str, version: int) -> DraftChanged:
    return DraftChanged(type="draft.changed", thread=thread_id, text=text, version=version)
