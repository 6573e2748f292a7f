"""Events of threads: made from what was stored, after it was stored."""

from realtime.delivery import deliver
from realtime.events import InboxChanged, MessageAccepted, MessageSent, ThreadChanged
from threads.models import Message, Participant
from threads.rendering import render_message
from threads.state import ThreadState
from threads.writing import Appended


def message_accepted(message: Message) -> MessageAccepted:
    return MessageAccepted(
        type="message.accepted",
        client_id=message.client_id or "",
        thread=message.thread_id,
        message=message.id,
        seq=message.seq,
        created_at=message.created_at,
    )


def message_sent(message: Message, state: ThreadState) -> MessageSent:
    removed = bool(message.removed_at or message.hidden_at)
    return MessageSent(
        type="message.sent",
        thread=message.thread_id,
        message=message.id,
        seq=message.seq,
        tally=message.tally,
        author=message.author_id,
        created_at=message.created_at,
        message_type=message.type,
        body="" if removed else message.body or "",
        html=render_message(message, state),
        attachments=[] if removed else message.attachments or [],
        client_id=message.client_id,
    )


def inbox_changed(person: Participant, *, unread: int | None) -> InboxChanged:
    return InboxChanged(
        type="inbox.changed",
        thread=person.thread_id,
        unread=unread,
        last_message_at=person.last_message_at,
        last_message=person.last_message,
        folder=person.folder,
        pinned=person.pinned,
    )


def thread_changed(state: ThreadState, banner: str = "") -> ThreadChanged:
    thread = state.thread
    return ThreadChanged(
        type="thread.changed",
        thread=thread.id,
        status=thread.status,
        kind=thread.kind,
        roster=[dict(person.person, role=person.role) for person in state.people.values()],
        banner=banner,
        rev=thread.rev,
    )


def tell_appended(appended: Appended) -> None:
    """The author's own tabs hear it too: they put it in the place of the pending one."""
    if not appended.is_new:
        return
    state = appended.state
    deliver(message_sent(appended.message, state), to=list(state.people))
    tell_inboxes(state)


def tell_inboxes(state: ThreadState) -> None:
    for person in list(state.people.values()):
        unread = None if state.cursors_are_stale else person.unread
        deliver(inbox_changed(person, unread=unread), to=[person.user_id])


def tell_roster(state: ThreadState) -> None:
    deliver(thread_changed(state), to=list(state.people))
