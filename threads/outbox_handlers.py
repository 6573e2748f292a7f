"""Handlers of the outbox entries about blocks, mutes and profiles."""

from django.db import transaction
from django.db.models import Q

from accounts.blocks import lock_users
from accounts.models import Block, User
from core.outbox.claims import extend
from core.outbox.handlers import register
from core.outbox.maintenance import make_due
from core.outbox.models import OutboxEntry
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
from threads.signals import profile_changed, thread_changed

PAGE_SIZE = 100


def make_thread_entries_due(thread_id: str) -> None:
    """Called when what postponed a thread's entries, such as a hold or a block, may be over."""
    make_due([f"thread:{thread_id}"])


# --- Blocks


@transaction.atomic
def _handle_block(entry: OutboxEntry) -> None:
    one, other = entry.payload["blocker"], entry.payload["blocked"]
    # Serialises handlers of the same pair, so that the second one reads the current blocks.
    lock_users([one, other])
    is_between = Q(blocker=one, blocked=other) | Q(blocker=other, blocked=one)
    blockers = set(Block.objects.filter(is_between).values_list("blocker_id", flat=True))
    pair = Pair(keys.pair_pk(one, other), keys.STATE)
    _update_pair(pair, (one, other), _blocked_by_change(blockers))
    for thread in _list_threads(pair):
        extend(entry)
        _update_participants(thread.thread_id, (one, other), _blocked_by_change(blockers))
        cache.invalidate(thread.thread_id)
        publish_thread_changed(thread.thread_id)
        make_thread_entries_due(thread.thread_id)
    for user_id in (one, other):
        recheck_visibility(user_id)


def _update_pair(pair: Pair, users: tuple[str, str], change: Change) -> None:
    """Increments the block versions of both, which conflicts with transactions that add them."""
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


def _update_participants(thread_id: str, users: tuple[str, str], change: Change) -> None:
    """Updates both participants or, if one of them has left, neither."""
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


def _blocked_by_change(blockers: set[str]) -> Change:
    return Change(set={"blocked_by": blockers}) if blockers else Change(remove=("blocked_by",))


def _list_threads(pair: Pair) -> list[PairThread]:
    where = Item.sk.startswith(keys.PAIR_THREADS)
    page = query(pair.pk, where, limit=PAGE_SIZE)
    threads = page.of(PairThread)
    while page.next_key:
        page = query(pair.pk, where, limit=PAGE_SIZE, after=page.next_key)
        threads += page.of(PairThread)
    return threads


# --- Mutes by staff


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
        make_thread_entries_due(row.thread_id)


# --- Profiles


def _handle_profile(entry: OutboxEntry) -> None:
    # Not in a SQL transaction: a user may have a thousand threads, and SQLite has one writer.
    user = User.objects.filter(pk=entry.payload["user"]).first()
    if user is None:
        return
    # Versioned by the entry, so that of two concurrent handlers the newer one prevails.
    person = build_person(user) | {"rev": entry.pk}
    profile = Profile(keys.user_pk(user.id), keys.PROFILE)
    not_newer = Profile.rev.does_not_exist() | (Profile.rev <= entry.pk)
    update(profile, profile_change(user, rev=entry.pk), not_newer)
    profile_changed.send(None, user_id=user.id)
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
