"""The statement of a booking as PDF and CSV, for its two parties."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from accounts.http import AuthenticatedRequest
from contracts.documents.statements import make_statement, statement_csv, statement_pdf
from contracts.queries import access_leg
from projects.views.documents import download, download_pdf


@require_safe
@login_required
def pdf(request: AuthenticatedRequest, leg_id: str) -> HttpResponse:
    found = make_statement(access_leg(request.user, leg_id))
    return download_pdf(statement_pdf(found), f"statement-{leg_id}.pdf")


@require_safe
@login_required
def csv(request: AuthenticatedRequest, leg_id: str) -> HttpResponse:
    found = make_statement(access_leg(request.user, leg_id))
    return download(statement_csv(found), f"statement-{leg_id}.csv", "text/csv; charset=utf-8")
