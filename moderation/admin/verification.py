"""The admin pages for verification requests. Every view of a document is recorded."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.timesince import timesince
from django.views.decorators.http import require_POST, require_safe

from core.refusals import Refusal
from files.models import FULL
from moderation.actions import verification as actions
from moderation.admin.read_only import ReadOnlyAdmin
from moderation.forms import VerificationDecisionForm
from moderation.roles import WORK
from people.models import VerificationRequest
from threads.views.file_response import serve


@admin.register(VerificationRequest)
class VerificationRequestAdmin(ReadOnlyAdmin):
    list_display = ("user", "state", "age", "link", "decided_by")
    list_filter = ("state",)
    list_select_related = ("user", "decided_by")
    search_fields = ("id", "user__handle", "user__display_name")
    ordering = ("-created_at",)

    @admin.display(description="asked", ordering="created_at")
    def age(self, request: VerificationRequest) -> str:
        return f"{timesince(request.created_at, timezone.now(), depth=1)} ago"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.has_perm(WORK))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_urls(self) -> list[URLPattern]:
        decide, document = require_POST(self.decide), require_safe(self.document)
        return [
            path(
                "<str:request_id>/decide/",
                self.admin_site.admin_view(decide),
                name="people_verificationrequest_decide",
            ),
            path(
                "<str:request_id>/document/",
                self.admin_site.admin_view(document),
                name="people_verificationrequest_document",
            ),
            *super().get_urls(),
        ]

    def change_view(
        self, request: Any, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        found = actions.access_request(request.user, unquote(object_id))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Verification of {found.user}",
            "verification": found,
            "person": found.user,
            "earlier": found.user.verification_requests.exclude(pk=found.pk),
        }
        return render(request, "admin/people/verificationrequest/page.html", context)

    def document(self, request: Any, request_id: str) -> HttpResponse:
        file = actions.view_document(request.user, request_id=request_id)
        return serve(request, file, FULL, as_download=False)

    def decide(self, request: Any, request_id: str) -> HttpResponse:
        actions.access_request(request.user, request_id)
        form = VerificationDecisionForm(request.POST)
        if not form.is_valid():
            wrong = " ".join(str(error) for errors in form.errors.values() for error in errors)
            messages.error(request, f"Nothing was changed. {wrong}")
            return self._redirect(request_id)
        try:
            self._decide(request, request_id, **form.cleaned_data)
        except Refusal as refusal:
            if refusal.code != "ACTION_INVALID_STATE":
                raise
            messages.error(request, refusal.message)
        return self._redirect(request_id)

    def _decide(self, request: Any, request_id: str, *, decision: str, reason: str) -> None:
        if decision == "approve":
            actions.approve_verification(request.user, request_id=request_id, reason=reason)
        else:
            actions.decline_verification(request.user, request_id=request_id, reason=reason)
        messages.success(request, "Done. The user has been informed by email.")

    def _redirect(self, request_id: str) -> HttpResponse:
        return redirect(
            reverse("admin:people_verificationrequest_change", args=[quote(request_id)])
        )
