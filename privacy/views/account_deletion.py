"""Deleting one's account: what goes and what stays, the password once more, and out."""

from allauth.core import ratelimit
from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from accounts.models import User
from core.refusals import Refusal
from privacy.actions import check_can_delete_account, delete_account
from threads.views.threads import AuthenticatedRequest


class DeleteForm(forms.Form):
    password = forms.CharField(
        label="Your password",
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )

    def __init__(self, user: User, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.user = user

    def clean_password(self) -> str:
        password: str = self.cleaned_data["password"]
        if not self.user.check_password(password):
            raise forms.ValidationError("This is not your password.")
        return password


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def delete(request: AuthenticatedRequest) -> HttpResponse:
    form = DeleteForm(request.user, *([request.POST] if request.method == "POST" else []))
    try:
        check_can_delete_account(request.user)
        if request.method == "POST" and _is_confirmed(request, form):
            delete_account(request.user)
            logout(request)
            messages.success(request, "Your account is deleted. Thank you for having been here.")
            return redirect("welcome")
    except Refusal as refusal:
        if refusal.code != "DELETION_REFUSED":
            raise
        return _page(request, form, refusal)
    return _page(request, form)


def _is_confirmed(request: AuthenticatedRequest, form: DeleteForm) -> bool:
    """Nobody tries passwords here either."""
    if not ratelimit.consume(request, action="reauthenticate", user=request.user):
        raise Refusal("RATE_LIMITED", retry_after=60)
    return form.is_valid()


def _page(
    request: AuthenticatedRequest, form: DeleteForm, refusal: Refusal | None = None
) -> HttpResponse:
    described = refusal.as_dict(request.corr_id) if refusal else None
    status = refusal.status if refusal and request.method == "POST" else 200
    context = {"form": form, "refusal": described}
    return render(request, "privacy/delete_account.html", context, status=status)
