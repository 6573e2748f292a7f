"""Profiles as pages show them."""

from dataclasses import dataclass, field

from accounts.models import User
from contracts.money import format_amount
from people.crafts import CRAFTS
from people.languages import language_names
from people.models import ServiceProfile
from people.models.profiles import UNITS, ResponseTime
from threads.models import Person
from threads.models.profiles import build_person


@dataclass(frozen=True)
class PersonSummary:
    """Has plain values only, so that its fragment is found by what it shows."""

    person: Person
    headline: str
    city: str
    verified: bool
    offers_services: bool = False
    crafts: list[str] = field(default_factory=list)
    languages: list[str] = field(default_factory=list)
    price: str = ""
    unit: str = ""
    response_time: str = ""


def summarise(user: User, profile: ServiceProfile | None) -> PersonSummary:
    person, names = build_person(user), language_names()
    if profile is None:
        return PersonSummary(person, user.headline, user.city, user.verified)
    return PersonSummary(
        person,
        user.headline,
        user.city,
        user.verified,
        offers_services=profile.offers_services,
        # Codes that are no longer in a list are left out.
        crafts=[CRAFTS[craft] for craft in profile.crafts if craft in CRAFTS],
        languages=[names[code] for code in profile.languages if code in names],
        price=_format_price(profile),
        unit=UNITS.get(profile.unit, ""),
        response_time=str(ResponseTime(profile.response_time).label),
    )


def _format_price(profile: ServiceProfile) -> str:
    if profile.price_cents is None:
        return ""
    return format_amount(profile.price_cents, profile.currency).removesuffix(".00")
