"""Finds the message that an earlier attempt of the same send has stored.

A send has a marker under its client id, unless the client says which messages it had before its
first attempt (`after_seq`): then an earlier attempt is among the messages after that one. They are
usually known to this process, and read otherwise. The transaction requires that no message was
added since, so the result still holds when it is committed.
"""

from collections.abc import Iterator
from itertools import islice

from core.refusals import Refusal
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.models import Message, SentMarker
from threads.sending.new_message import NewMessage, content_hash

# A client syncs a thread before it repeats a message, so the message is among the newest ones.
MAX_SEARCHED_MESSAGES, PAGE_SIZE = 1000, 100
TOO_OLD = "This message is too old to be sent again."


def find_stored_message(thread_id: str, new_message: NewMessage) -> Message | None:
    """Called before a refusal, so that a stored message is never reported as refused."""
    if new_message.after_seq is not None:
        return _search(thread_id, new_message, new_message.after_seq)
    marker = SentMarker.find(keys.thread_pk(thread_id), new_message.marker_sk)
    if marker is None:
        return None
    if marker.hash != new_message.hash:
        raise Refusal("CLIENT_ID_REUSED")
    return message_of_marker(marker, new_message)


def message_of_marker(marker: SentMarker, new_message: NewMessage) -> Message:
    """The stored message of a marker, as far as an acknowledgement needs it."""
    return Message(
        marker.pk,
        keys.message_sk(marker.message_id),
        seq=marker.seq,
        client_id=new_message.client_id,
        author_id=new_message.author_id,
        type=new_message.type,
        body=new_message.body,
        created_at=keys.iso(keys.message_time(marker.message_id)),
    )


def may_be_repeat(cached: CachedThread, new_message: NewMessage) -> bool:
    """Whether a message without a marker has to be searched for in the store."""
    if new_message.after_seq is None:
        return False
    return cached.sends.may_contain(
        new_message.author_id,
        new_message.client_id,
        after_seq=new_message.after_seq,
        last_seq=cached.thread.last_seq,
    )


def find_earlier_attempt(cached: CachedThread, new_message: NewMessage) -> Message | None:
    """Reads the store only if this process does not know the messages since the first attempt."""
    if new_message.after_seq is None or not may_be_repeat(cached, new_message):
        return None
    return _search(cached.thread.id, new_message, new_message.after_seq)


def _search(thread_id: str, new_message: NewMessage, after_seq: int) -> Message | None:
    sent, searched = (new_message.author_id, new_message.client_id), 0
    for message in islice(_list_newest_first(thread_id), MAX_SEARCHED_MESSAGES):
        if message.seq <= after_seq:
            return None
        if (message.author_id, message.client_id) == sent:
            _check_content(message, new_message)
            return message
        searched += 1
    if searched == MAX_SEARCHED_MESSAGES:
        raise Refusal("CLIENT_ID_REUSED", TOO_OLD)
    return None


def _list_newest_first(thread_id: str) -> Iterator[Message]:
    pk, where, after = keys.thread_pk(thread_id), Item.sk.startswith(keys.MESSAGES), None
    while True:
        page = query(pk, where, limit=PAGE_SIZE, newest_first=True, after=after)
        yield from page.of(Message)
        after = page.next_key
        if after is None:
            return


def _check_content(stored: Message, new_message: NewMessage) -> None:
    """A removed or unavailable message cannot be compared."""
    if stored.is_withheld or stored.is_unavailable:
        return
    earlier = stored.earlier_bodies or [{"body": stored.body}]
    if content_hash(earlier[0]["body"], stored.reply_to) != new_message.hash:
        raise Refusal("CLIENT_ID_REUSED")
