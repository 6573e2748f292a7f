"""Issues contract versions and records signatures."""

import hashlib

from django.db import transaction
from django.utils import timezone

from accounts.models import User
from contracts.actions.revisions import record_leg_change
from contracts.documents.clauses import LATEST_TEMPLATE, render_clauses
from contracts.models import Card, ContractDocument, ContractVersion, Leg, Signature
from contracts.models.documents import IN_FORCE, VOID
from contracts.refusals import not_found
from contracts.status import SIGN, check_status
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

MAX_USER_AGENT_CHARS = 300


def issue_version(leg: Leg) -> ContractVersion:
    """Issues the next version in the caller's transaction and voids the previous one."""
    document, _ = ContractDocument.objects.get_or_create(leg=leg)
    last = document.versions.order_by("-number").first()
    document.versions.exclude(status=VOID).update(status=VOID)
    # An open signature card for the previous version becomes due, and its deadline voids it.
    Card.objects.filter(leg=leg, type="sign", is_open=True).update(due_at=timezone.now())
    version = ContractVersion(
        document=document,
        number=last.number + 1 if last else 1,
        template=LATEST_TEMPLATE,
        clauses=render_clauses(leg),
        # Whole seconds, so that the stored time is the time shown.
        issued_at=timezone.now().replace(microsecond=0),
    )
    version.pdf = _print(version)
    version.sha256 = checksum(version.pdf)
    version.save()
    return version


def checksum(content: bytes | memoryview) -> str:
    return hashlib.sha256(content).hexdigest()


def _print(version: ContractVersion, signatures: list[dict[str, str]] | None = None) -> bytes:
    # Loaded here, since it takes a third of the start of a command; servers load it at their start.
    from contracts.documents import pdf

    return pdf.contract(
        title=f"Contract: {version.document.leg.service}",
        document_id=version.document_id,
        version=version.number,
        issued_at=version.issued_at,
        clauses=version.clauses,
        signatures=signatures or [],
    )


@transaction.atomic
def sign_version(
    user: User,
    *,
    document_id: str,
    number: int,
    legal_name: str,
    has_read: bool,
    address: str | None,
    user_agent: str,
) -> list[OutboxEntry]:
    """Signs once per party. The last signature puts the contract in force."""
    version = _lock(user, document_id, number)
    leg = version.document.leg
    if version.signatures.filter(user=user).exists():
        return []
    check_status(leg, SIGN)
    _check_can_be_signed(version, legal_name, has_read)
    Signature.objects.create(
        version=version,
        user=user,
        legal_name=legal_name.strip(),
        sha256=version.sha256,
        signed_at=timezone.now().replace(microsecond=0),
        address=address,
        user_agent=user_agent[:MAX_USER_AGENT_CHARS],
    )
    text = f"{user.display_name} signed the contract: {leg.service}, version {number}."
    if version.signatures.count() == len(leg.parties):
        _put_in_force(version)
        text += " You've both signed, so it's now in force."
    return record_leg_change(
        leg, by=user, key=f"{document_id}:{number}:signed:{user.id}", text=text
    )


def _lock(user: User, document_id: str, number: int) -> ContractVersion:
    # Lock order: the leg first, so that its status cannot change after the check.
    legs = Leg.objects.select_for_update(of=("self",)).filter(contract=document_id)
    leg = legs.first()
    found = ContractVersion.objects.select_for_update(of=("self",)).select_related("document__leg")
    version = found.filter(document=document_id, number=number).first()
    if leg is None or version is None or user.id not in leg.parties:
        raise not_found("document")
    return version


def _check_can_be_signed(version: ContractVersion, legal_name: str, has_read: bool) -> None:
    if version.status == VOID:
        raise Refusal(
            "ACTION_INVALID_STATE",
            "This version is no longer valid. Read and sign the current one.",
        )
    if len(legal_name.split()) < 2:
        raise Refusal(
            "SIGNATURE_INVALID", "Enter your full legal name as it appears in your passport."
        )
    if not has_read:
        raise Refusal("SIGNATURE_INVALID", "Read the contract to the end before you sign.")


def _put_in_force(version: ContractVersion) -> None:
    leg = version.document.leg
    roles = {leg.buyer_id: "Buyer", leg.seller_id: "Seller"}
    signed = [
        {
            "legal_name": signature.legal_name,
            "as": f"{roles[signature.user_id]} ({signature.user.display_name})",
            "signed": f"{signature.signed_at:%d %B %Y, %H:%M:%S} UTC",
            "address": signature.address or "unknown",
            "browser": signature.user_agent or "unknown",
            "document": f"SHA-256 {signature.sha256}",
        }
        for signature in version.signatures.select_related("user").order_by("id")
    ]
    version.signed_pdf = _print(version, signed)
    version.signed_sha256 = checksum(version.signed_pdf)
    version.status = IN_FORCE
    version.save(update_fields=["signed_pdf", "signed_sha256", "status"])
