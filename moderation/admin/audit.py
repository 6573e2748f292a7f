"""The admin pages of the audit."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import quote
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from moderation.admin.filters import AuditActFilter
from moderation.admin.read_only import ReadOnlyAdmin
from moderation.models import AuditEntry
from moderation.sentences import describe, describe_case, with_names


@admin.register(AuditEntry)
class AuditAdmin(ReadOnlyAdmin):
    list_display = ("number", "at", "sentence", "about")
    list_display_links = ("number",)
    list_filter = (AuditActFilter,)
    search_fields = ("case", "actor", "target")
    ordering = ("-number",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditEntry]:
        return with_names(super().get_queryset(request))

    @admin.display(description="what happened")
    def sentence(self, entry: AuditEntry) -> str:
        return format_html('<span dir="auto">{}</span>', describe(entry))

    @admin.display(description="case", ordering="case")
    def about(self, entry: AuditEntry) -> str:
        page, key = "moderation_case_change", entry.case
        if not entry.case:
            page, key = "people_verificationrequest_change", entry.target
        address = reverse(f"admin:{page}", args=[quote(key)])
        return format_html('<a href="{}" dir="auto">{}</a>', address, describe_case(entry))

    def changelist_view(self, request: Any, extra_context: Any = None) -> Any:
        return super().changelist_view(request, {"title": "Audit", **(extra_context or {})})
