"""The pages of the onboarding, one for each step."""

from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from accounts.http import AuthenticatedRequest
from accounts.models import OnboardingStep
from accounts.queries import get_person
from people.models import ServiceProfile
from people.onboarding import (
    change_name,
    change_work,
    complete_step,
    list_steps,
    list_suggestions,
)
from people.onboarding_forms import NameAndPhotoForm, WorkForm
from people.photos import set_photo
from people.views.uploads import submit

allow_form_methods = require_http_methods(["GET", "HEAD", "POST"])


@require_safe
@login_required
def onboarding(request: AuthenticatedRequest) -> HttpResponse:
    """Continues with the step at which the user stopped."""
    return _redirect_to(request.user.onboarding_step)


@allow_form_methods
@login_required
def profile(request: AuthenticatedRequest) -> HttpResponse:
    initial = {"display_name": request.user.display_name}
    form = NameAndPhotoForm(request.POST or None, request.FILES or None, initial=initial)

    def save() -> None:
        data = form.cleaned_data
        if data["photo"]:
            set_photo(request.user, content=data["photo"])
        change_name(request.user, data["display_name"])

    return _handle_step(request, OnboardingStep.PROFILE, form, "photo", save)


@allow_form_methods
@login_required
def work(request: AuthenticatedRequest) -> HttpResponse:
    user = request.user
    services = ServiceProfile.objects.filter(pk=user.pk).first() or ServiceProfile(user=user)
    initial = {"headline": user.headline, "city": user.city, "crafts": services.crafts}
    initial["offers_services"] = services.offers_services
    form = WorkForm(request.POST or None, initial=initial)

    def save() -> None:
        change_work(user, **form.cleaned_data)

    return _handle_step(request, OnboardingStep.WORK, form, "headline", save)


@allow_form_methods
@login_required
def people(request: AuthenticatedRequest) -> HttpResponse:
    """The last step ends on the profile of a suggested user, or in the directory."""
    if not request.user.onboarding_step:
        return _redirect_to("")
    if request.method == "POST":
        handle = request.POST.get("handle", "")
        person = get_person(handle) if handle else None
        complete_step(request.user, OnboardingStep.PEOPLE)
        if person is None:
            return redirect("people:directory")
        return redirect("people:profile", person.handle)
    context = _context(OnboardingStep.PEOPLE) | {"people": list_suggestions(request.user)}
    return render(request, "people/onboarding/people.html", context)


def _handle_step(
    request: AuthenticatedRequest, step: OnboardingStep, form: forms.Form, field: str, save: Any
) -> HttpResponse:
    if not request.user.onboarding_step:
        return _redirect_to("")
    status = 200
    if request.method == "POST":
        is_skipped = "skip" in request.POST
        status = 0 if is_skipped else submit(form, field, save)
        if not status:
            return _redirect_to(complete_step(request.user, step))
    context = _context(step) | {"form": form}
    return render(request, f"people/onboarding/{step.value}.html", context, status=status)


def _context(step: OnboardingStep) -> dict[str, Any]:
    return {"steps": list_steps(step), "step": step}


def _redirect_to(step: str) -> HttpResponse:
    return redirect(f"people:onboarding_{step}") if step else redirect(reverse("inbox:inbox"))
