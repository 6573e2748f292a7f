"""Changes to users. The copy of a profile in DynamoDB is updated through the outbox."""

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from accounts.models import EarlierName, User, add_profile_entry
from accounts.profiles.handles import HANDLE_TAKEN
from accounts.profiles.text import check_policy

REQUIREMENT_FIELDS = ("requires_verified", "requires_date", "requires_budget")
PUBLIC_FIELDS = ("display_name", "handle", "headline", "about", "city")
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
    """Returns the saved user. `user` itself is not modified, so a failure has no visible effect."""
    changed = User.objects.get(pk=user.pk)
    changed.display_name, changed.handle = display_name, handle
    changed.headline, changed.about = headline, about
    changed.city, changed.time_zone = city, time_zone
    changed.full_clean()
    _check_policy(changed)
    try:
        _save_profile(changed)
    except IntegrityError as error:
        raise ValidationError({"handle": HANDLE_TAKEN}) from error
    return changed


def _check_policy(user: User) -> None:
    """Checks the public fields: a profile is visible before anything is booked."""
    wrong = {}
    for field in PUBLIC_FIELDS:
        try:
            check_policy(getattr(user, field))
        except ValidationError as error:
            wrong[field] = error
    if wrong:
        raise ValidationError(wrong)


def set_safe_mode(user: User, *, on: bool) -> None:
    """Applies to every conversation of the user; a conversation can also require safe mode."""
    user.safe_mode = on
    user.save(update_fields=["safe_mode"])


@transaction.atomic
def _save_profile(user: User) -> None:
    _keep_earlier_name(user)
    user.save(update_fields=PROFILE_FIELDS)
    add_profile_entry(user)


def _keep_earlier_name(user: User) -> None:
    """Keeps the oldest names only: newer system messages refer to users by id."""
    before = User.objects.values_list("display_name", flat=True).get(pk=user.pk)
    is_new = before != user.display_name
    if is_new and user.earlier_names.count() < EarlierName.MAX_KEPT:
        EarlierName.objects.get_or_create(user=user, display_name=before)


def change_requirements(user: User, **required: bool) -> None:
    """What new contacts must provide before they can message this user."""
    User.objects.filter(pk=user.pk).update(**{name: required[name] for name in REQUIREMENT_FIELDS})
