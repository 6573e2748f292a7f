"""Copies of users' profiles in the table."""

from django.utils import timezone
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path

from accounts.models import User
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, query
from threads.dynamodb.transactions import update
from threads.models import Participant, Person, Profile


def build_person(user: User) -> Person:
    return {
        "id": user.id,
        "handle": user.handle,
        "name": user.display_name,
        "avatar": user.avatar,
        "timeZone": user.time_zone,
    }


def build_other_side(user: User) -> Person:
    """What an inbox row shows of the other side."""
    return without_time_zone(build_person(user))


def without_time_zone(person: Person) -> Person:
    return {name: value for name, value in person.items() if name != "timeZone"}


def muted_until(user: User) -> str | None:
    """The end of a mute by staff, if it is in the future."""
    until = user.muted_until
    return keys.iso(until) if until and until > timezone.now() else None


def build_profile(user: User) -> Profile:
    profile = Profile(keys.user_pk(user.id), keys.PROFILE)
    profile_change(user, rev=0).apply(profile)
    return profile


def profile_change(user: User, *, rev: int) -> Change:
    """Changes only the copied attributes; `last_seen_at` stays as it is."""
    values = {
        "handle": user.handle,
        "display_name": user.display_name,
        "avatar": user.avatar or None,
        "verified": user.verified,
        "city": user.city or None,
        "time_zone": user.time_zone,
        "rev": rev,
    }
    absent = tuple(name for name, value in values.items() if value is None)
    return Change(set={n: v for n, v in values.items() if v is not None}, remove=absent)


def update_person_copies(row: Participant, person: Person) -> None:
    """Updates the user's own item, and the rows of participants that show this user."""
    own = Participant.person["rev"]
    change = Change(set={"person": person})
    update(Participant(row.pk, row.sk), change, _not_newer(own, person))
    where = Item.sk.between(keys.PARTICIPANTS, f"{keys.INVITATIONS}~")
    for other in query(row.pk, where, limit=100).of(Participant):
        if other.other_side["id"] == person["id"] and other.sk != row.sk:
            shown = Participant.other_side["rev"]
            update(
                other,
                Change(set={"other_side": without_time_zone(person)}),
                _not_newer(shown, person),
            )


def _not_newer(rev: Path, person: Person) -> Condition:
    return Participant.pk.exists() & (rev.does_not_exist() | (rev <= person["rev"]))
