from copy import copy

from django import forms
from django.conf import settings as site_settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST

from accounts.actions import change_profile, change_requirements, set_safe_mode
from accounts.forms import ProfileForm, RequirementsForm
from accounts.models import User
from accounts.sign_in.confirmation import resend_confirmation
from core.refusals import Refusal

THEMES = ("light", "dark", "system")
YEAR_SECONDS = 60 * 60 * 24 * 365


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def settings(request: HttpRequest) -> HttpResponse:
    # A copy, because a ModelForm also assigns invalid values and the page shows the user.
    form = ProfileForm(request.POST or None, instance=copy(request.user))
    if form.is_valid() and _save_profile(form):
        messages.success(request, "Your profile has been saved.")
        return redirect("accounts:settings")
    context = {"form": form, "requirements": RequirementsForm(instance=request.user)}
    return render(request, "accounts/settings.html", context)


def _save_profile(form: ProfileForm) -> bool:
    try:
        change_profile(form.instance, **form.cleaned_data)
    except forms.ValidationError as error:
        form.add_error(None, error)
        return False
    return True


@require_POST
@login_required
def requirements(request: HttpRequest) -> HttpResponse:
    form = RequirementsForm(request.POST, instance=copy(request.user))
    if not form.is_valid():
        raise Refusal("BAD_FRAME")
    change_requirements(form.instance, **form.cleaned_data)
    messages.success(request, "Your settings for first messages have been saved.")
    return redirect("accounts:settings")


@require_POST
@login_required
def safe_mode(request: HttpRequest) -> HttpResponse:
    user: User = request.user  # type: ignore[assignment]
    set_safe_mode(user, on=request.POST.get("safe_mode") == "on")
    messages.success(request, f"Safe mode is now {'on' if user.safe_mode else 'off'}.")
    return redirect("accounts:settings")


@require_POST
def resend(request: HttpRequest) -> HttpResponse:
    """Sends the confirmation email of a sign-up again."""
    if not resend_confirmation(request):
        messages.warning(request, "Wait a few minutes before you ask for another email.")
    return redirect("account_email_verification_sent")


@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Stores the theme in a cookie: it belongs to the browser and applies before signing in."""
    choice = request.POST.get("theme", "")
    if choice not in THEMES:
        raise Refusal("BAD_FRAME")
    response = redirect(_get_return_url(request))
    secure = site_settings.SESSION_COOKIE_SECURE
    response.set_cookie("theme", choice, max_age=YEAR_SECONDS, samesite="Lax", secure=secure)
    return response


def _get_return_url(request: HttpRequest) -> str:
    """The previous page, if it is on this site."""
    url = request.POST.get("next") or request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if is_ours else resolve_url(site_settings.LOGIN_REDIRECT_URL)
