"""A person as the table knows them."""

from accounts.models import User
from threads.models import Person, Profile, keys


def person_of(user: User) -> Person:
    return {
        "id": user.id,
        "handle": user.handle,
        "name": user.display_name,
        "avatar": user.avatar,
        "timeZone": user.time_zone,
    }


def profile_of(user: User) -> Profile:
    return Profile(
        keys.user_pk(user.id),
        keys.PROFILE,
        handle=user.handle,
        display_name=user.display_name,
        avatar=user.avatar or None,
        verified=user.verified,
        city=user.city or None,
        time_zone=user.time_zone,
    )
