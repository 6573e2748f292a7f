"""Queries for users. Suspended users are treated as missing."""

import secrets

from accounts.models import User
from accounts.profiles.handles import handle_from_name, with_number
from core.refusals import Refusal


def get_person(handle: str) -> User:
    person = User.objects.filter(handle=handle.lower(), is_active=True).first()
    if person is None:
        raise Refusal("PERSON_NOT_FOUND")
    return person


def find_user(user_id: str) -> User | None:
    return User.objects.filter(pk=user_id, is_active=True).first()


def suggest_handle(name: str) -> str:
    """An unused handle derived from the name. The unique constraint catches a race on saving."""
    first = handle_from_name(name)
    last = with_number(first, secrets.randbelow(10**9))
    wanted = [first, *(with_number(first, number) for number in range(2, 100)), last]
    taken = set(User.objects.filter(handle__in=wanted).values_list("handle", flat=True))
    return next((handle for handle in wanted if handle not in taken), last)
