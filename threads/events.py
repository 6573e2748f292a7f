"""Builds and publishes the events of threads, after their change was stored."""

from typing import Any

from realtime.broadcast.delivery import list_reachable, publish, recheck_delivery
from realtime.broadcast.events import InboxChanged, MessageAccepted, MessageSent, ThreadChanged
from threads.cache import CachedThread, load
from threads.models import Message, Participant, Thread
from threads.queries import OpenedThread
from threads.rendering.messages import render_message
from threads.rendering.notices import policy_notice
from threads.sending import Appended
from threads.signals import thread_changed as changed

# The status of a thread in events to users who are no longer in it.
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
        notice = policy_notice(message)
        if notice:
            accepted["notice"] = notice
    return accepted


def message_sent(message: Message, cached: CachedThread) -> MessageSent:
    return MessageSent(
        type="message.sent",
        thread=message.thread_id,
        message=message.id,
        seq=message.seq,
        tally=message.tally,
        author=message.author_id,
        created_at=message.created_at,
        message_type=message.type,
        body="" if message.is_withheld else message.body or "",
        html=render_message(message, cached),
        attachments=[] if message.is_withheld else message.attachments or [],
        client_id=message.client_id,
    )


def revision_fields(message: Message, cached: CachedThread) -> dict[str, Any]:
    """The fields of a changed message in events and in `thread.synced`."""
    return {
        "thread": message.thread_id,
        "message": message.id,
        "seq": message.seq,
        "rev": message.rev,
        "html": render_message(message, cached),
    }


def publish_revision(kind: str, cached: CachedThread, message: Message) -> None:
    """Publishes a changed message to the participants who can see it."""
    changed.send(None, thread_id=message.thread_id, message_id=message.id)
    event: Any = {"type": kind, **revision_fields(message, cached)}
    people = cached.people.values()
    publish(event, to=[one.user_id for one in people if one.visible_from_seq <= message.seq])
    if message.id == cached.thread.last_message_id and kind != "message.reacted":
        publish_inbox_rows(cached)


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
        step=person.step,
    )


def full_inbox_changed(person: Participant) -> InboxChanged:
    """Builds the event from a stored item, with the fields that a cached one may have stale."""
    event = inbox_changed(person, unread=person.unread)
    event["marked_unread"] = bool(person.marked_unread)
    event["muted"] = person.is_muted
    event["request"] = bool(person.request_state)
    event["muted_until"] = (person.muted_until or "") if person.is_muted else ""
    return event


def list_cursors(opened: OpenedThread, *, reader_id: str) -> list[dict[str, Any]]:
    """The cursors of the other participants; none if activity is hidden between the two."""
    if opened.me.hides_activity and not opened.cached.is_group:
        return []
    return [
        {
            "user": person.user_id,
            "delivered_seq": person.delivered_seq,
            "read_seq": person.last_read_seq,
        }
        for person in opened.cached.others(reader_id)
    ]


def get_banner(thread: Thread) -> str:
    if thread.is_locked:
        why = f" {thread.lock_reason}" if thread.lock_reason else ""
        return f"Our team has locked this conversation. You can read it, but not reply.{why}"
    if thread.soft_block:
        return "This conversation is on hold while our safety team reviews it."
    return ""


def thread_changed(cached: CachedThread, banner: str = "") -> ThreadChanged:
    thread = cached.thread
    return ThreadChanged(
        type="thread.changed",
        thread=thread.id,
        status=thread.status,
        kind=thread.kind,
        roster=[dict(person.person, role=person.role) for person in cached.people.values()],
        banner=banner or get_banner(thread),
        rev=thread.rev,
    )


def publish_message(appended: Appended) -> None:
    """Publishes to the author's tabs as well, which replace the pending message with it."""
    cached = appended.cached
    if not appended.is_new:
        # The request that stored the message may have ended before it published the events.
        recheck_delivery(list(cached.people))
        return
    changed.send(None, thread_id=cached.thread.id)
    publish(message_sent(appended.message, cached), to=list(cached.people))
    if appended.shows_in_inboxes:
        publish_inbox_rows(cached)


def publish_inbox_rows(cached: CachedThread) -> None:
    people = dict(cached.people)
    for user_id in list_reachable(people):
        unread = None if cached.cursors_are_stale else people[user_id].unread
        publish(inbox_changed(people[user_id], unread=unread), to=[user_id])


def publish_roster(cached: CachedThread, removed: list[Participant]) -> None:
    """Publishes a roster change to the participants, and to those who left: their pages close."""
    publish(thread_changed(cached), to=list(cached.people))
    for person in removed:
        _publish_left(cached, person)


def _publish_left(cached: CachedThread, person: Participant) -> None:
    left = thread_changed(cached, "You're no longer in this conversation.")
    left["status"], left["roster"] = LEFT, []
    publish(left, to=[person.user_id])
    row = inbox_changed(person, unread=0)
    row["folder"] = ""
    publish(row, to=[person.user_id])


def publish_thread_changed_to(thread_id: str, *, to: str) -> None:
    """Publishes to one participant whose permission to send has changed."""
    cached = load(thread_id)
    if cached is not None and to in cached.people:
        publish(thread_changed(cached), to=[to])


def publish_thread_changed(thread_id: str) -> None:
    """Publishes to all participants, since the permission to send has changed."""
    cached = load(thread_id)
    if cached is not None:
        publish(thread_changed(cached), to=list(cached.people))
