"""The admin pages for cases and the audit. Every view of evidence is recorded."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.db.models import Count, QuerySet
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.timesince import timesince
from django.views.decorators.http import require_POST, require_safe

from core.refusals import Refusal
from files.models import FULL
from moderation import queries
from moderation.actions import cases as actions
from moderation.actions.interventions import take_action
from moderation.export import export_case
from moderation.forms import CaseActionForm, NoteForm, ReadForm, ReasonForm, ResolveForm
from moderation.models import AuditEntry, Case
from moderation.read_only_admin import ReadOnlyAdmin
from moderation.roles import RESTRICT, WORK
from moderation.verification_admin import VerificationRequestAdmin  # noqa: F401  (registers it)
from threads.views.file_response import serve


class CaseStateFilter(admin.SimpleListFilter):
    """Shows unresolved cases by default."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("all", "All"), *Case.Status.choices]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Case]) -> QuerySet[Case]:
        match self.value():
            case None:
                return queryset.exclude(status=Case.Status.RESOLVED)
            case "all":
                return queryset
        return queryset.filter(status=self.value())

    def choices(self, changelist: Any) -> Any:
        chosen = self.value()
        for value, title in [(None, "Open"), *self.lookup_choices]:
            query = changelist.get_query_string(
                {self.parameter_name: value} if value else {},
                [] if value else [self.parameter_name],
            )
            yield {"selected": chosen == value, "query_string": query, "display": title}


class CaseAboutFilter(admin.SimpleListFilter):
    title = "about"
    parameter_name = "about__exact"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return Case.About.choices

    def queryset(self, request: HttpRequest, queryset: QuerySet[Case]) -> QuerySet[Case]:
        return queryset.filter(about=self.value()) if self.value() else queryset


@admin.register(Case)
class CaseAdmin(ReadOnlyAdmin):
    list_display = ("what", "urgency", "status", "age", "person", "assignee", "report_count")
    list_filter = (CaseStateFilter, "priority", CaseAboutFilter)
    list_select_related = ("person", "assignee")
    search_fields = ("id", "thread_id", "person__handle", "person__display_name")
    ordering = ("priority", "opened_at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Case]:
        return super().get_queryset(request).annotate(report_count=Count("reports"))

    @admin.display(description="about", ordering="about")
    def what(self, case: Case) -> str:
        return case.get_about_display()

    @admin.display(description="priority", ordering="priority")
    def urgency(self, case: Case) -> str:
        label = case.get_priority_display()
        return format_html('<span class="priority-{}">{}</span>', case.priority, label)

    @admin.display(description="open for", ordering="-opened_at")
    def age(self, case: Case) -> str:
        return timesince(case.opened_at, case.resolved_at or timezone.now(), depth=1)

    @admin.display(description="reports", ordering="report_count")
    def report_count(self, case: Any) -> int:
        return int(case.report_count)

    def changelist_view(self, request: Any, extra_context: Any = None) -> Any:
        return super().changelist_view(request, {"title": "Cases", **(extra_context or {})})

    def get_urls(self) -> list[URLPattern]:
        def case_url(name: str, view: Any) -> URLPattern:
            guarded = self.admin_site.admin_view(require_POST(view))
            return path(f"<str:case_id>/{name}/", guarded, name=f"moderation_case_{name}")

        file = path(
            "<str:case_id>/files/<file:file_id>/",
            self.admin_site.admin_view(require_safe(self.file)),
            name="moderation_case_file",
        )
        return [
            file,
            case_url("take", self.take),
            case_url("act", self.act),
            case_url("note", self.note),
            case_url("read", self.read),
            case_url("export", self.export),
            case_url("resolve", self.resolve),
            case_url("reopen", self.reopen),
            *super().get_urls(),
        ]

    # --- Case page

    def change_view(
        self, request: Any, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise Refusal("CASE_NOT_FOUND")
        case = queries.get_case(unquote(object_id))
        return self._show(request, case)

    def _show(self, request: Any, case: Case, **extra: Any) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": str(case),
            "case": case,
            "can_read": queries.can_read(request.user, case),
            "can_work": request.user.has_perm(WORK),
            "can_restrict": request.user.has_perm(RESTRICT),
        }
        if context["can_read"]:
            actions.record_view(request.user, case)
            context |= {
                "reports": case.reports.select_related("reporter"),
                "evidence": queries.list_evidence(case),
                "thread": queries.find_thread(case),
                "people": queries.list_people(case),
                "notes": case.notes.select_related("author"),
                "activity": queries.list_activity(case),
                "is_on_hold": queries.is_on_hold(case),
                "cards": queries.list_card_views(case),
                "answers": ResolveForm(case=case).answer_fields(),
                "now": timezone.now(),
            }
        return render(request, "admin/moderation/case/page.html", context | extra)

    def file(self, request: Any, case_id: str, file_id: str) -> HttpResponse:
        """Each view of a file is recorded, so the page loads files only on request."""
        self._check_permission(request)
        file = actions.view_file(request.user, case_id=case_id, file_id=file_id)
        return serve(request, file, FULL, as_download="download" in request.GET)

    # --- Actions

    def take(self, request: Any, case_id: str) -> HttpResponse:
        self._check_permission(request)
        actions.take_case(request.user, case_id=case_id)
        return self._redirect(case_id)

    def act(self, request: Any, case_id: str) -> HttpResponse:
        self._check_permission(request)
        form = CaseActionForm(request.POST)
        if self._is_valid(request, form):
            try:
                take_action(request.user, case_id=case_id, **form.arguments())
            except Refusal as refusal:
                if refusal.code == "CASE_NOT_FOUND":
                    raise
                messages.error(request, refusal.message)
            else:
                messages.success(request, "Done.")
        return self._redirect(case_id)

    def note(self, request: Any, case_id: str) -> HttpResponse:
        self._check_permission(request)
        form = NoteForm(request.POST)
        if self._is_valid(request, form):
            actions.add_note(request.user, case_id=case_id, **form.cleaned_data)
        return self._redirect(case_id)

    def read(self, request: Any, case_id: str) -> HttpResponse:
        """Shows more of the thread than was reported; the reason is recorded."""
        self._check_permission(request)
        case = queries.access_case(request.user, case_id)
        form = ReadForm(request.POST)
        if not case.thread_id or not self._is_valid(request, form):
            return self._redirect(case_id)
        data = form.cleaned_data
        case, more = actions.read_more(request.user, case_id=case_id, **data)
        return self._show(request, case, more=more, reason=data["reason"])

    def export(self, request: Any, case_id: str) -> HttpResponseBase:
        self._check_permission(request)
        queries.access_case(request.user, case_id)
        form = ReasonForm(request.POST)
        if not self._is_valid(request, form):
            return self._redirect(case_id)
        reason = form.cleaned_data["reason"]
        content = export_case(request.user, case_id=case_id, reason=reason)
        return FileResponse(content, as_attachment=True, filename=f"{case_id}.zip")

    def resolve(self, request: Any, case_id: str) -> HttpResponse:
        self._check_permission(request)
        form = ResolveForm(request.POST, case=queries.access_case(request.user, case_id))
        if not self._is_valid(request, form) or not self._run(
            request, actions.resolve_case, case_id=case_id, **form.arguments()
        ):
            return self._redirect(case_id)
        messages.success(request, "Resolved. The reporters have been notified.")
        return redirect("admin:moderation_case_changelist")

    def reopen(self, request: Any, case_id: str) -> HttpResponse:
        self._check_permission(request)
        form = ReasonForm(request.POST)
        if self._is_valid(request, form):
            self._run(request, actions.reopen_case, case_id=case_id, **form.cleaned_data)
        return self._redirect(case_id)

    def _run(self, request: Any, action: Any, **arguments: Any) -> bool:
        """Runs an action and shows on the page why the state of the case does not allow it."""
        try:
            action(request.user, **arguments)
        except Refusal as refusal:
            if refusal.code != "ACTION_INVALID_STATE":
                raise
            messages.error(request, f"{refusal.message} {refusal.hint}")
            return False
        return True

    def _check_permission(self, request: Any) -> None:
        if not request.user.has_perm(WORK):
            raise Refusal("CASE_NOT_FOUND")

    def _is_valid(self, request: Any, form: Any) -> bool:
        if form.is_valid():
            return True
        wrong = "; ".join(f"{name}: {errors[0]}" for name, errors in form.errors.items())
        messages.error(request, f"Nothing was changed. {wrong}")
        return False

    def _redirect(self, case_id: str) -> HttpResponse:
        address = reverse("admin:moderation_case_change", args=[quote(case_id)])
        return redirect(address)


@admin.register(AuditEntry)
class AuditAdmin(ReadOnlyAdmin):
    list_display = ("number", "at", "actor", "act", "case", "target", "reason")
    list_filter = ("act",)
    search_fields = ("case", "actor", "target")
    ordering = ("-number",)
