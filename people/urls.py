from django.urls import path

from people.views import directory, profile, services

app_name = "people"
urlpatterns = [
    path("people/", directory.directory, name="directory"),
    path("people/<slug:handle>/", profile.profile, name="profile"),
    path("people/<slug:handle>/block/", profile.block, name="block"),
    path("people/<slug:handle>/unblock/", profile.unblock, name="unblock"),
    path("settings/services/", services.services, name="services"),
]
