"""Outbox handler for cards: stores a card's message, shadow, pending actions and system message.

Each step is one DynamoDB transaction. It is built from the current SQL records, on the condition
that nothing newer is stored. The idempotency marker of the system message prevents duplicates.
"""

from dataclasses import replace
from typing import Any

from contracts.cards.types import TYPES
from contracts.models.cards import Card
from core.outbox.handlers import Postponed
from files.models import FileUse
from projects.binding import bind_thread
from projects.cards.rendering import make_card_action
from projects.pending_actions import list_pending_actions
from realtime.broadcast.delivery import publish
from realtime.broadcast.events import CardChanged
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.events import publish_message, publish_roster
from threads.models import CardShadow, Message, Thread
from threads.models.message import ACTION, PREVIEW_LENGTH, SYSTEM
from threads.rendering.markdown import escape_markdown
from threads.rendering.messages import render_message
from threads.sending import Binding, NewMessage, RosterChange, append
from threads.signals import thread_changed as changed


def handle_card(
    card_id: str,
    *,
    version: int,
    key: str,
    text: str,
    named: dict[str, str] | None = None,
    by_staff: bool = False,
    binding: Binding | None = None,
) -> None:
    """Stores the current state of a card. A staff decision is stored even in a locked thread. The
    system message also binds the thread to its booking."""
    message_id = _write_message(card_id, by_staff=by_staff)
    if version == 0:
        refresh_card(card_id, message_id)
    elif text:
        update = NewMessage(
            key,
            escape_markdown(text),
            text[:PREVIEW_LENGTH],
            type=SYSTEM,
            hashed_text=text,
            named=named,
        )
        update.by_staff = by_staff
        _write_transition(card_id, message_id, update, binding)


def read_card(card_id: str) -> Card:
    related = ("buyer", "seller", "proposed_by", "counters", "leg", "offer")
    return Card.objects.select_related(*related).get(pk=card_id)


# --- The card message, authored by its proposer


def _write_message(card_id: str, *, by_staff: bool) -> str:
    card = read_card(card_id)
    if card.message_id:
        return card.message_id

    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        card = read_card(card_id)
        if not by_staff:
            _check_is_open(cached)
            _check_may_write(cached, card)
        text = summary_of(card)
        line = NewMessage(
            client_id=card.id,
            body=escape_markdown(text),
            preview=text[:PREVIEW_LENGTH],
            author_id=card.proposed_by_id,
            type=ACTION,
            hashed_text=card.id,
            action=make_card_action(card),
            attachments=card.payload.get("files", []),
            waits=list_pending_actions(cached, this=card.id),
            extra_writes=lambda write, message: _write(write, cached, card, message.id, rev=0),
            by_staff=by_staff,
            despite_hold=TYPES[card.type].needs_staff,
        )
        return line, RosterChange()

    appended = append(card.thread_id, plan)
    FileUse.objects.filter(client_id=card_id, message_id="").update(message_id=appended.message.id)
    # Last: once this is set, the message is not written again.
    Card.objects.filter(pk=card_id).update(message_id=appended.message.id)
    publish_message(appended)
    return appended.message.id


def summary_of(card: Card) -> str:
    kind = TYPES[card.type]
    return f"{kind.get_label(card.payload)}: {kind.summary(card.payload)}"


def _check_is_open(cached: CachedThread) -> None:
    if cached.thread.is_locked or cached.thread.soft_block:
        raise Postponed


def _check_may_write(cached: CachedThread, card: Card) -> None:
    """Postpones the message until the proposer can send messages in the thread again."""
    author = cached.people.get(card.proposed_by_id)
    if author is None:
        return
    is_blocked = bool(author.blocked_by) and not cached.is_group
    is_held = bool(author.sending_hold) and not TYPES[card.type].needs_staff
    if is_blocked or is_held or author.request_state or (author.blocked_until or "") > keys.now():
        raise Postponed


# --- A transition of it


def _write_transition(
    card_id: str, message_id: str, update: NewMessage, binding: Binding | None
) -> None:
    is_binding = False

    def plan(cached: CachedThread) -> tuple[NewMessage, RosterChange]:
        nonlocal is_binding
        if not update.by_staff:
            _check_is_open(cached)
        card = read_card(card_id)
        rev = cached.thread.rev + 1

        def also(write: Transaction, _: Message) -> None:
            _write_with_message(write, cached, card, message_id, rev)

        message = replace(
            update,
            thread_changes={"rev": rev},
            waits=list_pending_actions(cached),
            extra_writes=also,
        )
        message = bind_thread(message, binding, cached)
        is_binding = message.binding is not None
        return message, RosterChange()

    appended = append(read_card(card_id).thread_id, plan)
    publish_message(appended)
    if appended.is_new:
        publish_card(appended.cached, message_id)
        if is_binding:
            publish_roster(appended.cached, [])


def refresh_card(card_id: str, message_id: str) -> None:
    """Stores a change without a transition, such as a paused deadline, even in a locked thread."""
    thread_id = read_card(card_id).thread_id
    backoff = Backoff()
    with cache.write_lock(thread_id):
        while True:
            cached, card = cache.reload(thread_id), read_card(card_id)
            rev = cached.thread.rev + 1
            write = Transaction()
            _write_with_message(write, cached, card, message_id, rev)
            change = Change(set={"rev": rev})
            write.update("thread", cached.thread, change, Thread.rev == cached.thread.rev)
            try:
                write.commit()
                break
            except TransactionCancelled:
                backoff.wait()
        cache.invalidate(thread_id)
    publish_card(cache.reload(thread_id), message_id)


def publish_card(cached: CachedThread, message_id: str) -> None:
    """Publishes the current card to the participants who can see its message."""
    message = Message.find(cached.thread.pk, keys.message_sk(message_id))
    if message is None or message.action is None:
        return
    changed.send(None, thread_id=cached.thread.id, message_id=message_id)
    event = CardChanged(
        type="card.changed",
        thread=cached.thread.id,
        message=message_id,
        seq=message.seq,
        rev=message.rev,
        html=render_message(message, cached),
        state=message.action["state"],
        version=message.action["version"],
    )
    people = cached.people.values()
    publish(event, to=[one.user_id for one in people if one.visible_from_seq <= message.seq])


# --- Shared by both


def _write_with_message(
    write: Transaction, cached: CachedThread, card: Card, message_id: str, rev: int
) -> None:
    _write(write, cached, card, message_id, rev=rev)
    message = Message(cached.thread.pk, keys.message_sk(message_id))
    change = Change(set={"action": make_card_action(card), "rev": rev})
    write.update("card message", message, change, Message.pk.exists())


def _write(
    write: Transaction, cached: CachedThread, card: Card, message_id: str, *, rev: int
) -> None:
    not_newer = CardShadow.version <= card.version
    there_or_not = CardShadow.pk.does_not_exist() | not_newer
    write.put("card", make_shadow(cached.thread.pk, card, message_id, rev), there_or_not)


def make_shadow(pk: str, card: Card, message_id: str, rev: int) -> CardShadow:
    steps = list(card.steps.all())
    return CardShadow(
        pk,
        keys.card_sk(message_id),
        card_id=card.id,
        type=card.type,
        payload=card.payload,
        state=card.state,
        version=card.version,
        created_by=card.proposed_by_id,
        history=[_step(step) for step in steps],
        idempotency_keys=[step.key for step in steps],
        rev=rev,
    )


def _step(step: Any) -> dict[str, Any]:
    return {
        "version": step.version,
        "move": step.move,
        "by": step.by_id,
        "at": keys.iso(step.at),
        "from": step.from_state,
        "to": step.to_state,
        "why": step.why,
    }
