"""Onboarding: from a confirmed address to a first message. Every step can be skipped."""

from dataclasses import dataclass

from django.db import transaction

from accounts.actions import PROFILE_FIELDS, change_profile
from accounts.models import OnboardingStep, User
from people.actions import change_services
from people.models import ServiceProfile
from people.search.filters import DirectoryFilters
from people.search.query import list_sellers

STEPS = list(OnboardingStep)
MAX_SUGGESTIONS = 6


@dataclass(frozen=True)
class StepView:
    """A step as the progress shows it; the first one is the confirmation of the address."""

    name: str
    label: str
    number: int
    is_current: bool
    is_done: bool


def list_steps(current: str) -> list[StepView]:
    at = STEPS.index(OnboardingStep(current))
    steps = [StepView("", "Confirm your address", 1, False, True)]
    for index, step in enumerate(STEPS):
        steps.append(StepView(step.value, step.label, index + 2, index == at, index < at))
    return steps


def find_next(step: str) -> str:
    """The step after this one; empty after the last."""
    following = STEPS[STEPS.index(OnboardingStep(step)) + 1 :]
    return following[0].value if following else ""


def complete_step(user: User, step: str) -> str:
    """Moves on to the next step, which is returned. A repeat changes nothing, and neither does a
    step that the user went back to."""
    following = find_next(step)
    User.objects.filter(pk=user.pk, onboarding_step=step).update(onboarding_step=following)
    return following


def list_suggestions(user: User) -> list[User]:
    """The first users of the directory."""
    return list_sellers(user, DirectoryFilters()).sellers[:MAX_SUGGESTIONS]


def change_name(user: User, display_name: str) -> None:
    _change_profile(user, display_name=display_name)


@transaction.atomic
def change_work(
    user: User, *, headline: str, city: str, offers_services: bool, crafts: list[str]
) -> None:
    """Leaves languages and rates as they are. A user who offers nothing needs no such row."""
    services = ServiceProfile.objects.filter(pk=user.pk).first()
    if services or offers_services:
        before = services or ServiceProfile(user=user)
        kept = ("languages", "price_cents", "currency", "unit")
        change_services(
            user,
            offers_services=offers_services,
            crafts=crafts,
            **{name: getattr(before, name) for name in kept},
        )
    _change_profile(user, headline=headline, city=city)


def _change_profile(user: User, **changed: str) -> None:
    change_profile(user, **{name: getattr(user, name) for name in PROFILE_FIELDS} | changed)
