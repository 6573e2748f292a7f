"""Requests for signatures on the current version of a contract."""

from pydantic import BaseModel, Field

from accounts.models import User
from contracts.actions.documents import sign_version
from contracts.cards.card_type import (
    AWAITED,
    DEADLINE,
    PENDING,
    SELLER,
    BookingState,
    CardType,
    Payload,
    Transition,
    TransitionContext,
    decline,
    end_with_booking,
    withdraw,
)
from contracts.fields import SingleLine
from contracts.models import ContractVersion, Leg
from contracts.models.documents import ISSUED, VOID
from core.refusals import Refusal

ALREADY_SIGNED = "You've both already signed the contract."


class Sign(BaseModel):
    """No input: the version is the current one."""


class SignatureInput(BaseModel):
    legal_name: SingleLine = Field(title="Your legal name")
    has_read: bool = Field(False, title="I've read the contract to the end")
    # Set by the server, never by the form.
    address: str | None = None
    user_agent: str = ""


def signature_label(name: str) -> str:
    return SignatureInput.model_fields[name].title or ""


def build_payload(leg: Leg, given: Sign, by: User) -> Payload:
    version = leg.contract.versions.exclude(status=VOID).first()
    if version is None or version.status != ISSUED:
        raise Refusal("CARD_INVALID", ALREADY_SIGNED)
    return {
        "service": leg.service,
        "document": leg.contract.id,
        "number": version.number,
        "sha256": version.sha256,
    }


def list_unsigned_parties(leg: Leg, payload: Payload) -> list[str]:
    """The parties who have not signed yet."""
    version = ContractVersion.objects.get(document=payload["document"], number=payload["number"])
    signed = set(version.signatures.values_list("user_id", flat=True))
    return [user_id for user_id in leg.parties if user_id not in signed]


def _sign(context: TransitionContext) -> None:
    payload = context.card.payload
    assert context.by is not None
    context.entries += sign_version(
        context.by,
        document_id=payload["document"],
        number=payload["number"],
        **context.given.model_dump(),
    )
    left = list_unsigned_parties(context.booking, payload)
    if left:
        context.to, context.waits_for = PENDING, left


def summary(payload: Payload) -> str:
    return f"{payload['service']}, version {payload['number']}"


def obstacle(state: BookingState) -> str:
    return ALREADY_SIGNED if state.is_in_force else ""


TYPE = CardType(
    name="sign",
    label="Signatures",
    icon="pencil",
    by=SELLER,
    proposal=Sign,
    build_payload=build_payload,
    summary=summary,
    show=lambda payload: {},
    waits={PENDING: AWAITED},
    initially_awaited=list_unsigned_parties,
    is_exclusive=True,
    propose_label="Request signatures",
    description="Ask for the signatures that are missing",
    obstacle=obstacle,
    transitions=(
        Transition(
            "sign",
            AWAITED,
            (PENDING,),
            "signed",
            "{name} signed: {what}.",
            label="Review and sign",
            tone="primary",
            input_model=SignatureInput,
            effect=_sign,
        ),
        decline("{name} declined to sign: {what}.", by=AWAITED),
        # Signatures that were given stay, and the contract can still be signed.
        withdraw("{name} withdrew the request for signatures: {what}."),
        Transition(
            "void",
            DEADLINE,
            (PENDING,),
            "voided",
            "The contract has a newer version: {what} no longer needs signatures.",
        ),
        end_with_booking(),
    ),
)
