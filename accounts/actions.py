"""Changing people. What changes about them goes to the table by the outbox, written with it."""

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from accounts.models import EarlierName, User, add_profile_entry
from accounts.text import check_policy

REQUIREMENT_FIELDS = ("requires_verified", "requires_date", "requires_budget")
READ_BY_OTHERS = ("display_name", "handle", "headline", "about", "city")
PROFILE_FIELDS = ("display_name", "handle", "headline", "about", "city", "time_zone")


def change_profile(
    user: User,
    *,
    display_name: str,
    handle: str,
    city: str,
    time_zone: str,
    headline: str,
    about: str,
) -> User:
    """The person as saved; `user` itself stays as it was, so that a failure shows nowhere."""
    changed = User.objects.get(pk=user.pk)
    changed.display_name, changed.handle = display_name, handle
    changed.headline, changed.about = headline, about
    changed.city, changed.time_zone = city, time_zone
    changed.full_clean()
    _check_policy(changed)
    try:
        _save_profile(changed)
    except IntegrityError as error:
        raise ValidationError({"handle": "This handle is taken."}) from error
    return changed


def _check_policy(user: User) -> None:
    """A profile is read before anything is booked."""
    wrong = {}
    for field in READ_BY_OTHERS:
        try:
            check_policy(getattr(user, field))
        except ValidationError as error:
            wrong[field] = error
    if wrong:
        raise ValidationError(wrong)


def set_safe_mode(user: User, *, on: bool) -> None:
    """For this person, in every conversation; one that requires it has it anyway."""
    user.safe_mode = on
    user.save(update_fields=["safe_mode"])


@transaction.atomic
def _save_profile(user: User) -> None:
    _keep_earlier_name(user)
    user.save(update_fields=PROFILE_FIELDS)
    add_profile_entry(user)


def _keep_earlier_name(user: User) -> None:
    """The oldest ones: newer texts of the service say by id whom they name."""
    before = User.objects.values_list("display_name", flat=True).get(pk=user.pk)
    is_new = before != user.display_name
    if is_new and user.earlier_names.count() < EarlierName.MAX_KEPT:
        EarlierName.objects.get_or_create(user=user, display_name=before)


def change_requirements(user: User, **required: bool) -> None:
    """What somebody new has to bring before they may write to this person."""
    User.objects.filter(pk=user.pk).update(**{name: required[name] for name in REQUIREMENT_FIELDS})
