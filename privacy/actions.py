"""Deleting an account: refused while something is open, then immediate in SQL, and in DynamoDB by
the outbox (privacy/account_deletion.py)."""

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.anonymise import anonymise_user
from accounts.models import User
from availability.actions import delete_calendar
from contracts.models import Leg, Offer
from contracts.models.bookings import BOOKED, ON_HOLD, PENDING
from contracts.queries import get_balance
from core.outbox.models import OutboxEntry
from core.refusals import Refusal
from people.actions import delete_profile_data
from projects.actions.bookings import decline_offer, withdraw_offer
from threads.dynamodb import keys
from threads.dynamodb.table import Item, get_many
from threads.models import Participant, Thread
from threads.queries import list_all_rows


def delete_account(user: User) -> None:
    """The caller has confirmed the password. Pending offers are withdrawn or declined first."""
    check_can_delete_account(user)
    for offer in Offer.objects.filter(Q(buyer=user) | Q(seller=user), status=PENDING):
        answer = withdraw_offer if offer.proposed_by_id == user.id else decline_offer
        answer(user, offer_id=offer.id)
    with transaction.atomic():
        person = User.objects.select_for_update().get(pk=user.pk)
        if person.deleted_at is not None:
            return
        # Again, since something may have been booked meanwhile.
        _check_bookings(person)
        # System messages of earlier versions contain names without user ids.
        earlier = person.earlier_names.values_list("display_name", flat=True)
        names = [person.display_name, *earlier]
        delete_profile_data(person)
        anonymise_user(person)
        delete_calendar(person)
        OutboxEntry.objects.create(kind="deletion", payload={"user": person.id, "names": names})


def check_can_delete_account(user: User) -> None:
    if user.is_staff:
        raise Refusal(
            "DELETION_REFUSED",
            "Staff accounts can't be deleted.",
            hint="Ask an administrator to remove your staff access first.",
        )
    _check_bookings(user)
    _check_holds(user)


def _check_bookings(user: User) -> None:
    legs = Leg.objects.filter(Q(buyer=user) | Q(seller=user)).order_by("starts_at")
    for leg in legs.select_related("buyer", "seller"):
        other = leg.seller if leg.buyer_id == user.id else leg.buyer
        what = f"{leg.service} with {other.display_name}"
        if leg.status == ON_HOLD:
            _refuse(
                f"Your booking “{what}” is on hold.", "Settle it first, then delete your account."
            )
        if leg.status == BOOKED and leg.ends_at > timezone.now():
            _refuse(
                f"Your booking “{what}” hasn't taken place yet.",
                "Wait until it's over or cancel it, then delete your account.",
            )
        if _owes(user, leg):
            _refuse(
                f"Your booking “{what}” has an outstanding balance.",
                "Pay or refund it first, then delete your account.",
            )


def _owes(user: User, leg: Leg) -> bool:
    """After a booking has ended only the user who owes money is refused, not the other one."""
    open_cents = get_balance(leg).open_cents
    if leg.status == BOOKED:
        return open_cents != 0
    return open_cents > 0 if user.id == leg.buyer_id else open_cents < 0


def _check_holds(user: User) -> None:
    item_keys = [(row.pk, sk) for row in list_all_rows(user.id) for sk in (keys.THREAD, row.sk)]
    if any(_is_on_hold(item) for item in get_many(item_keys)):
        _refuse(
            "One of your conversations is on hold.",
            "You can delete your account once our safety team has finished its review.",
        )


def _is_on_hold(item: Item) -> bool:
    if isinstance(item, Thread):
        return bool(item.soft_block)
    return isinstance(item, Participant) and bool(item.sending_hold)


def _refuse(message: str, hint: str) -> None:
    raise Refusal("DELETION_REFUSED", message, hint=hint)
