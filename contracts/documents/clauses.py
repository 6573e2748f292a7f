"""What a contract says: clauses with variables. A template that was used is never edited; a better
wording is another one, with the next number."""

import re
from datetime import datetime
from string import Formatter
from typing import NamedTuple
from zoneinfo import ZoneInfo

from contracts.models import Leg
from contracts.models.bookings import CANCELLATION
from contracts.money import amount
from core.refusals import Refusal
from core.time_zones import local_time


class Clause(NamedTuple):
    title: str
    text: str


TEMPLATES: dict[int, tuple[Clause, ...]] = {
    1: (
        Clause(
            "Who agrees",
            "This contract is between {buyer}, who books (the buyer), and {seller}, who delivers "
            "(the seller). Parley keeps it for both of them and is not a party to it.",
        ),
        Clause(
            "What is booked",
            "{service}. It takes place at {place}, from {starts} to {ends} (time zone {zone}).",
        ),
        Clause(
            "Price and deposit",
            "The price is {price}. Of it, {deposit} is a deposit, due when both have signed; the "
            "rest is due when the work is completed. Anything on top is agreed in the conversation "
            "before it is done, and becomes part of this contract as an amendment.",
        ),
        Clause("If it is cancelled", "{cancellation}"),
        Clause(
            "Changes",
            "Time, place and price can be changed when both agree. A change makes a new version "
            "of this contract, which has to be signed again; until then the old signatures no "
            "longer count.",
        ),
        Clause(
            "Work and rights",
            "The seller does the work with care and delivers what was agreed in the conversation. "
            "When everything is paid, the buyer may use what was delivered as agreed there. The "
            "seller stays its author.",
        ),
        Clause(
            "Disagreement",
            "Both try to settle a disagreement in the conversation first. What was said, agreed, "
            "delivered and paid there counts as evidence.",
        ),
        Clause(
            "Signatures",
            "Both sign by typing their legal name after reading this contract to its end. The "
            "time, the network address and the browser of each signature are recorded with it.",
        ),
    )
}
LATEST_TEMPLATE = max(TEMPLATES)
PARTY_NAMES = ("buyer", "seller")


def render_clauses(leg: Leg, template: int = LATEST_TEMPLATE) -> list[dict[str, str]]:
    """The clauses with everything filled in; a contract with a hole is not issued."""
    values = variables(leg)
    clauses = TEMPLATES[template]
    missing = sorted(
        name
        for clause in clauses
        for name in list_variable_names(clause.text)
        if not values.get(name)
    )
    if missing:
        raise Refusal("OFFER_INVALID", f"The contract still lacks: {', '.join(missing)}.")
    return [{"title": c.title, "text": c.text.format_map(values)} for c in clauses]


def list_variable_names(text: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(text) if name]


def list_differing_clauses(leg: Leg, template: int, clauses: list[dict[str, str]]) -> list[str]:
    """Titles of the clauses that say something else than the booking. The names of the parties are
    not compared: people may change theirs after they signed."""
    values = variables(leg)
    written = {clause["title"]: clause["text"] for clause in clauses}
    return [
        clause.title
        for clause in TEMPLATES[template]
        if not re.fullmatch(_pattern(clause.text, values), written.get(clause.title, ""))
    ]


def _pattern(text: str, values: dict[str, str]) -> str:
    parts = []
    for literal, name, _, _ in Formatter().parse(text):
        parts.append(re.escape(literal))
        if name:
            parts.append(".+" if name in PARTY_NAMES else re.escape(values[name]))
    return "".join(parts)


def variables(leg: Leg) -> dict[str, str]:
    zone = ZoneInfo(leg.time_zone)
    found = {
        "buyer": leg.buyer.display_name,
        "seller": leg.seller.display_name,
        "service": leg.service,
        "place": leg.place,
        "starts": said(leg.starts_at, zone),
        "ends": said(leg.ends_at, zone),
        "zone": leg.time_zone.replace("_", " "),
        "price": amount(leg.price_cents, leg.currency),
        "deposit": amount(leg.deposit_cents, leg.currency),
        "cancellation": CANCELLATION.get(leg.cancellation, ""),
    }
    return {name: re.sub(r"\s+", " ", value).strip() for name, value in found.items()}


def said(moment: datetime, zone: ZoneInfo) -> str:
    at = local_time(moment, zone)
    return f"{at:%A} {at.day} {at:%B %Y}, {at:%H:%M}"
