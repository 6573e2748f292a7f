"""Whether a user can be added to a thread, and whether they have to accept an invitation first.

There must be no block between the added user and any participant. A transaction takes 100 items and
a thread has up to 50 participants, so the transaction does not check every pair: it checks that the
block version of the added user is the one read before their blocks. Every block and unblock
increments it.
"""

from dataclasses import dataclass

from accounts.blocks import list_blocks_between
from accounts.models import User
from core.refusals import Refusal
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, ItemT, Key, get_many
from threads.dynamodb.transactions import Transaction
from threads.models import BlockVersion, FormerParticipant, Message, Pair
from threads.models.participant import ADMIN, request_cutoff
from threads.models.rate_buckets import StoredLimit, bucket_keys, start_limits, take_token_in
from threads.permissions import check_is_verified, request_pending


@dataclass
class Consent:
    """What is stored about two users before one adds the other. Read again for every attempt."""

    adder: User
    added: User
    pair: Pair
    version: BlockVersion | None
    former: FormerParticipant | None
    limits: list[StoredLimit]
    found: list[Item]

    @property
    def is_given(self) -> bool:
        """They share an accepted thread, and the added user has not left this one."""
        has_left = self.former is not None and self.former.has_left
        return bool(self.pair.accepted) and not has_left

    def check(self, cached: CachedThread) -> None:
        """To a user with an open request, a block must look the same as no answer."""
        if not self.pair.accepted:
            self._check_not_requested()
        if list_blocks_between(self.added.id, side_ids(cached)):
            raise Refusal(
                "ACTION_FORBIDDEN",
                f"You can't add {self.added.display_name} to this conversation.",
            )
        if not self.pair.accepted:
            self._check_requirements()

    def write(self, write: Transaction, message: Message) -> None:
        check_blocks_unchanged(write, self.added.id, self.version)
        if self.pair.accepted:
            return
        take_token_in(write, self.adder, self.limits, self.found)
        if not self._is_requested_by_other:
            self._write_request(write, message)

    @property
    def _is_requested_by_other(self) -> bool:
        is_recent = (self.pair.requested_at or "") >= request_cutoff()
        return is_recent and self.pair.requested_by == self.added.id

    def _write_request(self, write: Transaction, message: Message) -> None:
        stored, read = Pair.requested_at, self.pair.requested_at
        unchanged = stored == read if read else stored.does_not_exist()
        not_accepted = Pair.accepted.does_not_exist() | (Pair.accepted == False)  # noqa: E712
        change = Change(set={"requested_by": self.adder.id, "requested_at": message.created_at})
        write.update("request", Pair(self.pair.pk, keys.STATE), change, not_accepted & unchanged)

    def _check_not_requested(self) -> None:
        """One request at a time, also after it was declined: the sender must not notice that."""
        is_mine = self.pair.requested_by == self.adder.id
        has_blocked = self.adder.id in (self.pair.blocked_by or ())
        if is_mine and not has_blocked and (self.pair.requested_at or "") >= request_cutoff():
            raise request_pending(self.added.display_name)

    def _check_requirements(self) -> None:
        check_is_verified(self.adder, self.added)
        if self.added.requires_date or self.added.requires_budget:
            raise Refusal(
                "MSG_GATE_REQUIRED",
                f"{self.added.display_name} asks for more details before a first conversation.",
                hint="Message them from their profile first. You can add them once they accept.",
            )


def read_consent(adder: User, added: User, thread_id: str) -> Consent:
    """Makes one request. The block version must be read before the blocks themselves."""
    pair_pk = keys.pair_pk(adder.id, added.id)
    limits = start_limits(adder)
    wanted = [(pair_pk, keys.STATE), version_key(added.id), former_key(thread_id, added.id)]
    found = get_many([*wanted, *bucket_keys(adder, limits)])
    return Consent(
        adder=adder,
        added=added,
        pair=find_of_type(Pair, found) or Pair(pair_pk, keys.STATE),
        version=find_of_type(BlockVersion, found),
        former=find_of_type(FormerParticipant, found),
        limits=limits,
        found=found,
    )


def side_ids(cached: CachedThread) -> list[str]:
    """All participants except staff, who cannot be blocked."""
    return [person.user_id for person in cached.people.values() if person.role != ADMIN]


def find_of_type(kind: type[ItemT], found: list[Item]) -> ItemT | None:
    return next((one for one in found if isinstance(one, kind)), None)


def former_key(thread_id: str, user_id: str) -> Key:
    return keys.thread_pk(thread_id), keys.former_participant_sk(user_id)


def version_key(user_id: str) -> Key:
    return keys.user_pk(user_id), keys.BLOCKS


def check_blocks_unchanged(write: Transaction, user_id: str, version: BlockVersion | None) -> None:
    """Adds the condition that no block of this user, by or against them, changed since the read."""
    number = BlockVersion.version
    unchanged = number == version.version if version else number.does_not_exist()
    write.check("block version", BlockVersion(*version_key(user_id)), unchanged)
