"""The index page of the admin: open cases by severity and age, in a fixed number of queries."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from moderation.models import Case

MAX_LISTED = 12
# How long a case of each priority may stay open before it is overdue.
OVERDUE_AFTER = {
    Case.Priority.HIGH: timedelta(hours=4),
    Case.Priority.NORMAL: timedelta(days=1),
    Case.Priority.LOW: timedelta(days=3),
}


@dataclass(frozen=True)
class DeskList:
    title: str
    empty: str
    cases: list[Case]
    count: int
    # The parameters of the full list.
    query: str


def overdue_cases(now: datetime) -> Q:
    """Open cases that are older than their priority allows."""
    late = Q()
    for priority, limit in OVERDUE_AFTER.items():
        late |= Q(priority=priority, opened_at__lt=now - limit)
    return late & ~Q(status=Case.Status.RESOLVED)


def is_overdue(case: Case, now: datetime) -> bool:
    return case.is_open and case.opened_at < now - OVERDUE_AFTER[Case.Priority(case.priority)]


def desk_section(request: HttpRequest) -> dict[str, Any]:
    """What the index page shows to staff who can see cases."""
    if not request.user.has_perm("moderation.view_case"):
        return {}
    now = timezone.now()
    still_open = Case.objects.exclude(status=Case.Status.RESOLVED)
    chosen = {
        "mine": Q(assignee=request.user),
        "overdue": overdue_cases(now),
        "unassigned": Q(assignee=None),
    }
    counts = still_open.aggregate(
        open=Count("pk"),
        high=Count("pk", filter=Q(priority=Case.Priority.HIGH)),
        **{name: Count("pk", filter=which) for name, which in chosen.items()},
    )
    listed = {name: _list(still_open.filter(which), now) for name, which in chosen.items()}
    texts = {
        "mine": ("Assigned to you", "You have no open cases."),
        "overdue": ("Overdue", "Nothing is overdue."),
        "unassigned": ("Unassigned", "Every case has an assignee."),
    }
    lists = [DeskList(*texts[name], listed[name], counts[name], f"desk={name}") for name in chosen]
    return {"desk": lists, "desk_counts": counts}


def _list(cases: QuerySet[Case], now: datetime) -> list[Case]:
    """The most urgent first, and of those the oldest."""
    found = cases.select_related("person", "assignee").annotate(report_count=Count("reports"))
    shown: list[Any] = list(found.order_by("priority", "opened_at")[:MAX_LISTED])
    for case in shown:
        case.is_overdue = is_overdue(case, now)
    return shown
