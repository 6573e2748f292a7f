"""The senders and client ids of a thread's newest messages, by which a repeat is recognised."""

from collections.abc import Iterable

from threads.models import Message

# A client that sends many messages at once is this far behind the thread at most.
MAX_SENDS = 128


class RecentSends:
    """Consecutive messages up to `last_seq`. Keeps hashes only: a match has to be confirmed."""

    def __init__(self, hashes: Iterable[int] = (), last_seq: int = 0) -> None:
        self._hashes = list(hashes)
        self._last_seq = last_seq

    def copy(self) -> "RecentSends":
        return RecentSends(self._hashes, self._last_seq)

    def record(self, message: Message) -> None:
        if message.seq != self._last_seq + 1:
            self._hashes.clear()
        self._hashes.append(_hash(message.author_id, message.client_id))
        self._last_seq = message.seq
        if len(self._hashes) > 2 * MAX_SENDS:
            del self._hashes[:-MAX_SENDS]

    def may_contain(
        self, author_id: str | None, client_id: str, *, after_seq: int, last_seq: int
    ) -> bool:
        """False only if none of the messages after `after_seq`, up to `last_seq`, is this one."""
        count = last_seq - after_seq
        if count <= 0:
            return False
        if self._last_seq != last_seq or count > len(self._hashes):
            return True
        return _hash(author_id, client_id) in self._hashes[-count:]


def _hash(author_id: str | None, client_id: str | None) -> int:
    return hash((author_id, client_id))
