"""Deleting an account: refused while something is open; then at once in SQL, where one signs in;
and in the table by the outbox, step by step (privacy/account_deletion.py)."""

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.anonymise import anonymise_user
from accounts.models import User
from contracts.models import Leg, Offer
from contracts.models.bookings import BOOKED, ON_HOLD, PENDING
from contracts.queries import get_balance
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from projects.actions.bookings import decline_offer, withdraw_offer
from threads.dynamodb import keys
from threads.dynamodb.table import Item, get_many
from threads.models import Participant, Thread
from threads.queries import list_all_rows


def delete_account(user: User) -> None:
    """Who it is, the caller has made sure of. Offers that wait are taken back first, since nobody
    would be there to keep them."""
    check_can_delete_account(user)
    for offer in Offer.objects.filter(Q(buyer=user) | Q(seller=user), status=PENDING):
        answer = withdraw_offer if offer.proposed_by_id == user.id else decline_offer
        answer(user, offer_id=offer.id)
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=user.pk)
        if person.deleted_at is not None:
            return
        # Again: something may have been booked since.
        _check_bookings(person)
        # For texts of earlier versions, which name people and say nothing about whom.
        earlier = person.earlier_names.values_list("display_name", flat=True)
        names = [person.display_name, *earlier]
        anonymise_user(person)
        OutboxEntry.objects.create(kind="deletion", payload={"user": person.id, "names": names})


def check_can_delete_account(user: User) -> None:
    if user.is_staff:
        raise Refusal(
            "DELETION_REFUSED",
            "You are on the staff.",
            hint="An administrator takes you off it first.",
        )
    _check_bookings(user)
    _check_holds(user)


def _check_bookings(user: User) -> None:
    legs = Leg.objects.filter(Q(buyer=user) | Q(seller=user)).order_by("starts_at")
    for leg in legs.select_related("buyer", "seller"):
        other = leg.seller if leg.buyer_id == user.id else leg.buyer
        what = f"{leg.service} with {other.display_name}"
        if leg.status == ON_HOLD:
            _refuse(f"Your booking “{what}” is on hold.", "It has to be settled first.")
        if leg.status == BOOKED and leg.ends_at > timezone.now():
            _refuse(
                f"Your booking “{what}” is still to come.",
                "See it through, or cancel it with them. Then you can go.",
            )
        if _owes(user, leg):
            _refuse(
                f"Your booking “{what}” is not settled.",
                "What is open has to be paid, or given back, first.",
            )


def _owes(user: User, leg: Leg) -> bool:
    """Of a booking that is over it matters who has to pay: nobody has to wait for somebody else."""
    open_cents = get_balance(leg).open_cents
    if leg.status == BOOKED:
        return open_cents != 0
    return open_cents > 0 if user.id == leg.buyer_id else open_cents < 0


def _check_holds(user: User) -> None:
    places = [(row.pk, sk) for row in list_all_rows(user.id) for sk in (keys.THREAD, row.sk)]
    if any(_is_on_hold(item) for item in get_many(places)):
        _refuse(
            "A conversation of yours is on hold.",
            "Our safety team is looking at it. You can go when they are done.",
        )


def _is_on_hold(item: Item) -> bool:
    if isinstance(item, Thread):
        return bool(item.soft_block)
    return isinstance(item, Participant) and bool(item.sending_hold)


def _refuse(message: str, hint: str) -> None:
    raise Refusal("DELETION_REFUSED", message, hint=hint)
