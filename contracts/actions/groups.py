"""Groups bookings of several sellers and opens a shared thread for them."""

from django.db import transaction

from accounts.blocks import has_blocks_among, lock_users
from accounts.models import User
from contracts.actions.revisions import record_change
from contracts.models import BookingGroup, Dossier, Leg
from contracts.refusals import not_found
from contracts.status import LINK, check_status
from core.ids import new_id
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

MAX_LEGS = 49


@transaction.atomic
def link_legs(
    buyer: User, *, title: str, leg_ids: list[str]
) -> tuple[BookingGroup, list[OutboxEntry]]:
    """Each leg keeps its own thread; the group gets one with all parties."""
    chosen = Leg.objects.filter(pk__in=leg_ids, buyer=buyer)
    lock_users([buyer.id, *chosen.values_list("seller_id", flat=True)])
    legs = list(chosen.select_for_update().order_by("pk"))
    _check(legs, leg_ids)
    existing = _find_group(legs)
    if existing is not None:
        return existing, []
    for leg in legs:
        check_status(leg, LINK)
    if any(leg.group_id for leg in legs):
        raise Refusal("ACTION_INVALID_STATE", "One of these bookings is already in a group.")
    _check_blocks(buyer, legs)
    group = BookingGroup.objects.create(title=title, buyer=buyer, thread_id=new_id("thrd"))
    Leg.objects.filter(pk__in=[leg.pk for leg in legs]).update(group=group)
    return group, _record_changes(group, legs, buyer)


def _check(legs: list[Leg], leg_ids: list[str]) -> None:
    if len(legs) != len(set(leg_ids)):
        raise not_found("booking")
    if not 2 <= len(legs) <= MAX_LEGS or len({leg.seller_id for leg in legs}) < 2:
        raise Refusal("OFFER_INVALID", "Choose bookings with at least two different sellers.")


def _check_blocks(buyer: User, legs: list[Leg]) -> None:
    """All parties share one thread. The refusal does not reveal who blocked whom."""
    if has_blocks_among({buyer.id, *(leg.seller_id for leg in legs)}):
        raise Refusal(
            "ACTION_FORBIDDEN",
            "These bookings can't share one conversation.",
            hint="You can keep messaging each seller separately.",
        )


def _find_group(legs: list[Leg]) -> BookingGroup | None:
    """For a repeat: the group that contains exactly these legs."""
    groups = {leg.group_id for leg in legs}
    if len(groups) != 1 or None in groups:
        return None
    group = BookingGroup.objects.get(pk=groups.pop())
    return group if group.legs.count() == len(legs) else None


def _record_changes(group: BookingGroup, legs: list[Leg], buyer: User) -> list[OutboxEntry]:
    text = f"{buyer.display_name} grouped these bookings: {group.title}."
    opening = record_change(group.thread_id, by=buyer, key=f"{group.id}:opened", text=text)
    Dossier.objects.filter(pk=group.thread_id).update(group=group)
    linked = f"This booking is now part of a group: {group.title}."
    others = [
        record_change(leg.thread_id, by=buyer, key=f"{group.id}:linked:{leg.id}", text=linked)
        for leg in legs
    ]
    return [opening, *others]
