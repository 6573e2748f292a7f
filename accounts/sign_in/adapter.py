"""Where allauth and our people meet."""

import ipaddress
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest
from django.urls import reverse

from accounts.models import User

IN_FILES = "django.core.mail.backends.filebased.EmailBackend"
FROM_SIGN_UP = ("display_name", "handle", "city", "time_zone")


class AccountAdapter(DefaultAccountAdapter):
    error_messages = DefaultAccountAdapter.error_messages | {
        "account_inactive": "This account is suspended.",
        "duplicate_email": "This is your address already.",
        "email_password_mismatch": "This address and password do not go together.",
        "enter_current_password": "This is not your current password.",
        "incorrect_password": "This is not your password.",
        "rate_limited": "That was a lot at once. Wait a moment and try again.",
        "too_many_login_attempts": "That was a lot at once. Wait a moment and try again.",
    }

    def save_user(self, request: HttpRequest, user: User, form: Form, commit: bool = True) -> User:
        for field in FROM_SIGN_UP:
            setattr(user, field, form.cleaned_data[field])
        return super().save_user(request, user, form, commit)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        super().send_mail(template_prefix, email, context)
        if settings.EMAIL_BACKEND == IN_FILES:
            folder = settings.EMAIL_FILE_PATH
            messages.info(self.request, f"No mail server is set up: mail is put into {folder}.")

    def get_reset_password_from_key_url(self, key: str) -> str:
        return super().get_reset_password_from_key_url(key.removeprefix("usr_"))

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Wrong passwords are counted by axes, for one address. allauth's own count is left to the
        second factor, where nobody gets without the password."""

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("accounts:settings")

    def get_client_ip(self, request: HttpRequest) -> str:
        """A socket for both families shows 192.0.2.1 as ::ffff:192.0.2.1, and everybody as one."""
        address: Any = ipaddress.ip_address(super().get_client_ip(request))
        return str(getattr(address, "ipv4_mapped", None) or address)
