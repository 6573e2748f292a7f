"""Indexes one thread: its new and changed messages, and the users who can search it."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from django.db import transaction

from core.normalise import normalise
from inbox.models import IndexedMessage, IndexedThread
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, get_many, query_all
from threads.models import Message, Thread
from threads.models.message import SYSTEM

BATCH_SIZE = 500
# The revision of a thread that is not completely indexed yet.
NOT_INDEXED = -1
# The indexer works a twentieth of the time, so that sends are not slowed down. The longer the
# queue, the less each message costs.
PAUSE_RATIO = 19.0
MAX_PAUSE_SECONDS = 2.0
# Markdown characters to remove; rendering every message would cost more than indexing it.
MARKUP = str.maketrans("", "", "*_`~>#")

Pause = Callable[[float], object]


def no_pause(seconds: float) -> None:
    """For callers that wait for the result."""


def throttle(pause: Pause, began: float) -> None:
    pause(min(MAX_PAUSE_SECONDS, PAUSE_RATIO * (time.monotonic() - began)))


def index_thread(
    thread_id: str, changed: Collection[str] | None = None, *, pause: Pause = no_pause
) -> None:
    """Indexes new messages and those in `changed`, which has one entry for each change. Without
    `changed`, every message is compared.

    Uses short transactions, since SQLite allows one writer at a time. The progress is stored last:
    a thread that was interrupted still differs from the table and is indexed again."""
    cached = cache.load(thread_id)
    if cached is None:
        remove_thread(thread_id)
        return
    before = IndexedThread.objects.filter(pk=thread_id).first()
    if before is None or before.rev == NOT_INDEXED:
        changed = None
    thread = _put_thread(cached, before)
    _put_all(thread, cached, _different(cached.thread, before, changed), pause)
    thread.seq, thread.last_at = (
        cached.thread.last_seq,
        keys.parse_iso(cached.thread.last_message_at),
    )
    if changed is None or thread.rev + len(changed) >= cached.thread.rev:
        thread.rev = cached.thread.rev
    # Otherwise another process changed something and may have crashed before indexing it: `rev`
    # keeps differing until the whole thread is compared.
    thread.save(update_fields=["seq", "rev", "last_at"])


def remove_thread(thread_id: str) -> None:
    IndexedThread.objects.filter(pk=thread_id).delete()


def _different(
    thread: Thread, before: IndexedThread | None, changed: Collection[str] | None
) -> Iterator[Message]:
    if before is None:
        return _messages(thread.pk, keys.MESSAGES)
    if changed is not None or before.rev == thread.rev:
        return chain(_later(thread, before), _these(thread, changed or ()))
    return (
        message
        for message in _messages(thread.pk, keys.MESSAGES)
        if message.seq > before.seq or message.rev > before.rev
    )


def _later(thread: Thread, before: IndexedThread) -> Iterator[Message]:
    last = before.messages.order_by("-seq").first()
    floor = keys.message_sk(last.message_id) if last else keys.MESSAGES
    return _messages(thread.pk, floor)


def _messages(pk: str, floor: str) -> Iterator[Message]:
    """Without the content of archived messages, which is loaded only for those to be indexed."""
    where = Item.sk.between(floor, f"{keys.MESSAGES}~")
    found = query_all(pk, where, with_contents=False)
    return (item for item in found if isinstance(item, Message))


def _these(thread: Thread, message_ids: Iterable[str]) -> list[Message]:
    wanted = ((thread.pk, keys.message_sk(message_id)) for message_id in message_ids)
    found = get_many(wanted, with_contents=False)
    return [item for item in found if isinstance(item, Message)]


@transaction.atomic
def _put_thread(cached: CachedThread, before: IndexedThread | None) -> IndexedThread:
    names = [_named(person.person) for person in cached.people.values()]
    about = {
        "roster_version": cached.thread.roster_version,
        "kind": cached.thread.kind,
        "about": normalise(" ".join([cached.thread.subject, *names])),
    }
    if before is not None and all(getattr(before, name) == about[name] for name in about):
        return before
    thread, _ = IndexedThread.objects.update_or_create(
        pk=cached.thread.id,
        defaults=about,
        create_defaults=about | {"seq": 0, "rev": NOT_INDEXED},
    )
    thread.people.exclude(user_id__in=cached.people).delete()
    for user_id, person in cached.people.items():
        thread.people.update_or_create(
            user_id=user_id, defaults={"from_seq": person.visible_from_seq}
        )
        # Their earlier messages are found by their new name.
        name = normalise(_named(person.person))
        thread.messages.filter(author_id=user_id).exclude(author=name).update(author=name)
    return thread


def _named(person: Mapping[str, Any]) -> str:
    return f"{person['name']} {person.get('handle', '')}"


def _put_all(
    thread: IndexedThread, cached: CachedThread, messages: Iterator[Message], pause: Pause
) -> None:
    began = time.monotonic()
    while chunk := list(islice(messages, BATCH_SIZE)):
        _put(thread, cached, chunk)
        if len(chunk) == BATCH_SIZE:
            # A long history is throttled after each batch.
            throttle(pause, began)
            began = time.monotonic()


@transaction.atomic
def _put(thread: IndexedThread, cached: CachedThread, messages: list[Message]) -> None:
    """Replaces messages by id, so it is idempotent. Removed and hidden messages are deleted."""
    latest = {message.id: message for message in messages}
    IndexedMessage.objects.filter(message_id__in=list(latest)).delete()
    shown = [one for one in latest.values() if one.type != SYSTEM and not one.is_withheld]
    Message.load_contents(shown)
    indexed = [_indexed(thread, cached, message) for message in shown]
    IndexedMessage.objects.bulk_create(indexed, batch_size=BATCH_SIZE)


def _indexed(thread: IndexedThread, cached: CachedThread, message: Message) -> IndexedMessage:
    kinds = {str(file.get("kind", file.get("type", ""))) for file in message.attachments or []}
    return IndexedMessage(
        message_id=message.id,
        thread=thread,
        seq=message.seq,
        at=keys.parse_iso(message.created_at),
        author_id=message.author_id or "",
        author=normalise(_named(cached.get_person(message.author_id or ""))),
        folded=text_of(message),
        has_image=any(kind.startswith("image") for kind in kinds),
        has_file=any(not kind.startswith("image") for kind in kinds),
        card=str((message.action or {}).get("type", "")),
    )


def text_of(message: Message) -> str:
    """The searchable text: body and names of attachments."""
    names = " ".join(str(file.get("name", "")) for file in message.attachments or [])
    return normalise(f"{(message.body or '').translate(MARKUP)} {names}".strip())


def remove_person(user_id: str) -> list[str]:
    """Removes a user's name from the index. Returns the threads that they wrote in."""
    written = IndexedMessage.objects.filter(author_id=user_id)
    threads = list(written.order_by().values_list("thread_id", flat=True).distinct())
    written.exclude(author="").update(author="")
    # Makes the indexer update the names of these threads.
    IndexedThread.objects.filter(pk__in=threads).update(roster_version=NOT_INDEXED)
    return threads
