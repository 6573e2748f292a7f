"""The admin pages of cases. Every view of evidence is recorded."""

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
from moderation.admin.filters import CaseAboutFilter, CaseDeskFilter, CaseStateFilter
from moderation.admin.read_only import ReadOnlyAdmin
from moderation.desk import is_overdue
from moderation.export import export_case
from moderation.forms import CaseActionForm, NoteForm, ReadForm, ReasonForm, ResolveForm
from moderation.models import Case
from moderation.records import has_records, list_records, list_thread_cards
from moderation.roles import RESTRICT, WORK
from threads.views.file_response import serve


@admin.register(Case)
class CaseAdmin(ReadOnlyAdmin):
    list_display = ("what", "urgency", "state", "age", "person", "assignee", "report_count")
    list_filter = (CaseStateFilter, CaseDeskFilter, "priority", CaseAboutFilter)
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
        return format_html('<span class="chip priority-{}">{}</span>', case.priority, label)

    @admin.display(description="status", ordering="status")
    def state(self, case: Case) -> str:
        label = case.get_status_display()
        return format_html('<span class="chip is-{}">{}</span>', case.status, label)

    @admin.display(description="open for", ordering="-opened_at")
    def age(self, case: Case) -> str:
        now = timezone.now()
        text = timesince(case.opened_at, case.resolved_at or now, depth=1)
        if not is_overdue(case, now):
            return text
        return format_html('{} <span class="chip is-overdue">Overdue</span>', text)

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
            case_url("records", self.records),
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
                **self._records(request, case),
            }
        return render(request, "admin/moderation/case/page.html", context | extra)

    def _records(self, request: Any, case: Case) -> dict[str, Any]:
        """The booking of the thread, once its assignee has given a reason to read its records."""
        if not has_records(case):
            return {}
        if not queries.has_read_records(request.user, case):
            return {"can_read_records": True}
        return {"bookings": list_records(case), "thread_cards": list_thread_cards(case)}

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

    def records(self, request: Any, case_id: str) -> HttpResponse:
        """Shows price, contract and payments of the booking; the reason is recorded."""
        self._check_permission(request)
        queries.access_case(request.user, case_id)
        form = ReasonForm(request.POST)
        if self._is_valid(request, form):
            self._run(request, actions.read_records, case_id=case_id, **form.cleaned_data)
        return self._redirect(case_id, "records")

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

    def _redirect(self, case_id: str, part: str = "") -> HttpResponse:
        address = reverse("admin:moderation_case_change", args=[quote(case_id)])
        return redirect(f"{address}#{part}" if part else address)
