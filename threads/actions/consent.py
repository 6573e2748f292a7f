"""Whether somebody may be added to a conversation, and whether they have to be asked first.

Blocks are checked between whoever comes and everybody who is there. A transaction takes 100 items
and a thread has up to 50 people, so it does not check every pair: it checks that the block version
of whoever comes is as it was before their blocks were read. Every block and unblock raises it.
"""

from dataclasses import dataclass

from accounts.blocks import list_blocks_between
from accounts.models import User
from core.refusals import Refusal
from threads.actions.rate_limits import StoredLimit, bucket_keys, start_limits, take_token_in
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, ItemT, Key, get_many
from threads.dynamodb.transactions import Transaction
from threads.models import BlockVersion, FormerParticipant, Message, Pair
from threads.models.participant import ADMIN, request_cutoff


@dataclass
class Consent:
    """What is known of two people before one of them adds the other. Read before every attempt."""

    adder: User
    added: User
    pair: Pair
    version: BlockVersion | None
    former: FormerParticipant | None
    limits: list[StoredLimit]
    found: list[Item]

    @property
    def is_given(self) -> bool:
        """They share an accepted thread, and did not leave this one."""
        has_left = self.former is not None and self.former.has_left
        return bool(self.pair.accepted) and not has_left

    def check(self, cached: CachedThread) -> None:
        """Somebody who waits for an answer can't tell being blocked from waiting."""
        if not self.pair.accepted:
            self._check_not_asked()
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
        if not self._is_asked_by_other:
            self._note_request(write, message)

    @property
    def _is_asked_by_other(self) -> bool:
        is_recent = (self.pair.requested_at or "") >= request_cutoff()
        return is_recent and self.pair.requested_by == self.added.id

    def _note_request(self, write: Transaction, message: Message) -> None:
        asked = Pair.requested_at
        read_at = self.pair.requested_at
        as_read = asked == read_at if read_at else asked.does_not_exist()
        not_yet = Pair.accepted.does_not_exist() | (Pair.accepted == False)  # noqa: E712
        change = Change(set={"requested_by": self.adder.id, "requested_at": message.created_at})
        write.update("request", Pair(self.pair.pk, keys.STATE), change, not_yet & as_read)

    def _check_not_asked(self) -> None:
        """One request at a time, whatever became of it: declining stays unnoticed."""
        is_mine = self.pair.requested_by == self.adder.id
        has_blocked = self.adder.id in (self.pair.blocked_by or ())
        if is_mine and not has_blocked and (self.pair.requested_at or "") >= request_cutoff():
            raise Refusal(
                "REQUEST_PENDING", f"{self.added.display_name} has not accepted your request yet."
            )

    def _check_requirements(self) -> None:
        name = self.added.display_name
        if self.added.requires_verified and not self.adder.verified:
            raise Refusal(
                "MSG_GATE_REQUIRED",
                f"{name} only accepts requests from verified accounts.",
                hint="Verify your account, then try again.",
            )
        if self.added.requires_date or self.added.requires_budget:
            raise Refusal(
                "MSG_GATE_REQUIRED",
                f"{name} wants to know more before a first conversation.",
                hint="Write to them from their profile first. You can add them once they accept.",
            )


def read_consent(adder: User, added: User, thread_id: str) -> Consent:
    """One request. The block version is read before the blocks themselves."""
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
    """Everybody who is there, except staff, with whom nobody can have a block."""
    return [person.user_id for person in cached.people.values() if person.role != ADMIN]


def find_of_type(kind: type[ItemT], found: list[Item]) -> ItemT | None:
    return next((one for one in found if isinstance(one, kind)), None)


def former_key(thread_id: str, user_id: str) -> Key:
    return keys.thread_pk(thread_id), keys.former_participant_sk(user_id)


def version_key(user_id: str) -> Key:
    return keys.user_pk(user_id), keys.BLOCKS


def check_blocks_unchanged(write: Transaction, user_id: str, version: BlockVersion | None) -> None:
    """Nobody has blocked or unblocked this person, and they nobody, since `version` was read."""
    number = BlockVersion.version
    as_read = number == version.version if version else number.does_not_exist()
    write.check("block version", BlockVersion(*version_key(user_id)), as_read)
