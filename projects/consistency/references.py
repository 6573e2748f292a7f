"""Looks up what the items of one page refer to, in batches."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

from accounts.models import Block, User
from contracts.models import BookingGroup, Card, Dossier, Leg, Offer
from contracts.models.bookings import PENDING
from contracts.next_step import PAYMENT_KINDS, find_payment_step
from contracts.queries import get_balance, list_unsigned
from core.ids import is_id
from threads.dynamodb import keys
from threads.dynamodb.table import Item, get_many
from threads.models import (
    ArchiveDue,
    CardShadow,
    Draft,
    FormerParticipant,
    Message,
    Pack,
    PackedThread,
    Pair,
    PairThread,
    Participant,
    PendingAction,
    Profile,
    RateBucket,
    StartMarker,
    TabEdit,
    TabSnapshot,
    Thread,
    UserConnection,
)

OF_THREAD = (
    *(Participant, FormerParticipant, Message, Pack, CardShadow, TabSnapshot, TabEdit),
    *(PairThread, ArchiveDue, PackedThread, PendingAction, Draft),
)
OF_USER = (
    *(Profile, PendingAction, Draft, RateBucket, StartMarker, UserConnection),
    *(Participant, FormerParticipant),
)


class References:
    def __init__(self, items: Iterable[Item]) -> None:
        self.items = list(items)

    def problems_of(self, item: Item) -> Iterator[str]:
        if isinstance(item, OF_THREAD) and thread_of(item) not in self._threads:
            yield "its thread does not exist"
            return
        for user_id in users_of(item) - self._users:
            yield f"user {user_id} does not exist"
        for kind, check in CHECKS.items():
            if isinstance(item, kind):
                yield from check(self, item)

    # --- Batch lookups

    @cached_property
    def _threads(self) -> set[str]:
        here = {item.id for item in self.items if isinstance(item, Thread)}
        wanted = {thread_of(item) for item in self.items if isinstance(item, OF_THREAD)} - here
        found = get_many(
            ((keys.thread_pk(each), keys.THREAD) for each in wanted), with_contents=False
        )
        return here | {item.id for item in found if isinstance(item, Thread)}

    @cached_property
    def _users(self) -> set[str]:
        wanted = {user_id for item in self.items for user_id in users_of(item)}
        return _existing(User.objects.all(), wanted)

    @cached_property
    def _deleted(self) -> set[str]:
        profiles = [item for item in self.items if isinstance(item, Profile)]
        wanted = {user_id for item in profiles for user_id in users_of(item)}
        return _existing(User.objects.filter(deleted_at__isnull=False), wanted)

    @cached_property
    def _cards(self) -> dict[str, Card]:
        shadows = {item.card_id for item in self.items if isinstance(item, CardShadow)}
        return Card.objects.in_bulk(list(shadows))

    @cached_property
    def _dossiers(self) -> set[str]:
        bound = (TabSnapshot, Thread)
        wanted = {thread_of(item) for item in self.items if isinstance(item, bound)}
        return _existing(Dossier.objects.all(), wanted)

    @cached_property
    def _blocks(self) -> set[tuple[str, str]]:
        users = {user_id for item in self.items for user_id in _blockers(item)}
        rows = Block.objects.filter(blocker__in=users)
        return set(rows.values_list("blocker_id", "blocked_id"))

    # --- Checks by item type

    def check_thread(self, thread: Thread) -> Iterator[str]:
        if thread.leg_id and not Leg.objects.filter(pk=thread.leg_id).exists():
            yield f"is bound to {thread.leg_id}, which does not exist"
        if thread.group_id and not BookingGroup.objects.filter(pk=thread.group_id).exists():
            yield f"is bound to {thread.group_id}, which does not exist"
        if thread.is_project and thread.id not in self._dossiers:
            yield "is a project without SQL records"

    def check_tab(self, tab: TabSnapshot) -> Iterator[str]:
        if thread_of(tab) not in self._dossiers:
            yield "is a tab of a thread without SQL records"

    def check_card(self, shadow: CardShadow) -> Iterator[str]:
        card = self._cards.get(shadow.card_id)
        if card is None:
            yield f"card {shadow.card_id} does not exist"
        elif card.thread_id != thread_of(shadow) or card.message_id not in ("", shadow.message_id):
            yield f"card {card.id} belongs to another message"

    def check_profile(self, profile: Profile) -> Iterator[str]:
        if users_of(profile) & self._deleted:
            yield "is the profile of a deleted account"

    def check_wait(self, wait: PendingAction) -> Iterator[str]:
        if not _is_open(wait):
            yield f"no open {wait.type} matches it"

    def check_pair(self, pair: Pair) -> Iterator[str]:
        first, second = _users_of_pair(pair.pk)
        for blocker in pair.blocked_by or ():
            other = second if blocker == first else first
            if (blocker, other) not in self._blocks:
                yield f"{blocker} has not blocked {other}"

    def check_participant(self, person: Participant) -> Iterator[str]:
        for blocker in set(person.blocked_by or ()) - {person.user_id}:
            if (blocker, person.user_id) not in self._blocks:
                yield f"{blocker} has not blocked {person.user_id}"


CHECKS: dict[type[Item], Callable[[References, Any], Iterator[str]]] = {
    Thread: References.check_thread,
    TabSnapshot: References.check_tab,
    CardShadow: References.check_card,
    Profile: References.check_profile,
    PendingAction: References.check_wait,
    Pair: References.check_pair,
    Participant: References.check_participant,
}


def thread_of(item: Any) -> str:
    if isinstance(item, (PairThread, ArchiveDue, PackedThread)):
        return str(item.sk.removeprefix(keys.PAIR_THREADS))
    if isinstance(item, PendingAction):
        return item.thread_id
    if isinstance(item, Draft):
        return str(item.sk.removeprefix(keys.DRAFTS))
    return str(item.pk.removeprefix(Thread.pk_prefix))


def users_of(item: Item) -> set[str]:
    if isinstance(item, Thread):
        return {item.buyer_id, item.seller_id}
    if isinstance(item, (Participant, FormerParticipant)):
        return {item.user_id}
    if isinstance(item, (Pair, PairThread)):
        return set(_users_of_pair(item.pk))
    if isinstance(item, OF_USER):
        return {item.pk.removeprefix(Profile.pk_prefix)}
    return set()


def ordering_keys_of(item: Item) -> set[str]:
    """Ordering keys of outbox entries that may still update the item."""
    users = sorted(users_of(item) | _blockers(item))
    found = {f"user:{user_id}" for user_id in users} | {"pair:" + ":".join(users)}
    if isinstance(item, (*OF_THREAD, Thread)):
        found.add(f"thread:{thread_of(item)}")
    return found


def _users_of_pair(pk: str) -> tuple[str, str]:
    _, first, second = pk.split("#")
    return first, second


def _blockers(item: Item) -> set[str]:
    return set(item.blocked_by or ()) if isinstance(item, (Pair, Participant)) else set()


def _existing(rows: Any, wanted: set[str]) -> set[str]:
    return set(rows.filter(pk__in=wanted).values_list("pk", flat=True))


def _is_open(wait: PendingAction) -> bool:
    if is_id("ofr", wait.what):
        # From before offers had cards.
        return Offer.objects.filter(pk=wait.what, status=PENDING).exists()
    if wait.type == "contract":
        return any(version.document_id == wait.what for version, _ in list_unsigned(wait.thread_id))
    if wait.type in PAYMENT_KINDS:
        leg = Leg.objects.filter(pk=wait.what, thread_id=wait.thread_id).first()
        dossier = Dossier.objects.filter(pk=wait.thread_id).first()
        at = dossier.changed_at if dossier else None
        step = find_payment_step(leg, get_balance(leg, at=at)) if leg else None
        return step is not None and step.kind == wait.type
    cards = Card.objects.filter(thread_id=wait.thread_id, is_open=True)
    return cards.filter(message_id__in=["", wait.what], type=wait.type).exists()
