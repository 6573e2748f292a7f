"""The queue of cases, and the page of one. Every look at what a case is about is recorded."""

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
from moderation import actions, queries
from moderation.export import export_case
from moderation.forms import ActForm, NoteForm, ReadForm, ReasonForm, ResolveForm
from moderation.models import AuditEntry, Case
from moderation.roles import RESTRICT, WORK
from threads.views.file_response import serve


class StateFilter(admin.SimpleListFilter):
    """What is not resolved comes first, and by itself."""

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


class ForStaff(admin.ModelAdmin):
    """Nobody adds, changes or deletes: what happens, happens by acts."""

    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Case)
class CaseAdmin(ForStaff):
    list_display = ("what", "urgency", "status", "age", "person", "assignee", "report_count")
    list_filter = (StateFilter, "priority", "about")
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
        def of_case(name: str, view: Any) -> URLPattern:
            guarded = self.admin_site.admin_view(require_POST(view))
            return path(f"<str:case_id>/{name}/", guarded, name=f"moderation_case_{name}")

        file = path(
            "<str:case_id>/files/<file:file_id>/",
            self.admin_site.admin_view(require_safe(self.file)),
            name="moderation_case_file",
        )
        return [
            file,
            of_case("take", self.take),
            of_case("act", self.act),
            of_case("note", self.note),
            of_case("read", self.read),
            of_case("export", self.export),
            of_case("resolve", self.resolve),
            of_case("reopen", self.reopen),
            *super().get_urls(),
        ]

    # --- The page

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
            "may_work": request.user.has_perm(WORK),
            "may_restrict": request.user.has_perm(RESTRICT),
        }
        if context["can_read"]:
            actions.look(request.user, case)
            context |= {
                "reports": case.reports.select_related("reporter"),
                "evidence": queries.list_evidence(case),
                "thread": queries.find_thread(case),
                "people": queries.list_people(case),
                "notes": case.notes.select_related("author"),
                "done": queries.list_done(case),
                "is_on_hold": queries.is_on_hold(case),
                "cards": queries.list_card_views(case),
                "answers": ResolveForm(case=case).answer_fields(),
                "now": timezone.now(),
            }
        return render(request, "admin/moderation/case/page.html", context | extra)

    def file(self, request: Any, case_id: str, file_id: str) -> HttpResponse:
        """Each look at one is recorded, which is why the page shows none by itself."""
        self._check(request)
        file = actions.look_at_file(request.user, case_id=case_id, file_id=file_id)
        return serve(request, file, FULL, to_be_saved="download" in request.GET)

    # --- What is done on it

    def take(self, request: Any, case_id: str) -> HttpResponse:
        self._check(request)
        actions.take_case(request.user, case_id=case_id)
        return self._back(case_id)

    def act(self, request: Any, case_id: str) -> HttpResponse:
        self._check(request)
        form = ActForm(request.POST)
        if self._is_right(request, form):
            try:
                actions.take_action(request.user, case_id=case_id, **form.arguments())
            except Refusal as refusal:
                if refusal.code == "CASE_NOT_FOUND":
                    raise
                messages.error(request, refusal.message)
            else:
                messages.success(request, "Done.")
        return self._back(case_id)

    def note(self, request: Any, case_id: str) -> HttpResponse:
        self._check(request)
        form = NoteForm(request.POST)
        if self._is_right(request, form):
            actions.add_note(request.user, case_id=case_id, **form.cleaned_data)
        return self._back(case_id)

    def read(self, request: Any, case_id: str) -> HttpResponse:
        """More of the thread than was reported, for a reason that is stated and kept."""
        self._check(request)
        case = queries.access_case(request.user, case_id)
        form = ReadForm(request.POST)
        if not case.thread_id or not self._is_right(request, form):
            return self._back(case_id)
        given = form.cleaned_data
        case, more = actions.read_more(request.user, case_id=case_id, **given)
        return self._show(request, case, more=more, reason=given["reason"])

    def export(self, request: Any, case_id: str) -> HttpResponseBase:
        self._check(request)
        queries.access_case(request.user, case_id)
        form = ReasonForm(request.POST)
        if not self._is_right(request, form):
            return self._back(case_id)
        reason = form.cleaned_data["reason"]
        content = export_case(request.user, case_id=case_id, reason=reason)
        return FileResponse(content, as_attachment=True, filename=f"{case_id}.zip")

    def resolve(self, request: Any, case_id: str) -> HttpResponse:
        self._check(request)
        form = ResolveForm(request.POST, case=queries.access_case(request.user, case_id))
        if not self._is_right(request, form) or not self._does(
            request, actions.resolve_case, case_id=case_id, **form.arguments()
        ):
            return self._back(case_id)
        messages.success(request, "Resolved. Whoever reported it is told.")
        return redirect("admin:moderation_case_changelist")

    def reopen(self, request: Any, case_id: str) -> HttpResponse:
        self._check(request)
        form = ReasonForm(request.POST)
        if self._is_right(request, form):
            self._does(request, actions.reopen_case, case_id=case_id, **form.cleaned_data)
        return self._back(case_id)

    def _does(self, request: Any, action: Any, **given: Any) -> bool:
        """What the state of the case does not allow is said on its page."""
        try:
            action(request.user, **given)
        except Refusal as refusal:
            if refusal.code != "ACTION_INVALID_STATE":
                raise
            messages.error(request, f"{refusal.message} {refusal.hint}")
            return False
        return True

    def _check(self, request: Any) -> None:
        if not request.user.has_perm(WORK):
            raise Refusal("CASE_NOT_FOUND")

    def _is_right(self, request: Any, form: Any) -> bool:
        if form.is_valid():
            return True
        wrong = "; ".join(f"{name}: {errors[0]}" for name, errors in form.errors.items())
        messages.error(request, f"Nothing was done. {wrong}")
        return False

    def _back(self, case_id: str) -> HttpResponse:
        address = reverse("admin:moderation_case_change", args=[quote(case_id)])
        return redirect(address)


@admin.register(AuditEntry)
class AuditAdmin(ForStaff):
    list_display = ("number", "at", "actor", "act", "case", "target", "reason")
    list_filter = ("act",)
    search_fields = ("case", "actor", "target")
    ordering = ("-number",)
