"""Carries the deletion of an account to the table. Every step can be done again: whatever stops it,
the relay begins anew and finds done what is done."""

from accounts.models import User
from core.outbox.claims import extend
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from files import storage
from files.cleanup import exclude_retained
from files.exports import delete_exports
from files.models import File
from privacy.anonymise import anonymise_cards, anonymise_messages, anonymise_outbox, list_names
from threads import cache
from threads.actions.participants import leave_thread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.store import StoreUnavailable
from threads.dynamodb.table import Item, query_all
from threads.dynamodb.transactions import update
from threads.models import Connection, FormerParticipant, LeftThread, UserConnection
from threads.models.profiles import build_person, update_person_copies
from threads.queries import list_all_rows, list_invitations
from threads.signals import account_deleted, thread_changed

# Then they stay in it, without a name: nothing may be changed there, or nobody has let them in.
STAYS = {"THREAD_LOCKED", "SAFETY_SOFT_BLOCK", "REQUEST_PENDING"}


def handle_deletion(entry: OutboxEntry) -> None:
    user = User.objects.filter(pk=entry.payload["user"]).first()
    if user is None or user.deleted_at is None:
        return
    person, payload = build_person(user) | {"rev": entry.pk}, entry.payload
    names = list_names(user, [*payload.get("names", []), payload.get("name", "")])
    anonymise_outbox(user, names)
    for row in list_all_rows(user.id):
        extend(entry)
        anonymise_messages(row.thread_id, user.id, names)
        # First without a name, so that none is in what is said of their going.
        update_person_copies(row, person)
        cache.invalidate(row.thread_id)
        _leave(user, row.thread_id)
    for invitation in list_invitations(user.id):
        anonymise_messages(invitation.thread_id, user.id, names)
        invitation.delete()
        cache.invalidate(invitation.thread_id)
    for thread_id in sorted({*_written_in(user), *_left(user)}):
        extend(entry)
        anonymise_messages(thread_id, user.id, names)
        _forget_name(thread_id, user, person)
    anonymise_cards(user)
    _discard_belongings(user)
    OutboxEntry.objects.filter(pk=entry.pk).update(payload={"user": user.id})


def _leave(user: User, thread_id: str) -> None:
    try:
        leave_thread(user, thread_id=thread_id)
    except StoreUnavailable:
        raise
    except Refusal as refusal:
        if refusal.code not in STAYS and refusal.code != "THREAD_NOT_FOUND":
            raise


def _written_in(user: User) -> list[str]:
    """Also where they left long ago: there it is only their words that lead to them."""
    heard = account_deleted.send(sender=User, user_id=user.id)
    return [thread_id for _, found in heard for thread_id in found or ()]


def _left(user: User) -> list[str]:
    items = query_all(keys.user_pk(user.id), Item.sk.startswith(keys.LEFT_THREADS))
    return [item.thread_id for item in items if isinstance(item, LeftThread)]


def _forget_name(thread_id: str, user: User, person: dict[str, object]) -> None:
    pk, sk = keys.thread_pk(thread_id), keys.former_participant_sk(user.id)
    former = FormerParticipant(pk, sk)
    if update(former, Change(set={"person": person}), FormerParticipant.pk.exists()):
        cache.invalidate(thread_id)
    thread_changed.send(sender=User, thread_id=thread_id)


def _discard_belongings(user: User) -> None:
    """Profile, drafts, markers, devices; what was brought and not sent; what was to be taken along.
    What was sent stays with those it was sent to."""
    for item in list(query_all(keys.user_pk(user.id))):
        if isinstance(item, UserConnection):
            Connection(keys.connection_pk(item.id), keys.METADATA).delete()
        item.delete()
    # What a case needs goes when it is resolved, by the sweeper.
    for file in exclude_retained(File.objects.filter(owner=user, uses=None, tab_use=None)):
        storage.delete(file)
        file.delete()
    delete_exports(user)
