"""Templates of contract clauses. A published template is never edited; a new wording gets the next
number."""

import re
from datetime import datetime
from string import Formatter
from typing import NamedTuple
from zoneinfo import ZoneInfo

from contracts.models import Leg
from contracts.models.bookings import CANCELLATION
from contracts.money import format_amount
from contracts.plans import describe_plan, list_instalments
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
_PRICE_AND_PAYMENT = Clause(
    "Price and payment",
    "The price is {price}, due as follows: {plan}. Of it, {deposit} is the deposit. Anything on "
    "top is agreed in the conversation before it is done, becomes part of this contract as an "
    "amendment, and is due when the work is completed.",
)
TEMPLATES[2] = tuple(
    _PRICE_AND_PAYMENT if clause.title == "Price and deposit" else clause for clause in TEMPLATES[1]
)
LATEST_TEMPLATE = max(TEMPLATES)
PARTY_NAMES = ("buyer", "seller")


def render_clauses(leg: Leg, template: int = LATEST_TEMPLATE) -> list[dict[str, str]]:
    """Fills in all variables, and refuses if one is missing."""
    values = variables(leg)
    clauses = TEMPLATES[template]
    missing = sorted(
        name
        for clause in clauses
        for name in list_variable_names(clause.text)
        if not values.get(name)
    )
    if missing:
        raise Refusal("OFFER_INVALID", f"The contract is missing: {', '.join(missing)}.")
    return [{"title": c.title, "text": c.text.format_map(values)} for c in clauses]


def list_variable_names(text: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(text) if name]


def list_differing_clauses(leg: Leg, template: int, clauses: list[dict[str, str]]) -> list[str]:
    """Titles of clauses that differ from the booking. Names are not compared, because users can
    change them after signing."""
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
        "starts": format_moment(leg.starts_at, zone),
        "ends": format_moment(leg.ends_at, zone),
        "zone": leg.time_zone.replace("_", " "),
        "price": format_amount(leg.price_cents, leg.currency),
        "deposit": format_amount(leg.deposit_cents, leg.currency),
        "plan": describe_plan(
            list_instalments(leg.plan, leg.price_cents, leg.deposit_cents), leg.currency
        ),
        "cancellation": CANCELLATION.get(leg.cancellation, ""),
    }
    return {name: re.sub(r"\s+", " ", value).strip() for name, value in found.items()}


def format_moment(moment: datetime, zone: ZoneInfo) -> str:
    at = local_time(moment, zone)
    return f"{at:%A} {at.day} {at:%B %Y}, {at:%H:%M}"
