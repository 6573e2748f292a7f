"""The relay: processes the entries of the outbox, and most of their handlers.

The action that wrote an entry processes it at once; what a crash, an outage or a hold left over is
processed here, at start-up and every few seconds. accounts/outbox keeps order and claims.
"""

import threading
from collections.abc import Iterable

import structlog
from django.db import close_old_connections, connection, transaction
from django.db.models import Q

from accounts.blocks import lock_users
from accounts.models import Block, User
from core import metrics
from core.outbox import maintenance
from core.outbox.claims import extend
from core.outbox.handlers import entry_processed, register
from core.outbox.models import OutboxEntry
from core.outbox.processing import HandlerOutcome, process_due, process_now
from realtime.broadcast.delivery import recheck_visibility
from threads import cache
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import Item, query
from threads.dynamodb.transactions import Transaction, TransactionCancelled, update
from threads.events import publish_thread_changed
from threads.models import BlockVersion, Pair, PairThread, Participant, Profile
from threads.models.profiles import build_person, muted_until, profile_change, update_person_copies
from threads.queries import list_all_rows, list_invitations
from threads.signals import thread_changed

log = structlog.get_logger(__name__)

POLL_SECONDS = 3.0
PAGE_SIZE = 100


def process_entry(entry: OutboxEntry) -> bool:
    """Whether the entry is done now; if not, the relay will try again."""
    process_now([entry])
    return OutboxEntry.objects.filter(pk=entry.pk, done_at__isnull=False).exists()


def process_entries(entries: Iterable[OutboxEntry]) -> None:
    """By an action, once its entries are committed."""
    process_now(entries)


def process_due_entries() -> int:
    """One batch of the entries that are due; returns how many are done."""
    return process_due()


def run_relay(stop: threading.Event) -> None:
    """The server runs this in a thread of its own."""
    while not stop.is_set():
        try:
            close_old_connections()
            while process_due(stop=stop.is_set):
                pass
            measure()
        except Exception:
            log.exception("relay_failed")
        stop.wait(POLL_SECONDS)
    connection.close()


def wake_thread(thread_id: str) -> None:
    """What postponed its entries, such as a hold or a block, may be over: they are due now."""
    maintenance.make_due([f"thread:{thread_id}"])


def measure() -> None:
    backlog = maintenance.measure_backlog()
    metrics.OUTBOX_PENDING.set(backlog.pending)
    metrics.OUTBOX_DEAD_LETTERS.set(backlog.dead)
    metrics.OUTBOX_LAG.set(backlog.lag_seconds)


def _count(entry: OutboxEntry, outcome: HandlerOutcome, **_: object) -> None:
    metrics.OUTBOX_ENTRIES.labels(entry.kind, outcome).inc()


entry_processed.connect(_count)


# --- Blocks


@transaction.atomic
def _handle_block(entry: OutboxEntry) -> None:
    one, other = entry.payload["blocker"], entry.payload["blocked"]
    # Of two who carry at once, the second waits and then reads what the first left.
    lock_users([one, other])
    between = Q(blocker=one, blocked=other) | Q(blocker=other, blocked=one)
    blockers = set(Block.objects.filter(between).values_list("blocker_id", flat=True))
    pair = Pair(keys.pair_pk(one, other), keys.STATE)
    _set_pair(pair, (one, other), _blocked_by(blockers))
    for thread in _threads_of(pair):
        extend(entry)
        _set_for_both(thread.thread_id, (one, other), _blocked_by(blockers))
        cache.invalidate(thread.thread_id)
        publish_thread_changed(thread.thread_id)
        wake_thread(thread.thread_id)
    for user_id in (one, other):
        recheck_visibility(user_id)


def _set_pair(pair: Pair, users: tuple[str, str], change: Change) -> None:
    """With the block versions of both: whoever adds one of them notices it in the transaction."""
    backoff = Backoff()
    while True:
        write = Transaction()
        write.update("pair", pair, change)
        for user_id in users:
            version = BlockVersion(keys.user_pk(user_id), keys.BLOCKS)
            write.update(user_id, version, Change(add={"version": 1}))
        try:
            write.commit()
            return
        except TransactionCancelled:
            backoff.wait()


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
        except TransactionCancelled as cancelled:
            if any(cancelled.failed(user_id) for user_id in users):
                return
        backoff.wait()


def _blocked_by(blockers: set[str]) -> Change:
    return Change(set={"blocked_by": blockers}) if blockers else Change(remove=("blocked_by",))


def _threads_of(pair: Pair) -> list[PairThread]:
    where = Item.sk.startswith(keys.PAIR_THREADS)
    page = query(pair.pk, where, limit=PAGE_SIZE)
    threads = page.of(PairThread)
    while page.next_key:
        page = query(pair.pk, where, limit=PAGE_SIZE, after=page.next_key)
        threads += page.of(PairThread)
    return threads


# --- Staff have told somebody not to write


def _handle_mute(entry: OutboxEntry) -> None:
    user = User.objects.filter(pk=entry.payload["user"]).first()
    if user is None:
        return
    until = muted_until(user)
    change = Change(set={"blocked_until": until}) if until else Change(remove=("blocked_until",))
    for row in list_all_rows(user.id):
        extend(entry)
        update(Participant(row.pk, row.sk), change, Participant.pk.exists())
        cache.invalidate(row.thread_id)
        publish_thread_changed(row.thread_id)
        wake_thread(row.thread_id)


# --- Profiles


def _handle_profile(entry: OutboxEntry) -> None:
    # Not in a transaction: somebody has a thousand threads, and SQLite has one writer.
    user = User.objects.filter(pk=entry.payload["user"]).first()
    if user is None:
        return
    # Stamped, so that of two that are carried at once the older does not come out on top.
    person = build_person(user) | {"rev": entry.pk}
    profile = Profile(keys.user_pk(user.id), keys.PROFILE)
    not_newer = Profile.rev.does_not_exist() | (Profile.rev <= entry.pk)
    update(profile, profile_change(user, rev=entry.pk), not_newer)
    for row in list_all_rows(user.id):
        extend(entry)
        update_person_copies(row, person)
        cache.invalidate(row.thread_id)
        thread_changed.send(None, thread_id=row.thread_id)
    for invitation in list_invitations(user.id):
        update_person_copies(invitation, person)
        cache.invalidate(invitation.thread_id)


register("block", _handle_block)
register("mute", _handle_mute)
register("profile", _handle_profile)
