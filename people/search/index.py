"""Updates the index of the directory from a user and their service profile."""

from django.db import transaction
from django.db.models import F

from accounts.models import User
from people.crafts import CRAFTS
from people.models import DirectoryCity, DirectoryEntry, DirectoryWord, ServiceProfile
from people.search.filters import city_key, list_combinations
from people.search.words import encode_word, list_profile_words


def refresh_listing(user_id: str) -> None:
    """Lists the user as they are now, or no longer. Idempotent."""
    with transaction.atomic():
        profiles = ServiceProfile.objects.select_related("user").filter(pk=user_id)
        # Locked, so that of two concurrent updates the second one sees the first.
        profile = profiles.select_for_update(of=("self",)).first()
        if profile is None or not _is_listed(profile):
            remove_listing(user_id)
            return
        _update_entries(profile)
        _update_words(profile)


def rebuild_directory() -> int:
    """Refreshes all listings, one transaction each; returns how many."""
    count = 0
    for user_id in ServiceProfile.objects.values_list("pk", flat=True).iterator():
        refresh_listing(user_id)
        count += 1
    return count


def remove_listing(user_id: str) -> None:
    """Runs in the transaction of the caller."""
    entries = DirectoryEntry.objects.filter(user=user_id)
    _move_between_cities(_listed_city(set(entries.values_list("filters", flat=True))), "")
    entries.delete()
    DirectoryWord.objects.filter(user=user_id).delete()


def _is_listed(profile: ServiceProfile) -> bool:
    return profile.offers_services and profile.user.is_active and bool(profile.crafts)


def _update_entries(profile: ServiceProfile) -> None:
    user, position = profile.user, make_position(profile)
    wanted = list_combinations(profile.crafts, user.city, profile.languages)
    entries = DirectoryEntry.objects.filter(user=user)
    stored = set(entries.values_list("filters", flat=True))
    entries.filter(filters__in=stored - wanted).delete()
    entries.exclude(position=position).update(position=position)
    DirectoryEntry.objects.bulk_create(
        DirectoryEntry(user=user, filters=key, position=position) for key in sorted(wanted - stored)
    )
    _move_between_cities(_listed_city(stored), city_key(user.city), user.city)


def _update_words(profile: ServiceProfile) -> None:
    wanted = {encode_word(word) for word in list_profile_words(_list_texts(profile))}
    words = DirectoryWord.objects.filter(user=profile.user)
    stored = {bytes(word) for word in words.values_list("word", flat=True)}
    words.filter(word__in=stored - wanted).delete()
    DirectoryWord.objects.bulk_create(
        DirectoryWord(user=profile.user, word=word) for word in sorted(wanted - stored)
    )


def _list_texts(profile: ServiceProfile) -> list[str]:
    """What text search finds, the most important first."""
    user = profile.user
    crafts = [CRAFTS[craft] for craft in profile.crafts if craft in CRAFTS]
    return [user.display_name, user.handle, *crafts, user.city, user.headline, user.about]


def make_position(profile: ServiceProfile) -> str:
    """Verified and complete profiles first, then the newest users."""
    user: User = profile.user
    score = 3 * user.verified + 2 * bool(user.avatar) + bool(user.headline) + bool(user.about)
    score += (profile.price_cents is not None) + bool(profile.response_time)
    return f"{score}#{user.pk}"


def _listed_city(filters: set[str]) -> str:
    """The city of a listing, by its entries that filter by nothing else."""
    alone = (key.split("|") for key in filters)
    return next((city for craft, city, language in alone if city and not craft + language), "")


def _move_between_cities(before: str, after: str, name: str = "") -> None:
    """In the order of the keys, so that concurrent moves do not deadlock."""
    if before == after:
        return
    for key in sorted(filter(None, (before, after))):
        if key == before:
            _leave_city(key)
        else:
            _join_city(key, name)


def _leave_city(key: str) -> None:
    DirectoryCity.objects.filter(pk=key).update(sellers=F("sellers") - 1)
    DirectoryCity.objects.filter(pk=key, sellers=0).delete()


def _join_city(key: str, name: str) -> None:
    # The row may be added or deleted concurrently.
    while not DirectoryCity.objects.filter(pk=key).update(sellers=F("sellers") + 1):
        new = DirectoryCity(key=key, name=name)
        DirectoryCity.objects.bulk_create([new], ignore_conflicts=True)
