"""Bookings of several sellers that belong together: a group, with a conversation of its own."""

from django.db import transaction

from accounts.blocks import has_blocks_among, lock_users
from accounts.models import User
from contracts.actions.revisions import record_change
from contracts.models import BookingGroup, Dossier, Leg
from contracts.status import LINK, check_status
from core.ids import new_id
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

MAX_LEGS = 49


@transaction.atomic
def link_legs(
    buyer: User, *, title: str, leg_ids: list[str]
) -> tuple[BookingGroup, list[OutboxEntry]]:
    """Each leg keeps the conversation in which it was agreed; the group gets one with everybody."""
    chosen = Leg.objects.filter(pk__in=leg_ids, buyer=buyer)
    lock_users([buyer.id, *chosen.values_list("seller_id", flat=True)])
    legs = list(chosen.select_for_update().order_by("pk"))
    _check(legs, leg_ids)
    there = _linked_before(legs)
    if there is not None:
        return there, []
    for leg in legs:
        check_status(leg, LINK)
    if any(leg.group_id for leg in legs):
        raise Refusal("ACTION_INVALID_STATE", "One of these bookings is in a group already.")
    _check_blocks(buyer, legs)
    group = BookingGroup.objects.create(title=title, buyer=buyer, thread_id=new_id("thrd"))
    Leg.objects.filter(pk__in=[leg.pk for leg in legs]).update(group=group)
    return group, _tell(group, legs, buyer)


def _check(legs: list[Leg], leg_ids: list[str]) -> None:
    if len(legs) != len(set(leg_ids)):
        raise Refusal("THREAD_NOT_FOUND", "There is no such booking.")
    if not 2 <= len(legs) <= MAX_LEGS or len({leg.seller_id for leg in legs}) < 2:
        raise Refusal("OFFER_INVALID", "A group links bookings with at least two sellers.")


def _check_blocks(buyer: User, legs: list[Leg]) -> None:
    """Everybody of a group talks to everybody. It is not said who has blocked whom."""
    if has_blocks_among({buyer.id, *(leg.seller_id for leg in legs)}):
        raise Refusal(
            "ACTION_FORBIDDEN",
            "These bookings can't share one conversation.",
            hint="You can go on talking to each seller separately.",
        )


def _linked_before(legs: list[Leg]) -> BookingGroup | None:
    """For a repeat: the same legs, and no others, in one group."""
    groups = {leg.group_id for leg in legs}
    if len(groups) != 1 or None in groups:
        return None
    group = BookingGroup.objects.get(pk=groups.pop())
    return group if group.legs.count() == len(legs) else None


def _tell(group: BookingGroup, legs: list[Leg], buyer: User) -> list[OutboxEntry]:
    says = f"{buyer.display_name} brought everybody of this booking together: {group.title}."
    opening = record_change(group.thread_id, by=buyer, key=f"{group.id}:opened", says=says)
    Dossier.objects.filter(pk=group.thread_id).update(group=group)
    linked = f"This booking is now part of a group: {group.title}."
    others = [
        record_change(leg.thread_id, by=buyer, key=f"{group.id}:linked:{leg.id}", says=linked)
        for leg in legs
    ]
    return [opening, *others]
