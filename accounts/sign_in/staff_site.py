"""The site for staff. They sign in as everybody does, with the same lockout and a confirmed
address, and with a second factor on top: who has none yet is led to set one up."""

from typing import Any

from allauth.account.internal.flows.login import get_authentication_records, record_authentication
from allauth.mfa.signals import authenticator_added
from allauth.mfa.utils import is_mfa_enabled
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url

from accounts.models import User

SECOND_FACTOR = "mfa"
NOT_FOR_STAFF = ("account", "mfa")


class StaffSite(AdminSite):
    site_header = "Parley, for staff"
    site_title = "Parley"
    index_title = "Safety and people"

    def register(self, model_or_iterable: Any, *args: Any, **options: Any) -> None:
        """Addresses are changed by their owners, and secrets of second factors are nobody's."""
        given = model_or_iterable
        models = given if isinstance(given, list | tuple) else [given]
        shown = [model for model in models if model._meta.app_label not in NOT_FOR_STAFF]
        super().register(shown, *args, **options)

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and has_second_factor(request)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        user = request.user
        if not user.is_authenticated:
            asked = request.GET.get("next") or request.get_full_path()
            return redirect_to_login(asked, resolve_url("account_login"))
        if not user.is_staff or not user.is_active:
            raise PermissionDenied
        if has_second_factor(request):
            return redirect("admin:index")
        if is_mfa_enabled(user):
            # Set up since, on another device: this session was opened with a password alone.
            return redirect("mfa_reauthenticate")
        messages.info(request, "Staff sign in with a second factor. Set yours up here.")
        return redirect("mfa_activate_totp")


def has_second_factor(request: HttpRequest) -> bool:
    """In this very session."""
    records = get_authentication_records(request, request.user)
    return any(record.get("method") == SECOND_FACTOR for record in records)


@receiver(authenticator_added)
def note_second_factor(sender: Any, request: HttpRequest, user: User, **_: Any) -> None:
    """Whoever has just set it up has shown a code."""
    record_authentication(request, user, SECOND_FACTOR)
