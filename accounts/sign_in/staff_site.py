"""The admin site. Staff sign in like all users and additionally need a second factor.

Staff without one are redirected to set it up.
"""

from collections.abc import Callable
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
from django.template.response import TemplateResponse

from accounts.models import User

SECOND_FACTOR = "mfa"
HIDDEN_APPS = ("account", "mfa")


class StaffSite(AdminSite):
    site_header = "Parley staff"
    site_title = "Parley"
    index_title = "Desk"
    index_template = "admin/desk.html"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # Each adds to the context of the index page; apps above register here.
        self.index_sections: list[Callable[[HttpRequest], dict[str, Any]]] = []

    def index(self, request: HttpRequest, extra_context: Any = None) -> TemplateResponse:
        context = dict(extra_context or {})
        for section in self.index_sections:
            context |= section(request)
        return super().index(request, context)

    def register(self, model_or_iterable: Any, *args: Any, **options: Any) -> None:
        """Skips email addresses and second factors, which staff must not see or change."""
        is_many = isinstance(model_or_iterable, list | tuple)
        models = model_or_iterable if is_many else [model_or_iterable]
        shown = [model for model in models if model._meta.app_label not in HIDDEN_APPS]
        super().register(shown, *args, **options)

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and has_second_factor(request)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        user = request.user
        if not user.is_authenticated:
            next_url = request.GET.get("next") or request.get_full_path()
            return redirect_to_login(next_url, resolve_url("account_login"))
        if not user.is_staff or not user.is_active:
            raise PermissionDenied
        if has_second_factor(request):
            return redirect("admin:index")
        if is_mfa_enabled(user):
            # Set up on another device after this session was opened with a password.
            return redirect("mfa_reauthenticate")
        messages.info(request, "Staff need two-factor authentication. Set it up here.")
        return redirect("mfa_activate_totp")


def has_second_factor(request: HttpRequest) -> bool:
    """Whether this session was authenticated with a second factor."""
    records = get_authentication_records(request, request.user)
    return any(record.get("method") == SECOND_FACTOR for record in records)


@receiver(authenticator_added)
def record_second_factor(sender: Any, request: HttpRequest, user: User, **_: Any) -> None:
    """Setting it up includes entering a code, which authenticates the session."""
    record_authentication(request, user, SECOND_FACTOR)
