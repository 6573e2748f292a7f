"""Asking to be verified."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.http import AuthenticatedRequest
from people.upload_forms import VerificationForm
from people.verification import get_status, request_verification, withdraw_request
from people.views.uploads import submit


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def verification(request: AuthenticatedRequest) -> HttpResponse:
    form, status = VerificationForm(), 200
    if request.method == "POST":
        form = VerificationForm(request.POST, request.FILES)
        status = submit(form, "document", lambda: _request(request, form))
        if not status:
            messages.success(request, "Your request has been sent. We'll email you our answer.")
            return redirect("people:verification")
    context = {"form": form, "verification": get_status(request.user)}
    return render(request, "people/verification_page.html", context, status=status)


def _request(request: AuthenticatedRequest, form: VerificationForm) -> None:
    data = form.cleaned_data
    document = data["document"]
    request_verification(
        request.user,
        link=data["link"],
        note=data["note"],
        document=document,
        name=document.name if document else "",
    )


@require_POST
@login_required
def withdraw(request: AuthenticatedRequest) -> HttpResponse:
    withdraw_request(request.user)
    messages.success(request, "Your request has been withdrawn.")
    return redirect("people:verification")
