"""Carries what changed in the relational store to the table, once it is committed there.

The action that made an entry carries it at once; what a crash or an outage left behind is carried
by `carry_waiting`, at start-up and every few seconds. Each carrier writes what is true now, not
what the entry says, so that doing it twice, or late, changes nothing.
"""

import threading
from collections.abc import Callable, Iterable

import structlog
from django.db import close_old_connections, connection, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import Block, OutboxEntry, User
from realtime.delivery import look_again
from threads import state as states
from threads.cards.carrying import Postponed
from threads.changed import thread_changed
from threads.models import Pair, PairThread, Participant, Profile, keys
from threads.models.changes import Cancelled, Change, Transaction, update
from threads.models.retry import Backoff
from threads.models.store import StoreUnavailable
from threads.models.table import Item, query
from threads.panel.promotion import carry_booking
from threads.profiles import copy_person, muted_until, person_of, profile_change
from threads.queries import list_all_rows
from threads.telling import tell_standing

log = structlog.get_logger(__name__)

EVERY = 3.0
BATCH = 100


def carry(entry: OutboxEntry) -> bool:
    """Whether it is done; if the table does not answer, it waits for the next time."""
    try:
        CARRIERS[entry.kind](entry)
    except StoreUnavailable:
        log.warning("outbox_waits", entry=entry.pk, kind=entry.kind)
        return False
    OutboxEntry.objects.filter(pk=entry.pk).update(done_at=timezone.now())
    return True


def carry_all(entries: Iterable[OutboxEntry]) -> None:
    """By an action that is done with its own part: what does not go through waits for the relay."""
    for entry in entries:
        _try(entry)


def carry_waiting() -> int:
    """Oldest first; stops when the table does not answer. One that is broken holds up no other."""
    carried = 0
    for entry in OutboxEntry.objects.filter(done_at__isnull=True).order_by("id")[:BATCH]:
        is_carried = _try(entry)
        if is_carried is False:
            break
        carried += bool(is_carried)
    return carried


def _try(entry: OutboxEntry) -> bool | None:
    """None if this one cannot go, whatever the others do."""
    try:
        return carry(entry)
    except Postponed:
        log.info("outbox_postponed", entry=entry.pk, kind=entry.kind)
    except Exception:
        log.exception("outbox_entry_failed", entry=entry.pk, kind=entry.kind)
    return None


def carry_forever(stop: threading.Event) -> None:
    """The server runs this in a thread of its own."""
    while not stop.is_set():
        try:
            close_old_connections()
            carry_waiting()
        except Exception:
            log.exception("relay_failed")
        stop.wait(EVERY)
    connection.close()


# --- Blocks


@transaction.atomic
def _carry_block(entry: OutboxEntry) -> None:
    one, other = entry.payload["blocker"], entry.payload["blocked"]
    # Of two who carry at once, the second waits and then reads what the first left.
    list(User.objects.select_for_update().filter(pk__in=[one, other]).order_by("pk"))
    between = Q(blocker=one, blocked=other) | Q(blocker=other, blocked=one)
    blockers = set(Block.objects.filter(between).values_list("blocker_id", flat=True))
    pair = Pair(keys.pair_pk(one, other), keys.STATE)
    update(pair, _blocked_by(blockers), None)
    for thread in _threads_of(pair):
        _set_for_both(thread.thread_id, (one, other), _blocked_by(blockers))
        states.forget(thread.thread_id)
        tell_standing(thread.thread_id)
    for user_id in (one, other):
        look_again(user_id)


def _set_for_both(thread_id: str, users: tuple[str, str], change: Change) -> None:
    """Both or neither: where one of the two has left, it is between others now."""
    backoff = Backoff()
    while True:
        write = Transaction()
        for user_id in users:
            person = Participant(keys.thread_pk(thread_id), keys.participant_sk(user_id))
            write.update(user_id, person, change, Participant.pk.exists())
        try:
            write.commit()
            return
        except Cancelled as cancelled:
            if any(cancelled.failed(user_id) for user_id in users):
                return
        backoff.wait()


def _blocked_by(blockers: set[str]) -> Change:
    return Change(set={"blocked_by": blockers}) if blockers else Change(remove=("blocked_by",))


def _threads_of(pair: Pair) -> list[PairThread]:
    where = Item.sk.startswith(keys.PAIR_THREADS)
    page = query(pair.pk, where, limit=BATCH)
    threads = page.of(PairThread)
    while page.next_key:
        page = query(pair.pk, where, limit=BATCH, after=page.next_key)
        threads += page.of(PairThread)
    return threads


# --- Staff have told somebody not to write


def _carry_mute(entry: OutboxEntry) -> None:
    user = User.objects.filter(pk=entry.payload["user"]).first()
    if user is None:
        return
    until = muted_until(user)
    change = Change(set={"blocked_until": until}) if until else Change(remove=("blocked_until",))
    for row in list_all_rows(user.id):
        update(Participant(row.pk, row.sk), change, Participant.pk.exists())
        states.forget(row.thread_id)
        tell_standing(row.thread_id)


# --- Profiles


def _carry_profile(entry: OutboxEntry) -> None:
    # Not in a transaction: somebody has a thousand threads, and SQLite has one writer.
    user = User.objects.filter(pk=entry.payload["user"]).first()
    if user is None:
        return
    # Stamped, so that of two that are carried at once the older does not come out on top.
    person = person_of(user) | {"rev": entry.pk}
    profile = Profile(keys.user_pk(user.id), keys.PROFILE)
    not_newer = Profile.rev.does_not_exist() | (Profile.rev <= entry.pk)
    update(profile, profile_change(user, rev=entry.pk), not_newer)
    for row in list_all_rows(user.id):
        copy_person(row, person)
        states.forget(row.thread_id)
        thread_changed.send(None, thread_id=row.thread_id)


CARRIERS: dict[str, Callable[[OutboxEntry], None]] = {
    "block": _carry_block,
    "mute": _carry_mute,
    "profile": _carry_profile,
    "booking": carry_booking,
}
