"""Review of a proposal by its author before it is sent."""

from dataclasses import dataclass
from typing import Any

from accounts.models import User
from contracts.cards.card_type import CardType, Payload
from contracts.cards.payloads import check_file_count, content_hash, parse_input
from contracts.models import Leg
from core.refusals import Refusal


@dataclass(frozen=True)
class Review:
    """`content_hash` identifies exactly what was shown; the confirmation sends it back."""

    content_hash: str
    payload: Payload
    shown: dict[str, Any]
    file_count: int
    warnings: list[str]


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
    """Returns None if no review is needed or exactly this proposal was confirmed. Types that only
    warn need one if there is something to warn of."""
    if kind.needs_review:
        return _review(kind, leg, user, given, locale, file_count, confirmed)
    if kind.warnings is None:
        return None
    try:
        found = _review(kind, leg, user, given, locale, file_count, confirmed)
    except Refusal:
        return None  # Proposing it reports what is wrong, after its other checks.
    return found if found and found.warnings else None


def _review(
    kind: CardType,
    leg: Leg,
    user: User,
    given: dict[str, Any],
    locale: str,
    file_count: int,
    confirmed: str,
) -> Review | None:
    proposal = parse_input(kind.proposal, given, currency=leg.currency, locale=locale)
    check_file_count(kind, file_count)
    if (proposal_hash := content_hash(proposal)) == confirmed:
        return None
    payload = kind.build_payload(leg, proposal, user)
    warnings = kind.warnings(leg, payload, user) if kind.warnings else []
    return Review(proposal_hash, payload, kind.show(payload), file_count, warnings)
