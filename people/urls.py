from django.urls import path

from core import converters  # noqa: F401  (its ids are used in the paths)
from people.views import (
    directory,
    onboarding,
    photos,
    portfolio,
    profile,
    services,
    verification,
)

app_name = "people"
urlpatterns = [
    path("people/", directory.directory, name="directory"),
    path("people/<slug:handle>/", profile.profile, name="profile"),
    path("people/<slug:handle>/block/", profile.block, name="block"),
    path("people/<slug:handle>/unblock/", profile.unblock, name="unblock"),
    path("settings/services/", services.services, name="services"),
    path("photos/<file:file_id>/", photos.photo, name="photo"),
    path("portfolio/<file:file_id>/", portfolio.image, name="portfolio_image"),
    path("onboarding/", onboarding.onboarding, name="onboarding"),
    path("onboarding/profile/", onboarding.profile, name="onboarding_profile"),
    path("onboarding/work/", onboarding.work, name="onboarding_work"),
    path("onboarding/people/", onboarding.people, name="onboarding_people"),
    path("settings/photo/", photos.edit, name="edit_photo"),
    path("settings/photo/remove/", photos.remove, name="remove_photo"),
    path("settings/portfolio/", portfolio.edit, name="edit_portfolio"),
    path("settings/portfolio/<file:file_id>/caption/", portfolio.caption, name="caption"),
    path("settings/portfolio/<file:file_id>/move/", portfolio.move, name="move_image"),
    path("settings/portfolio/<file:file_id>/remove/", portfolio.remove, name="remove_image"),
    path("settings/verification/", verification.verification, name="verification"),
    path("settings/verification/withdraw/", verification.withdraw, name="withdraw_verification"),
]
