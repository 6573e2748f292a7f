"""A user's rows that were written a moment ago, read by key and merged into what an index shows."""

from collections.abc import Callable, Iterable

from threads.dynamodb import keys, recent_writes
from threads.dynamodb.table import get_many
from threads.models import Participant


class RecentRows:
    """Read at most once, by one BatchGetItem; without recent writes, not at all."""

    def __init__(self, user_id: str) -> None:
        self._user_id = user_id
        self.threads = frozenset(recent_writes.list_threads(user_id))
        self._rows: list[Participant] | None = None

    @property
    def rows(self) -> list[Participant]:
        """As the table has them. Where the user is no longer a participant there is none."""
        if self._rows is None:
            self._rows = self._read(self.threads)
        return self._rows

    def merge(
        self, indexed: Iterable[Participant], belongs: Callable[[Participant], bool]
    ) -> list[Participant]:
        """What the index shows, with each recently written row as it is in the table."""
        unchanged = [row for row in indexed if row.thread_id not in self.threads]
        return unchanged + [row for row in self.rows if belongs(row)]

    def list_with_recent(self, thread_ids: Iterable[str]) -> list[Participant]:
        """The rows of these threads and the recently written ones, in the same request."""
        found = self._read(dict.fromkeys([*thread_ids, *sorted(self.threads)]))
        self._rows = [row for row in found if row.thread_id in self.threads]
        return found

    def _read(self, thread_ids: Iterable[str]) -> list[Participant]:
        wanted = list(thread_ids)
        rows = self._get(wanted, keys.participant_sk(self._user_id))
        there = {row.thread_id for row in rows}
        recent_only = [one for one in wanted if one in self.threads and one not in there]
        # Somebody who is not a participant may have an invitation.
        return rows + self._get(recent_only, keys.invitation_sk(self._user_id))

    def _get(self, thread_ids: list[str], sk: str) -> list[Participant]:
        found = get_many((keys.thread_pk(thread_id), sk) for thread_id in thread_ids)
        return [row for row in found if isinstance(row, Participant)]
