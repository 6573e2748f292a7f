from django.urls import path

from people.views import profile

app_name = "people"
urlpatterns = [
    path("people/<slug:handle>/", profile.profile, name="profile"),
]
