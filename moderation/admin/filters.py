"""Filters of the lists of cases and audit entries."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from moderation.desk import overdue_cases
from moderation.models import AuditEntry, Case
from moderation.sentences import SENTENCES


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


class CaseDeskFilter(admin.SimpleListFilter):
    """The lists of the index page."""

    title = "queue"
    parameter_name = "desk"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("mine", "Assigned to you"), ("overdue", "Overdue"), ("unassigned", "Unassigned")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Case]) -> QuerySet[Case]:
        match self.value():
            case "mine":
                return queryset.filter(assignee=request.user.pk)
            case "overdue":
                return queryset.filter(overdue_cases(timezone.now()))
            case "unassigned":
                return queryset.filter(assignee=None)
        return queryset


class AuditActFilter(admin.SimpleListFilter):
    """Lists the acts as sentences; the audit itself is not searched for them."""

    title = "action"
    parameter_name = "act"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(act, _label(text)) for act, text in SENTENCES.items()]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[AuditEntry]
    ) -> QuerySet[AuditEntry]:
        return queryset.filter(act=self.value()) if self.value() else queryset


def _label(text: str) -> str:
    label = text.replace("{target}", "a user")
    return label[0].upper() + label[1:]
