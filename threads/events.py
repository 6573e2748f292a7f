"""Events of threads: made from what was stored, after it was stored."""

from typing import Any

from realtime.broadcast.delivery import deliver
from realtime.broadcast.events import InboxChanged, MessageAccepted, MessageSent, ThreadChanged
from threads.cache import ThreadState, read
from threads.models import Message, Participant, Thread
from threads.queries import Opened
from threads.rendering.messages import render_message
from threads.rendering.notices import notice_of
from threads.sending import Appended
from threads.signals import thread_changed as changed

# What a thread's status is for whoever is no longer in it.
LEFT = "left"


def message_accepted(message: Message) -> MessageAccepted:
    accepted = MessageAccepted(
        type="message.accepted",
        client_id=message.client_id or "",
        thread=message.thread_id,
        message=message.id,
        seq=message.seq,
        created_at=message.created_at,
    )
    if message.flags:
        notice = notice_of(message)
        if notice:
            accepted["notice"] = notice
    return accepted


def message_sent(message: Message, state: ThreadState) -> MessageSent:
    return MessageSent(
        type="message.sent",
        thread=message.thread_id,
        message=message.id,
        seq=message.seq,
        tally=message.tally,
        author=message.author_id,
        created_at=message.created_at,
        message_type=message.type,
        body="" if message.is_gone else message.body or "",
        html=render_message(message, state),
        attachments=[] if message.is_gone else message.attachments or [],
        client_id=message.client_id,
    )


def revised(message: Message, state: ThreadState) -> dict[str, Any]:
    """A changed message, as events and `thread.synced` carry it."""
    return {
        "thread": message.thread_id,
        "message": message.id,
        "seq": message.seq,
        "rev": message.rev,
        "html": render_message(message, state),
    }


def publish_revised(kind: str, state: ThreadState, message: Message) -> None:
    """To those who can see it: somebody may have come later than the message."""
    changed.send(None, thread_id=message.thread_id, message_id=message.id)
    event: Any = {"type": kind, **revised(message, state)}
    people = state.people.values()
    deliver(event, to=[one.user_id for one in people if one.visible_from_seq <= message.seq])
    if message.id == state.thread.last_message_id and kind != "message.reacted":
        publish_inboxes(state)


def inbox_changed(person: Participant, *, unread: int | None) -> InboxChanged:
    return InboxChanged(
        type="inbox.changed",
        thread=person.thread_id,
        unread=unread,
        last_message_at=person.last_message_at,
        last_message=person.last_message_shown,
        folder=person.folder,
        kind=person.kind,
        pinned=person.pinned,
        waiting_for=person.waiting_for or "",
    )


def inbox_settings(person: Participant) -> InboxChanged:
    """From an item as the store has it: with what one that only remembers cannot vouch for."""
    event = inbox_changed(person, unread=person.unread)
    event["marked_unread"] = bool(person.marked_unread)
    event["muted"] = person.is_muted
    event["request"] = bool(person.request_state)
    event["muted_until"] = (person.muted_until or "") if person.is_muted else ""
    return event


def cursors_of(opened: Opened, *, reader_id: str) -> list[dict[str, Any]]:
    """How far the others have got; nothing passes between two who are apart."""
    if opened.me.is_apart and not opened.state.is_group:
        return []
    return [
        {
            "user": person.user_id,
            "delivered_seq": person.delivered_seq,
            "read_seq": person.last_read_seq,
        }
        for person in opened.state.others(reader_id)
    ]


def banner_of(thread: Thread) -> str:
    if thread.is_locked:
        why = f" {thread.lock_reason}" if thread.lock_reason else ""
        return f"Staff have locked this conversation. You can read it, and nobody can write.{why}"
    if thread.soft_block:
        return "This conversation is on hold while our safety team looks at it."
    return ""


def thread_changed(state: ThreadState, banner: str = "") -> ThreadChanged:
    thread = state.thread
    return ThreadChanged(
        type="thread.changed",
        thread=thread.id,
        status=thread.status,
        kind=thread.kind,
        roster=[dict(person.person, role=person.role) for person in state.people.values()],
        banner=banner or banner_of(thread),
        rev=thread.rev,
    )


def publish_appended(appended: Appended) -> None:
    """The author's own tabs hear it too: they put it in the place of the pending one."""
    if not appended.is_new:
        return
    state = appended.state
    changed.send(None, thread_id=state.thread.id)
    deliver(message_sent(appended.message, state), to=list(state.people))
    if appended.shows_in_inboxes:
        publish_inboxes(state)


def publish_inboxes(state: ThreadState) -> None:
    for person in list(state.people.values()):
        unread = None if state.cursors_are_stale else person.unread
        deliver(inbox_changed(person, unread=unread), to=[person.user_id])


def publish_roster(state: ThreadState, gone: list[Participant]) -> None:
    """Those who are there now, and those who no longer are: their pages close at once."""
    deliver(thread_changed(state), to=list(state.people))
    for person in gone:
        _tell_left(state, person)


def _tell_left(state: ThreadState, person: Participant) -> None:
    left = thread_changed(state, "You are no longer in this conversation.")
    left["status"], left["roster"] = LEFT, []
    deliver(left, to=[person.user_id])
    row = inbox_changed(person, unread=0)
    row["folder"] = ""
    deliver(row, to=[person.user_id])


def publish_standing(thread_id: str, *, to: str) -> None:
    """Whether one participant may write has changed: only their own open pages look again."""
    state = read(thread_id)
    if state is not None and to in state.people:
        deliver(thread_changed(state), to=[to])


def broadcast_standing(thread_id: str) -> None:
    """Something changed about who may write: open pages look again."""
    state = read(thread_id)
    if state is not None:
        deliver(thread_changed(state), to=list(state.people))
