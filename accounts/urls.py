from django.urls import path

from accounts import views

app_name = "accounts"
urlpatterns = [
    path("sign-up/resend/", views.resend, name="resend_confirmation"),
    path("settings/", views.settings, name="settings"),
    path("settings/requirements/", views.requirements, name="requirements"),
    path("settings/safe-mode/", views.safe_mode, name="safe_mode"),
    path("settings/theme/", views.theme, name="theme"),
]
