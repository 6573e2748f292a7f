"""Reading people. Whoever is suspended does not exist for others."""

import secrets

from accounts.handles import handle_from_name, with_number
from accounts.models import User
from core.refusals import Refusal


def get_person(handle: str) -> User:
    person = User.objects.filter(handle=handle.lower(), is_active=True).first()
    if person is None:
        raise Refusal("PERSON_NOT_FOUND")
    return person


def find_user(user_id: str) -> User | None:
    return User.objects.filter(pk=user_id, is_active=True).first()


def suggest_handle(name: str) -> str:
    """A free handle near to the name. Still free when it is saved? The table's constraint says."""
    first = handle_from_name(name)
    last = with_number(first, secrets.randbelow(10**9))
    wanted = [first, *(with_number(first, number) for number in range(2, 100)), last]
    taken = set(User.objects.filter(handle__in=wanted).values_list("handle", flat=True))
    return next((handle for handle in wanted if handle not in taken), last)
