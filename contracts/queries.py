"""Reads of records. For users who are not a party, a record does not exist."""

from datetime import datetime

from django.db.models import Max, Q, QuerySet

from accounts.models import User
from contracts.instalments import Account, list_accounts
from contracts.models import (
    BookingGroup,
    Card,
    ContractDocument,
    ContractVersion,
    DeliverableManifest,
    Dossier,
    Leg,
    Offer,
    Receipt,
)
from contracts.models.bookings import COMPLETED
from contracts.models.documents import IN_FORCE, ISSUED
from contracts.money import format_amount
from contracts.refusals import not_found
from contracts.status import DELIVER, LINK, SIGN, check_any_status, is_allowed, statuses_allowing
from core.refusals import Refusal


def get_balance(leg: Leg, *, at: datetime | None = None) -> Account:
    """The account of one leg. `at` is a time, now by default."""
    return list_accounts([leg], at=at)[0]


def is_in_force(leg: Leg) -> bool:
    return ContractVersion.objects.filter(document__leg=leg, status=IN_FORCE).exists()


def format_outstanding(open_cents: int, currency: str) -> str:
    if open_cents < 0:
        return f"{format_amount(-open_cents, currency)} has to be repaid."
    if open_cents == 0:
        return "Nothing is outstanding."
    return f"{format_amount(open_cents, currency)} is outstanding."


def list_legs(dossier: Dossier) -> QuerySet[Leg]:
    """The legs of a thread by start time."""
    legs = Leg.objects.select_related("buyer", "seller", "group", "contract")
    if dossier.leg_id:
        legs = legs.filter(pk=dossier.leg_id)
    elif dossier.group_id:
        legs = legs.filter(group=dossier.group_id)
    else:
        return legs.none()
    return legs.order_by("starts_at", "id")


def find_dossier(thread_id: str) -> Dossier | None:
    found = Dossier.objects.select_related("leg", "group", "changed_by")
    return found.filter(pk=thread_id).first()


def access_offer(user: User, offer_id: str) -> Offer:
    offer = (
        Offer.objects.select_related("buyer", "seller", "proposed_by", "changes")
        .filter(Q(buyer=user) | Q(seller=user), pk=offer_id)
        .first()
    )
    if offer is None:
        raise not_found("offer")
    return offer


def find_offer_card(offer: Offer) -> Card | None:
    """None for an offer from before offers had cards."""
    return Card.objects.filter(offer=offer).first()


def access_leg(user: User, leg_id: str) -> Leg:
    leg = Leg.objects.filter(Q(buyer=user) | Q(seller=user), pk=leg_id).first()
    if leg is None:
        raise not_found("booking")
    return leg


def access_document(user: User, document_id: str) -> ContractDocument:
    document = (
        ContractDocument.objects.select_related("leg__buyer", "leg__seller")
        .filter(Q(leg__buyer=user) | Q(leg__seller=user), pk=document_id)
        .first()
    )
    if document is None:
        raise not_found("document")
    return document


def access_receipt(user: User, receipt_id: str) -> Receipt:
    receipt = (
        Receipt.objects.select_related(
            *("leg", "seller", "buyer", "entry__reverses__receipt", "entry__reversed_by__receipt")
        )
        .filter(Q(buyer=user) | Q(seller=user), pk=receipt_id)
        .first()
    )
    if receipt is None:
        raise not_found("receipt")
    return receipt


def access_manifest(user: User, manifest_id: str) -> DeliverableManifest:
    manifest = (
        DeliverableManifest.objects.select_related("leg", "made_by")
        .filter(Q(leg__buyer=user) | Q(leg__seller=user), pk=manifest_id)
        .first()
    )
    if manifest is None:
        raise not_found("delivery")
    return manifest


def access_group(user: User, group_id: str) -> tuple[BookingGroup, list[Leg]]:
    """A group with the legs of this user: all of them for the buyer, a seller's own otherwise."""
    group = BookingGroup.objects.filter(pk=group_id).first()
    legs = Leg.objects.select_related("seller", "buyer").filter(group=group_id)
    mine = list(legs.filter(Q(buyer=user) | Q(seller=user)).order_by("starts_at", "id"))
    if group is None or not mine:
        raise not_found("group")
    return group, mine


def count_completed_bookings(seller: User, *, limit: int) -> int:
    """Counts at most `limit`, so that it costs the same for every seller."""
    return Leg.objects.filter(seller=seller, status=COMPLETED)[:limit].count()


def list_booked_threads(user: User, *, limit: int) -> list[str]:
    """Threads in which this user has a booking, the latest booking first."""
    mine = Leg.objects.filter(Q(buyer=user) | Q(seller=user))
    places = mine.values_list("thread_id", "group__thread_id")
    found = places.annotate(latest=Max("created_at")).order_by("-latest")[:limit]
    return list(dict.fromkeys(thread_id for *both, _ in found for thread_id in both if thread_id))


def list_unsigned(thread_id: str) -> list[tuple[ContractVersion, list[str]]]:
    """Current contract versions of active bookings, with the parties who have not signed."""
    issued = ContractVersion.objects.filter(status=ISSUED, document__leg__thread_id=thread_id)
    versions = issued.filter(document__leg__status__in=statuses_allowing(SIGN))
    found = versions.select_related("document__leg").prefetch_related("signatures")
    return [(one, _missing(one)) for one in found.defer("pdf", "signed_pdf").order_by("pk")]


def _missing(version: ContractVersion) -> list[str]:
    signed = {signature.user_id for signature in version.signatures.all()}
    return [user_id for user_id in version.document.leg.parties if user_id not in signed]


def list_deliverable(user: User, thread_id: str) -> list[Leg]:
    """Legs that this user sold in a thread and can deliver. Raises if there are none."""
    found = Leg.objects.filter(seller=user, thread_id=thread_id)
    legs = list(found.order_by("starts_at", "id"))
    if not legs:
        raise Refusal("THREAD_NOT_FOUND", "You have nothing to deliver in this conversation.")
    check_any_status(legs, DELIVER)
    return [leg for leg in legs if is_allowed(leg.status, DELIVER)]


def list_legs_between(user: User, thread_id: str) -> list[Leg]:
    """Legs of this user in a thread. Raises if there are none."""
    legs = Leg.objects.filter(Q(buyer=user) | Q(seller=user), thread_id=thread_id)
    found = list(legs.select_related("buyer", "seller").order_by("starts_at", "id"))
    if not found:
        raise not_found("booking")
    return found


def list_linkable(buyer: User, leg: Leg) -> list[Leg]:
    """Other bookings of this buyer that can be grouped with this one."""
    return list(
        Leg.objects.filter(buyer=buyer, group__isnull=True, status__in=statuses_allowing(LINK))
        .exclude(pk=leg.pk)
        .select_related("seller")
        .order_by("starts_at")[:20]
    )
