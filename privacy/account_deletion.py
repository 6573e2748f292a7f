"""The outbox handler that deletes an account in DynamoDB. Every step is idempotent: after a failure
the relay runs the handler again."""

from accounts.models import User
from contracts.actions.billing import delete_billing_details
from core.outbox.claims import extend
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from files import storage
from files.cleanup import exclude_retained
from files.exports import delete_exports
from files.queries import list_unused
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

# Refusals after which the user stays a participant, without a name: the thread is read-only, or the
# request was never accepted.
REMAINS_CODES = {"THREAD_LOCKED", "SAFETY_SOFT_BLOCK", "REQUEST_PENDING"}


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
        # Before leaving, so that the system message about it has no name.
        update_person_copies(row, person)
        cache.invalidate(row.thread_id)
        _leave(user, row.thread_id)
    for invitation in list_invitations(user.id):
        anonymise_messages(invitation.thread_id, user.id, names)
        invitation.delete()
        cache.invalidate(invitation.thread_id)
    for thread_id in sorted({*_list_written_threads(user), *_list_left_threads(user)}):
        extend(entry)
        anonymise_messages(thread_id, user.id, names)
        _anonymise_former(thread_id, user, person)
    anonymise_cards(user)
    _delete_owned(user)
    OutboxEntry.objects.filter(pk=entry.pk).update(payload={"user": user.id})


def _leave(user: User, thread_id: str) -> None:
    try:
        leave_thread(user, thread_id=thread_id)
    except StoreUnavailable:
        raise
    except Refusal as refusal:
        if refusal.code not in REMAINS_CODES and refusal.code != "THREAD_NOT_FOUND":
            raise


def _list_written_threads(user: User) -> list[str]:
    """Threads with messages of the user, also those they left long ago."""
    responses = account_deleted.send(sender=User, user_id=user.id)
    return [thread_id for _, found in responses for thread_id in found or ()]


def _list_left_threads(user: User) -> list[str]:
    items = query_all(keys.user_pk(user.id), Item.sk.startswith(keys.LEFT_THREADS))
    return [item.thread_id for item in items if isinstance(item, LeftThread)]


def _anonymise_former(thread_id: str, user: User, person: dict[str, object]) -> None:
    pk, sk = keys.thread_pk(thread_id), keys.former_participant_sk(user.id)
    former = FormerParticipant(pk, sk)
    if update(former, Change(set={"person": person}), FormerParticipant.pk.exists()):
        cache.invalidate(thread_id)
    thread_changed.send(sender=User, thread_id=thread_id)


def _delete_owned(user: User) -> None:
    """Deletes the profile, drafts, markers, devices, unsent uploads and exports. Sent messages and
    files are kept for their recipients."""
    for item in list(query_all(keys.user_pk(user.id))):
        if isinstance(item, UserConnection):
            Connection(keys.connection_pk(item.id), keys.METADATA).delete()
        item.delete()
    # Files that a case retains are deleted by cleanup once it is resolved.
    for file in exclude_retained(list_unused().filter(owner=user)):
        storage.delete(file)
        file.delete()
    delete_exports(user)
    delete_billing_details(user)
