"""A person as the table knows them."""

from django.utils import timezone

from accounts.models import User
from threads.models import Person, Profile, keys
from threads.models.changes import Change


def person_of(user: User) -> Person:
    return {
        "id": user.id,
        "handle": user.handle,
        "name": user.display_name,
        "avatar": user.avatar,
        "timeZone": user.time_zone,
    }


def muted_until(user: User) -> str | None:
    """Until when staff have told them not to write, if it is not over."""
    until = user.muted_until
    return keys.iso(until) if until and until > timezone.now() else None


def profile_of(user: User) -> Profile:
    profile = Profile(keys.user_pk(user.id), keys.PROFILE)
    profile_change(user, rev=0).apply(profile)
    return profile


def profile_change(user: User, *, rev: int) -> Change:
    """What is copied, and nothing else: when somebody was last seen stays as it is."""
    values = {
        "handle": user.handle,
        "display_name": user.display_name,
        "avatar": user.avatar or None,
        "verified": user.verified,
        "city": user.city or None,
        "time_zone": user.time_zone,
        "rev": rev,
    }
    gone = tuple(name for name, value in values.items() if value is None)
    return Change(set={n: v for n, v in values.items() if v is not None}, remove=gone)
