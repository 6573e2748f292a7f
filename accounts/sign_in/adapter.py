"""Adapts allauth to the user model."""

import ipaddress
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.conf import settings
from django.contrib import messages
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from accounts.models import OnboardingStep, User
from accounts.sign_in.confirmation import remember_unconfirmed

FILE_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
SIGN_UP_FIELDS = ("display_name", "handle", "city", "time_zone")

TOO_MANY_ATTEMPTS = "Too many attempts. Wait a moment and try again."


class AccountAdapter(DefaultAccountAdapter):
    error_messages = DefaultAccountAdapter.error_messages | {
        "account_inactive": "This account is suspended.",
        "duplicate_email": "This is already your email address.",
        "email_password_mismatch": "Wrong email address or password.",
        "enter_current_password": "That's not your current password.",
        "incorrect_password": "That's not your password.",
        "rate_limited": TOO_MANY_ATTEMPTS,
        "too_many_login_attempts": TOO_MANY_ATTEMPTS,
    }

    def save_user(self, request: HttpRequest, user: User, form: Form, commit: bool = True) -> User:
        for field in SIGN_UP_FIELDS:
            setattr(user, field, form.cleaned_data[field])
        user.onboarding_step = OnboardingStep.PROFILE
        return super().save_user(request, user, form, commit)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        super().send_mail(template_prefix, email, context)
        if settings.EMAIL_BACKEND == FILE_BACKEND:
            folder = settings.EMAIL_FILE_PATH
            messages.info(self.request, f"No mail server is set up. Emails are saved to {folder}.")

    def get_signup_redirect_url(self, request: HttpRequest) -> str:
        return reverse("people:onboarding")

    def get_login_redirect_url(self, request: HttpRequest) -> str:
        """New users continue with their onboarding."""
        if getattr(request.user, "onboarding_step", ""):
            return reverse("people:onboarding")
        return super().get_login_redirect_url(request)

    def respond_email_verification_sent(
        self, request: HttpRequest, user: User | None
    ) -> HttpResponse:
        if user is not None:
            remember_unconfirmed(request, user.email)
        return super().respond_email_verification_sent(request, user)

    def get_reset_password_from_key_url(self, key: str) -> str:
        return super().get_reset_password_from_key_url(key.removeprefix("usr_"))

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Disabled: axes counts wrong passwords per address. allauth still counts wrong codes."""

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("accounts:settings")

    def get_client_ip(self, request: HttpRequest) -> str:
        """Unmaps IPv4 addresses: a dual-stack socket reports 192.0.2.1 as ::ffff:192.0.2.1."""
        address: Any = ipaddress.ip_address(super().get_client_ip(request))
        return str(getattr(address, "ipv4_mapped", None) or address)
