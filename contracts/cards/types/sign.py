"""Asking for signatures under one version of a contract."""

from pydantic import BaseModel

from accounts.models import User
from contracts.actions.documents import sign_version
from contracts.cards.card_type import (
    AWAITED,
    DEADLINE,
    PENDING,
    SELLER,
    CardType,
    Payload,
    Transition,
    TransitionContext,
    decline,
    end_with_booking,
)
from contracts.fields import SingleLine
from contracts.models import ContractVersion, Leg
from contracts.models.documents import ISSUED, VOID
from core.refusals import Refusal


class Sign(BaseModel):
    """Which version it is follows from the booking: the one that counts."""


class SignatureInput(BaseModel):
    legal_name: SingleLine
    has_read: bool = False
    # Known to the server, and never asked of whoever signs.
    address: str | None = None
    user_agent: str = ""


def write(leg: Leg, given: Sign, by: User) -> Payload:
    version = leg.contract.versions.exclude(status=VOID).first()
    if version is None or version.status != ISSUED:
        raise Refusal("CARD_INVALID", "The contract is signed by both already.")
    return {
        "service": leg.service,
        "document": leg.contract.id,
        "number": version.number,
        "sha256": version.sha256,
    }


def missing(leg: Leg, payload: Payload) -> list[str]:
    """Those whose signature is not there yet."""
    version = ContractVersion.objects.get(document=payload["document"], number=payload["number"])
    signed = set(version.signatures.values_list("user_id", flat=True))
    return [user_id for user_id in leg.parties if user_id not in signed]


def _sign(act: TransitionContext) -> None:
    payload = act.card.payload
    assert act.by is not None
    act.entries += sign_version(
        act.by,
        document_id=payload["document"],
        number=payload["number"],
        **act.given.model_dump(),
    )
    left = missing(act.booking, payload)
    if left:
        act.to, act.waits_for = PENDING, left


def summary(payload: Payload) -> str:
    return f"{payload['service']}, version {payload['number']}"


TYPE = CardType(
    name="sign",
    label="Signatures",
    icon="pencil",
    by=SELLER,
    proposal=Sign,
    write=write,
    summary=summary,
    show=lambda payload: {},
    waits={PENDING: AWAITED},
    waiting=missing,
    is_alone=True,
    proposes="Ask for signatures",
    moves=(
        Transition(
            "sign",
            AWAITED,
            (PENDING,),
            "signed",
            "{name} signed: {what}.",
            label="Read and sign",
            tone="primary",
            needs=SignatureInput,
            effect=_sign,
        ),
        decline("{name} does not sign: {what}.", by=AWAITED),
        Transition(
            "void",
            DEADLINE,
            (PENDING,),
            "voided",
            "There is a newer version of the contract: {what} no longer needs signatures.",
        ),
        end_with_booking(),
    ),
)
