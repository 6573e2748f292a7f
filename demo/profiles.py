"""Photos, portfolios and verification of the demo users."""

import io

from accounts.models import User
from demo import content
from demo.content.portraits import LOOKS, draw_portrait
from demo.content.works import draw_work
from people.models import Photo, PortfolioImage, VerificationRequest, VerificationState
from people.photos import set_photo
from people.portfolio import add_image


def add_profiles(people: dict[str, User]) -> None:
    """Uploads what is missing, like a user would. Safe to repeat."""
    ids = [user.id for user in people.values()]
    with_photo = set(Photo.objects.filter(user__in=ids).values_list("user_id", flat=True))
    images = PortfolioImage.objects.filter(user__in=ids)
    existing = set(images.values_list("user_id", "key"))
    portfolios = content.portfolios()
    for key, user in people.items():
        if key in LOOKS and user.id not in with_photo:
            set_photo(user, content=io.BytesIO(draw_portrait(key)))
            user.refresh_from_db(fields=["avatar"])
        for name, caption in portfolios.get(key, ()):
            if (user.id, f"demo-{name}") not in existing:
                image = io.BytesIO(draw_work(name))
                add_image(user, key=f"demo-{name}", content=image, caption=caption)
    _add_verification([user for user in people.values() if user.verified])


def _add_verification(users: list[User]) -> None:
    """The approved requests of users who were created as verified."""
    known = set(
        VerificationRequest.objects.filter(user__in=users).values_list("user_id", flat=True)
    )
    VerificationRequest.objects.bulk_create(
        VerificationRequest(
            user=user,
            link=f"https://{user.handle}.example",
            state=VerificationState.APPROVED,
            decided_at=user.date_joined,
        )
        for user in users
        if user.id not in known
    )
