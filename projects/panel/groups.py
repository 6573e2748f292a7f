"""The thread of a booking group, which starts with all parties as participants."""

from accounts.models import User
from projects.panel.record_tabs import ThreadRecords
from threads import cache
from threads.actions.start import new_participant
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.events import publish_message
from threads.models import Message, Participant, Thread
from threads.models.message import PREVIEW_LENGTH, SYSTEM
from threads.models.participant import BUYER, SELLER
from threads.models.thread import OPEN, PROJECT
from threads.rendering.markdown import escape_markdown
from threads.sending import Appended, NewMessage
from threads.sending.new_message import make_archive_due, make_marker


def open_group_thread(
    records: ThreadRecords, *, key: str, text: str, named: dict[str, str] | None = None
) -> None:
    """Idempotent: the ids of the thread and of its first message derive from the record."""
    group = records.dossier.group
    if group is None:
        return
    new_message = NewMessage(
        client_id=key,
        body=escape_markdown(text),
        preview=text[:PREVIEW_LENGTH],
        type=SYSTEM,
        named=named,
    )
    cached, message = _new_thread(records, group.thread_id, group.title, new_message)
    write = Transaction()
    write.put("thread", cached.thread, Thread.pk.does_not_exist())
    for person in cached.people.values():
        write.put(person.sk, person)
    write.put("message", message)
    write.put("marker", make_marker(message, new_message))
    write.put("archive", make_archive_due(message))
    try:
        write.commit()
    except TransactionCancelled as cancelled:
        if not cancelled.failed("thread"):
            raise
        return
    cache.put(cached.copy())
    publish_message(Appended(cached, message))


def _new_thread(
    records: ThreadRecords, thread_id: str, title: str, new_message: NewMessage
) -> tuple[CachedThread, Message]:
    binding = records.binding
    assert binding is not None
    made_at = records.dossier.group.created_at  # type: ignore[union-attr]
    message_id = keys.next_message_id(None, int(made_at.timestamp() * 1000))
    at = keys.iso(keys.message_time(message_id))
    buyer_id = records.legs[0].buyer_id
    thread = Thread(
        keys.thread_pk(thread_id),
        keys.THREAD,
        kind=PROJECT,
        subject=title,
        buyer_id=buyer_id,
        seller_id=records.legs[0].seller_id,
        participants=binding.party_ids,
        roster_version=1,
        status=OPEN,
        safe_mode_required=True,
        created_at=at,
        updated_at=at,
        last_seq=1,
        last_tally=0,
        last_message_id=message_id,
        last_message_at=at,
        last_message=new_message.summary,
        rev=0,
    )
    binding.change(thread).apply(thread)
    message = Message(
        thread.pk,
        keys.message_sk(message_id),
        seq=1,
        tally=0,
        client_id=new_message.client_id,
        type=SYSTEM,
        body=new_message.body,
        named=new_message.named,
        receiver_ids=binding.party_ids,
        created_at=at,
    )
    return CachedThread(thread, _make_participants(thread, binding.party_ids)), message


def _make_participants(thread: Thread, party_ids: list[str]) -> dict[str, Participant]:
    users = User.objects.in_bulk(party_ids)
    buyer = users[thread.buyer_id]
    first_seller = users[thread.seller_id]
    people = {}
    for user_id in party_ids:
        role, other = (BUYER, first_seller) if user_id == buyer.id else (SELLER, buyer)
        person = new_participant(thread, users[user_id], role=role, other=other)
        person.others_count = len(party_ids) - 1
        person.first_undelivered_seq, person.first_undelivered_message_id = (
            1,
            thread.last_message_id,
        )
        person.pending_pk, person.pending_sk = keys.pending_pk(user_id), keys.thread_sk(thread.id)
        people[user_id] = person
    return people
