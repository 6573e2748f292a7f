"""The settings page for billing details."""

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.http import AuthenticatedRequest
from contracts.actions.billing import delete_billing_details, save_billing_details
from contracts.models import BillingDetails
from projects.billing_form import BillingForm, billing_initial


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def billing(request: AuthenticatedRequest) -> HttpResponse:
    details = BillingDetails.objects.filter(user=request.user).first()
    if request.method == "POST" and "delete" in request.POST:
        delete_billing_details(request.user)
        messages.success(request, "Your billing details have been removed.")
        return redirect("projects:billing")
    form = BillingForm(request.POST or None, initial=billing_initial(details))
    if form.is_valid() and _save(request, form):
        messages.success(request, "Your billing details have been saved.")
        return redirect("projects:billing")
    context = {"form": form, "has_details": details is not None}
    return render(request, "projects/billing.html", context, status=400 if form.is_bound else 200)


def _save(request: AuthenticatedRequest, form: BillingForm) -> bool:
    try:
        save_billing_details(request.user, **form.cleaned_data)
    except forms.ValidationError as error:
        form.add_error(None, error)
        return False
    return True
