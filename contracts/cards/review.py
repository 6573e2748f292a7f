"""What a proposal comes to, shown to its author before it is sent."""

from dataclasses import dataclass
from typing import Any

from accounts.models import User
from contracts.cards.card_type import CardType, Payload
from contracts.cards.payloads import check_file_count, read, seal
from contracts.models import Leg


@dataclass(frozen=True)
class Review:
    """`seal` names exactly what was shown: whoever confirms it sends it back."""

    seal: str
    payload: Payload
    shown: dict[str, Any]
    file_count: int


def review(
    kind: CardType,
    leg: Leg,
    user: User,
    given: dict[str, Any],
    *,
    locale: str,
    file_count: int,
    confirmed: str,
) -> Review | None:
    """None if nothing has to be reviewed, or exactly this was confirmed."""
    if not kind.needs_review:
        return None
    proposal = read(kind.proposal, given, locale)
    check_file_count(kind, file_count)
    if (proposal_seal := seal(proposal)) == confirmed:
        return None
    payload = kind.write(leg, proposal, user)
    return Review(proposal_seal, payload, kind.show(payload), file_count)
