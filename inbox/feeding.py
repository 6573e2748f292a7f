"""How the index of search gets what it holds: after the fact, from the table, never while sending.

Whoever changes a thread in this process notes it; a thread of the server takes in what was noted, a
moment later. What a crash forgot, or another program wrote, is found by the archive's work list: it
names the threads that had messages on a day, and each is compared with what the index has of it.
"""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from itertools import chain, islice
from typing import Any

import structlog
from django.db import close_old_connections, connection, transaction
from django.utils import timezone

from accounts.models import User
from inbox.folding import fold
from inbox.models import Checked, IndexedMessage, IndexedThread
from realtime.figures import SEARCH_LAG
from threads import state as states
from threads.models import ArchiveDue, Message, Thread, keys
from threads.models.message import SYSTEM
from threads.models.participant import ARCHIVED_FOLDER, INBOX, REQUESTS, SPAM, Participant
from threads.models.table import Item, get_many, query
from threads.state import ThreadState

log = structlog.get_logger(__name__)

EVERY = 1.0
COMPARE_EVERY = 600.0
BATCH = 500
# The revision of a thread of which not everything is taken in.
NOTHING_YET = -1
# Of its time a feeder works a tenth: people who write come first, and what waits is not lost.
REST = 9.0
LONGEST_REST = 2.0
# Left out, so that a word is a word; rendering every message would cost more than all the rest.
MARKUP = str.maketrans("", "", "*_`~>#")

_lock = threading.Lock()
# By thread: since when it waits, and which of its messages were changed.
_since: dict[str, float] = {}
_changed: dict[str, set[str]] = defaultdict(set)
# Those of the round that is being taken in.
_taking: dict[str, float] = {}


def lag() -> float:
    """Seconds that the oldest change waits which search does not know yet: it grows if it stops."""
    with _lock:
        waiting = [*_since.values(), *_taking.values()]
    return time.monotonic() - min(waiting) if waiting else 0.0


SEARCH_LAG.set_function(lag)


def note(thread_id: str, changed: str | None = None, *, since: float | None = None) -> None:
    """Cheap, and all that happens on the path of whoever changes something."""
    with _lock:
        now = time.monotonic() if since is None else since
        _since[thread_id] = min(now, _since.get(thread_id, now))
        if changed is not None:
            _changed[thread_id].add(changed)


Pause = Callable[[float], object]


def feed_noted(pause: Pause = lambda seconds: None) -> int:
    """Takes in what was noted; what fails is noted again."""
    with _lock:
        noted, changed = dict(_since), dict(_changed)
        _taking.update(noted)
        _since.clear()
        _changed.clear()
    slowest = 0.0
    for thread_id in noted:
        began = time.monotonic()
        try:
            take_in(thread_id, changed.get(thread_id, set()), pause=pause)
        except Exception:
            log.exception("search_feed_failed", thread=thread_id)
            for message_id in changed.get(thread_id, {None}):
                note(thread_id, message_id, since=noted[thread_id])
        slowest = max(slowest, time.monotonic() - noted[thread_id])
        with _lock:
            del _taking[thread_id]
        _rest(pause, began)
    if noted:
        log.info("search_fed", threads=len(noted), lag_seconds=round(slowest, 3))
    return len(noted)


def _rest(pause: Pause, began: float) -> None:
    pause(min(LONGEST_REST, REST * (time.monotonic() - began)))


def feed_forever(stop: threading.Event) -> None:
    """The server runs this in a thread of its own."""
    next_comparison = 0.0
    while not stop.is_set():
        try:
            close_old_connections()
            feed_noted(stop.wait)
            if time.monotonic() >= next_comparison:
                compare(stop.wait)
                next_comparison = time.monotonic() + COMPARE_EVERY
        except Exception:
            log.exception("search_feeder_failed")
        stop.wait(EVERY)
    connection.close()


# --- One thread


def take_in(
    thread_id: str,
    changed: Iterable[str] = (),
    *,
    anew: bool = False,
    pause: Pause = lambda seconds: None,
) -> None:
    """What is new, and what is known to have changed; all of it, if that is not known.

    In short transactions, since SQLite lets one write at a time. How far it got is written last: a
    thread that was left half is found to differ, and taken in anew."""
    state = states.read(thread_id)
    if state is None:
        IndexedThread.objects.filter(pk=thread_id).delete()
        return
    before = None if anew else IndexedThread.objects.filter(pk=thread_id).first()
    messages: Iterator[Message]
    if before is not None and (before.rev == state.thread.rev or changed):
        messages = chain(_later(state.thread, before), _these(state.thread, changed))
    else:
        IndexedThread.objects.filter(pk=thread_id).delete()
        before = None
        messages = _messages(state.thread.pk, keys.MESSAGES)
    thread = _put_thread(state, before)
    began = time.monotonic()
    while chunk := list(islice(messages, BATCH)):
        _put_messages(thread, state, chunk)
        if len(chunk) == BATCH:
            # Of a long history it rests after each part, too.
            _rest(pause, began)
            began = time.monotonic()
    IndexedThread.objects.filter(pk=thread_id).update(
        seq=state.thread.last_seq,
        rev=state.thread.rev,
        last_at=keys.moment(state.thread.last_message_at),
    )


def _later(thread: Thread, before: IndexedThread) -> Iterator[Message]:
    last = before.messages.order_by("-seq").first()
    floor = keys.message_sk(last.message_id) if last else keys.MESSAGES
    return _messages(thread.pk, floor)


def _messages(pk: str, floor: str) -> Iterator[Message]:
    where = Item.sk.between(floor, f"{keys.MESSAGES}~")
    page = query(pk, where, limit=BATCH)
    yield from page.of(Message)
    while page.next_key:
        page = query(pk, where, limit=BATCH, after=page.next_key)
        yield from page.of(Message)


def _these(thread: Thread, message_ids: Iterable[str]) -> list[Message]:
    found = get_many((thread.pk, keys.message_sk(message_id)) for message_id in message_ids)
    return [item for item in found if isinstance(item, Message)]


@transaction.atomic
def _put_thread(state: ThreadState, before: IndexedThread | None) -> IndexedThread:
    names = [_named(person.person) for person in state.people.values()]
    about = {
        "roster_version": state.thread.roster_version,
        "kind": state.thread.kind,
        "about": fold(" ".join([state.thread.subject, *names])),
    }
    if before is not None and all(getattr(before, name) == about[name] for name in about):
        return before
    thread, _ = IndexedThread.objects.update_or_create(
        pk=state.thread.id,
        defaults=about,
        create_defaults=about | {"seq": 0, "rev": NOTHING_YET},
    )
    thread.people.exclude(user_id__in=state.people).delete()
    for user_id, person in state.people.items():
        thread.people.update_or_create(
            user_id=user_id, defaults={"from_seq": person.visible_from_seq}
        )
        # Under a new name, if they have one, they have said what they said before.
        name = fold(_named(person.person))
        thread.messages.filter(author_id=user_id).exclude(author=name).update(author=name)
    return thread


def _named(person: Mapping[str, Any]) -> str:
    return f"{person['name']} {person.get('handle', '')}"


@transaction.atomic
def _put_messages(thread: IndexedThread, state: ThreadState, messages: list[Message]) -> None:
    """By their ids, so that twice is once. What was removed or hidden goes."""
    latest = {message.id: message for message in messages}
    IndexedMessage.objects.filter(message_id__in=list(latest)).delete()
    IndexedMessage.objects.bulk_create(
        [
            _indexed(thread, state, message)
            for message in latest.values()
            if message.type != SYSTEM and not message.is_gone
        ],
        batch_size=BATCH,
    )


def _indexed(thread: IndexedThread, state: ThreadState, message: Message) -> IndexedMessage:
    kinds = {str(file.get("kind", file.get("type", ""))) for file in message.attachments or []}
    return IndexedMessage(
        message_id=message.id,
        thread=thread,
        seq=message.seq,
        at=keys.moment(message.created_at),
        author_id=message.author_id or "",
        author=fold(_named(state.name_of(message.author_id or ""))),
        folded=text_of(message),
        has_image=any(kind.startswith("image") for kind in kinds),
        has_file=any(not kind.startswith("image") for kind in kinds),
        card=str((message.action or {}).get("type", "")),
    )


def forget_person(user_id: str) -> list[str]:
    """Their name, under what they wrote and on the threads they were in; and which those are."""
    written = IndexedMessage.objects.filter(author_id=user_id)
    threads = list(written.order_by().values_list("thread_id", flat=True).distinct())
    written.exclude(author="").update(author="")
    # Taken in anew with the names of those who are there.
    IndexedThread.objects.filter(pk__in=threads).update(roster_version=NOTHING_YET)
    return threads


def text_of(message: Message) -> str:
    """What one can find it by."""
    names = " ".join(str(file.get("name", "")) for file in message.attachments or [])
    return fold(f"{(message.body or '').translate(MARKUP)} {names}".strip())


# --- All of them


def compare(pause: Pause = lambda seconds: None) -> int:
    """Threads with messages since the day that was checked last; those that differ are taken in."""
    checked = Checked.objects.first()
    today = timezone.now().date()
    if checked is None:
        taken = rebuild(pause)
    else:
        # A day more: what was sent just before midnight may have been missed.
        since = date.fromisoformat(checked.day) - timedelta(days=1)
        days = [since + timedelta(days=n) for n in range((today - since).days + 1)]
        taken = _take_in_different(_due(days), pause)
    Checked.objects.update_or_create(pk=1, defaults={"day": today.isoformat()})
    return taken


def rebuild(pause: Pause = lambda seconds: None) -> int:
    """Anew, thread by thread: what is there stays findable meanwhile."""
    threads = set(_all_threads())
    for thread_id in IndexedThread.objects.exclude(pk__in=threads).values_list("pk", flat=True):
        IndexedThread.objects.filter(pk=thread_id).delete()
    for thread_id in sorted(threads):
        began = time.monotonic()
        take_in(thread_id, anew=True, pause=pause)
        _rest(pause, began)
    return len(threads)


def _all_threads() -> Iterator[str]:
    """Through the people and their folders: there is no Scan."""
    for user_id in User.objects.values_list("pk", flat=True).iterator():
        for folder in (INBOX, REQUESTS, ARCHIVED_FOLDER, SPAM):
            pk = keys.inbox_pk(user_id, folder)
            page = query(pk, limit=BATCH, index=Item.inbox)
            yield from (row.thread_id for row in page.of(Participant))
            while page.next_key:
                page = query(pk, limit=BATCH, index=Item.inbox, after=page.next_key)
                yield from (row.thread_id for row in page.of(Participant))


def _due(days: list[date]) -> Iterator[str]:
    for day in days:
        for shard in range(keys.ARCHIVE_SHARDS):
            pk = keys.archive_shard_pk(day.isoformat(), shard)
            page = query(pk, limit=BATCH)
            yield from (due.sk.removeprefix(keys.PAIR_THREADS) for due in page.of(ArchiveDue))
            while page.next_key:
                page = query(pk, limit=BATCH, after=page.next_key)
                yield from (due.sk.removeprefix(keys.PAIR_THREADS) for due in page.of(ArchiveDue))


def _take_in_different(thread_ids: Iterable[str], pause: Pause) -> int:
    wanted = sorted(set(thread_ids))
    taken = 0
    for start in range(0, len(wanted), 100):
        chunk = wanted[start : start + 100]
        known = {each.pk: each for each in IndexedThread.objects.filter(pk__in=chunk)}
        for thread in get_many((keys.thread_pk(thread_id), keys.THREAD) for thread_id in chunk):
            if isinstance(thread, Thread) and _differs(thread, known.get(thread.id)):
                began = time.monotonic()
                take_in(thread.id, pause=pause)
                taken += 1
                _rest(pause, began)
    return taken


def _differs(thread: Thread, known: IndexedThread | None) -> bool:
    if known is None:
        return True
    now = (thread.last_seq, thread.rev, thread.roster_version)
    return now != (known.seq, known.rev, known.roster_version)
