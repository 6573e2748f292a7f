from django.contrib import admin
from django.urls import include, path

from messaging_site import health
from messaging_site.views.pages import welcome
from messaging_site.views.styleguide import styleguide

urlpatterns = [
    path("", welcome, name="welcome"),
    path("", include("accounts.urls")),
    path("", include("people.urls")),
    path("", include("availability.urls")),
    path("", include("inbox.urls")),
    path("", include("threads.urls")),
    path("", include("projects.urls")),
    path("", include("privacy.urls")),
    path("", include("moderation.urls")),
    path("accounts/", include("allauth.urls")),
    path("admin/", admin.site.urls),
    path("healthz", health.alive, name="healthz"),
    path("readyz", health.ready, name="readyz"),
    path("styleguide/", styleguide, name="styleguide"),
]

handler500 = "messaging_site.views.errors.server_error"
# Rendered by allauth when one of ACCOUNT_RATE_LIMITS is reached.
handler429 = "messaging_site.views.errors.too_many_requests"
