"""One thread in the index of search: what is new in it, what was changed, and who may find it."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Any

from django.db import transaction

from inbox.models import IndexedMessage, IndexedThread
from inbox.search.normalise import normalise
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, get_many, query_all
from threads.models import Message, Thread
from threads.models.message import SYSTEM

BATCH = 500
# The revision of a thread of which not everything is taken in.
NOT_INDEXED = -1
# Of its time a feeder works a twentieth: people who write come first, and what waits is not lost.
# The more has come meanwhile, the less a message costs.
PAUSE_RATIO = 19.0
MAX_PAUSE_SECONDS = 2.0
# Left out, so that a word is a word; rendering every message would cost more than all the rest.
MARKUP = str.maketrans("", "", "*_`~>#")

Pause = Callable[[float], object]


def no_pause(seconds: float) -> None:
    """For whoever waits until it is done."""


def throttle(pause: Pause, began: float) -> None:
    pause(min(MAX_PAUSE_SECONDS, PAUSE_RATIO * (time.monotonic() - began)))


def index_thread(
    thread_id: str, changed: Collection[str] | None = None, *, pause: Pause = no_pause
) -> None:
    """What is new, and the changes that are known: a message each, as often as it was changed.
    None: they are not known, and every message is looked at.

    In short transactions, since SQLite lets one write at a time. How far it got is written last: a
    thread that was left half is found to differ, and looked at again."""
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
    # Otherwise somebody else has changed something, who may have died before it was taken in: the
    # numbers go on differing, until all of it is looked at.
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
    """As they are in the table: an archive is opened only for those that are taken in."""
    where = Item.sk.between(floor, f"{keys.MESSAGES}~")
    found = query_all(pk, where, whole=False)
    return (item for item in found if isinstance(item, Message))


def _these(thread: Thread, message_ids: Iterable[str]) -> list[Message]:
    wanted = ((thread.pk, keys.message_sk(message_id)) for message_id in message_ids)
    found = get_many(wanted, whole=False)
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
        # Under a new name, if they have one, they have said what they said before.
        name = normalise(_named(person.person))
        thread.messages.filter(author_id=user_id).exclude(author=name).update(author=name)
    return thread


def _named(person: Mapping[str, Any]) -> str:
    return f"{person['name']} {person.get('handle', '')}"


def _put_all(
    thread: IndexedThread, cached: CachedThread, messages: Iterator[Message], pause: Pause
) -> None:
    began = time.monotonic()
    while chunk := list(islice(messages, BATCH)):
        _put(thread, cached, chunk)
        if len(chunk) == BATCH:
            # Of a long history it rests after each part, too.
            throttle(pause, began)
            began = time.monotonic()


@transaction.atomic
def _put(thread: IndexedThread, cached: CachedThread, messages: list[Message]) -> None:
    """By their ids, so that twice is once. What was removed or hidden goes."""
    latest = {message.id: message for message in messages}
    IndexedMessage.objects.filter(message_id__in=list(latest)).delete()
    shown = [one for one in latest.values() if one.type != SYSTEM and not one.is_redacted]
    Message.complete(shown)
    indexed = [_indexed(thread, cached, message) for message in shown]
    IndexedMessage.objects.bulk_create(indexed, batch_size=BATCH)


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
    """What one can find it by."""
    names = " ".join(str(file.get("name", "")) for file in message.attachments or [])
    return normalise(f"{(message.body or '').translate(MARKUP)} {names}".strip())


def remove_person(user_id: str) -> list[str]:
    """Their name, under what they wrote and on the threads they were in; and which those are."""
    written = IndexedMessage.objects.filter(author_id=user_id)
    threads = list(written.order_by().values_list("thread_id", flat=True).distinct())
    written.exclude(author="").update(author="")
    # Taken in anew with the names of those who are there.
    IndexedThread.objects.filter(pk__in=threads).update(roster_version=NOT_INDEXED)
    return threads
