"""Changes to what a user offers."""

from collections.abc import Iterable

from django.db import transaction

from accounts.models import User
from people.models import (
    FirstContact,
    Photo,
    PortfolioImage,
    ServiceProfile,
    VerificationRequest,
)
from people.response_times import measure
from people.search.index import refresh_listing, remove_listing


@transaction.atomic
def change_services(
    user: User,
    *,
    offers_services: bool,
    crafts: Iterable[str],
    languages: Iterable[str],
    price_cents: int | None = None,
    currency: str = "",
    unit: str = "",
) -> ServiceProfile:
    """Saves crafts, languages and the starting price, and updates the directory."""
    profile = ServiceProfile(
        user=user,
        offers_services=offers_services,
        crafts=list(dict.fromkeys(crafts)),
        languages=list(dict.fromkeys(languages)),
        price_cents=price_cents,
        # Without a price they mean nothing.
        currency=currency if price_cents is not None else "",
        unit=unit if price_cents is not None else "",
        response_time=measure(user.pk),
    )
    profile.full_clean(validate_unique=False, exclude=["user"])
    ServiceProfile.objects.bulk_create(
        [profile],
        update_conflicts=True,
        unique_fields=["user"],
        update_fields=[
            *("offers_services", "crafts", "languages", "price_cents", "currency", "unit"),
            *("response_time", "changed_at"),
        ],
    )
    refresh_listing(user.pk)
    return profile


def delete_profile_data(user: User) -> None:
    """Runs in the transaction that deletes the account. Idempotent."""
    remove_listing(user.pk)
    ServiceProfile.objects.filter(pk=user.pk).delete()
    FirstContact.objects.filter(recipient=user).delete()
    # Their files have no use then, and are deleted with the other unused files of the user.
    Photo.objects.filter(user=user).delete()
    PortfolioImage.objects.filter(user=user).delete()
    VerificationRequest.objects.filter(user=user).delete()
