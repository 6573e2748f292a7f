"""The settings page for crafts, languages and rates."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.http import AuthenticatedRequest
from core.locales import locale_of
from people.actions import change_services
from people.forms import ServicesForm, initial_services
from people.languages import COMMON
from people.models import ServiceProfile


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def services(request: AuthenticatedRequest) -> HttpResponse:
    profile = ServiceProfile.objects.filter(pk=request.user.pk).first()
    initial = initial_services(profile, locale_of(request))
    form = ServicesForm(request.POST or None, initial=initial, locale=locale_of(request))
    if form.is_valid() and _save(request, form):
        messages.success(request, "Your services have been saved.")
        return redirect("people:profile", request.user.handle)
    languages = list(form["languages"])
    context = {
        "form": form,
        "common_languages": languages[: len(COMMON)],
        "other_languages": languages[len(COMMON) :],
        "has_other_languages": bool(set(form["languages"].value() or ()) - set(COMMON)),
    }
    return render(request, "people/services.html", context, status=400 if form.is_bound else 200)


def _save(request: AuthenticatedRequest, form: ServicesForm) -> bool:
    try:
        change_services(request.user, **form.arguments())
    except forms.ValidationError as error:
        form.add_error(None, error)
        return False
    return True
