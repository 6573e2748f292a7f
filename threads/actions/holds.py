"""Holding one author's sending in one thread until staff decide about a blocked message.

The hold is an attribute of the author's participant item and a condition of everything they write.
It changes nothing of the thread: the others write on, and nothing published tells them of it.
"""

from threads import cache
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, query_all
from threads.dynamodb.transactions import update
from threads.events import publish_thread_changed_to
from threads.models import FormerParticipant, Participant
from threads.outbox_handlers import wake_thread

Holder = Participant | FormerParticipant


def hold_author(*, thread_id: str, user_id: str, reason: str, case_id: str) -> None:
    """The first hold stays: a repeat changes nothing."""
    hold = Change(set_if_absent={"sending_hold": {"reason": reason, "case": case_id}})
    _change(thread_id, user_id, hold)


def release_author(*, thread_id: str, user_id: str) -> None:
    _change(thread_id, user_id, Change(remove=("sending_hold",)))
    wake_thread(thread_id)


def release_case(*, thread_id: str, case_id: str) -> None:
    """Everybody who is held under the case, also if they have left."""
    for holder in list_held(thread_id):
        if (holder.sending_hold or {}).get("case") == case_id:
            release_author(thread_id=thread_id, user_id=holder.user_id)


def list_held(thread_id: str) -> list[Holder]:
    pk = keys.thread_pk(thread_id)
    found: list[Holder] = []
    for prefix in (keys.PARTICIPANTS, keys.FORMER_PARTICIPANTS):
        for item in query_all(pk, Item.sk.startswith(prefix)):
            if isinstance(item, Holder) and item.sending_hold:
                found.append(item)
    return found


def _change(thread_id: str, user_id: str, change: Change) -> None:
    pk = keys.thread_pk(thread_id)
    there = Participant(pk, keys.participant_sk(user_id))
    gone = FormerParticipant(pk, keys.former_participant_sk(user_id))
    update(there, change, Participant.pk.exists())
    update(gone, change, FormerParticipant.pk.exists())
    cache.invalidate(thread_id)
    publish_thread_changed_to(thread_id, to=user_id)
