"""What somebody was writing, kept over their devices. A different draft is never overwritten."""

from accounts.models import User
from core.refusals import Refusal
from realtime.broadcast.delivery import publish
from realtime.broadcast.events import DraftChanged
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.models import Draft, Participant
from threads.models.message import MAX_BODY_LENGTH
from threads.sending.new_message import now_ms

# More than a message may have: whoever wrote too much has to shorten it somewhere.
MAX_DRAFT_CHARS = 2 * MAX_BODY_LENGTH


def save_draft(user: User, *, thread_id: str, text: str, version: int) -> None:
    """On the version that it was written on; if another device was faster, both texts stay."""
    backoff = Backoff()
    kept = text
    while True:
        if len(kept) > MAX_DRAFT_CHARS:
            raise Refusal("MSG_TOO_LONG")
        try:
            _build(user, thread_id, kept, version).commit()
        except TransactionCancelled as cancelled:
            if cancelled.failed("person"):
                raise Refusal("THREAD_NOT_FOUND") from cancelled
            if cancelled.failed("draft"):
                current = cancelled.current("draft", Draft)
                version = current.version if current else 0
                kept = merge_texts(current.text, text) if current else text
            backoff.wait()
        else:
            publish(draft_changed(thread_id, kept, version + 1), to=[user.id])
            return


def _build(user: User, thread_id: str, text: str, version: int) -> Transaction:
    """An empty one stays as a version, so that an older text of another device cannot come back."""
    draft = Draft(keys.user_pk(user.id), keys.draft_sk(thread_id))
    person = Participant(keys.thread_pk(thread_id), keys.participant_sk(user.id))
    as_read = Draft.version == version if version else Draft.version.does_not_exist()
    now = keys.iso(keys.datetime_from_ms(now_ms()))
    change = Change(set={"text": text, "version": version + 1, "updated_at": now})
    write = Transaction()
    # Whoever goes takes the draft along: it must not come back after them.
    write.check("person", person, Participant.pk.exists())
    write.update("draft", draft, change, as_read)
    return write


def merge_texts(stored: str, text: str) -> str:
    if not stored.strip() or stored.strip() in text:
        return text
    if text.strip() in stored:
        return stored
    return f"{stored}\n\n{text}"


def find_draft(user: User, thread_id: str) -> Draft | None:
    return Draft.find(keys.user_pk(user.id), keys.draft_sk(thread_id))


def draft_changed(thread_id: str, text: str, version: int) -> DraftChanged:
    return DraftChanged(type="draft.changed", thread=thread_id, text=text, version=version)
