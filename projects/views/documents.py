"""Pages of contracts, deliveries and booking groups, which only the parties can open."""

from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.http import AuthenticatedRequest
from accounts.sign_in.lockout import client_address
from contracts.models import ContractVersion, Leg
from contracts.models.documents import ISSUED
from contracts.money import format_amount
from contracts.queries import (
    access_document,
    access_group,
    access_leg,
    access_manifest,
    get_balance,
    list_deliverable,
    list_linkable,
)
from contracts.status import LINK, SIGN, check_status, is_allowed
from core.locales import locale_of
from core.refusals import Refusal
from projects.actions.bookings import deliver_finals, link_bookings, sign_contract
from projects.forms import DeliverForm, LinkForm, SignForm
from threads import queries

# More than any contract has, and within the range of the database column.
MAX_VERSIONS = 100_000

# --- Contracts


@require_safe
@login_required
def contract(request: AuthenticatedRequest, document_id: str) -> HttpResponse:
    return _show_contract(request, document_id)


def _show_contract(
    request: AuthenticatedRequest,
    document_id: str,
    form: SignForm | None = None,
    refusal: Refusal | None = None,
) -> HttpResponse:
    document = access_document(request.user, document_id)
    versions = list(document.versions.order_by("-number"))
    newest = versions[0]
    signatures = list(newest.signatures.select_related("user").order_by("id"))
    has_signed = any(signature.user_id == request.user.id for signature in signatures)
    context = {
        "document": document,
        "version": newest,
        "versions": versions,
        "checksum": newest.signed_sha256 or newest.sha256,
        "signatures": signatures,
        "has_signed": has_signed,
        "may_sign": newest.status == ISSUED
        and not has_signed
        and is_allowed(document.leg.status, SIGN),
        "form": form or SignForm(initial={"number": newest.number}),
        "refusal": refusal.as_dict(request.corr_id) if refusal else None,
    }
    status = refusal.status if refusal else 400 if form else 200
    return render(request, "projects/contract.html", context, status=status)


@require_POST
@login_required
def sign(request: AuthenticatedRequest, document_id: str) -> HttpResponse:
    document = access_document(request.user, document_id)
    form = SignForm(request.POST)
    if not form.is_valid():
        return _show_contract(request, document_id, form)
    try:
        sign_contract(
            request.user,
            document_id=document.id,
            address=client_address(request),
            user_agent=request.headers.get("User-Agent", ""),
            **form.cleaned_data,
        )
    except Refusal as refusal:
        if refusal.status == 404:
            raise
        return _show_contract(request, document_id, form, refusal)
    return redirect("projects:contract", document_id)


@require_safe
@login_required
def contract_pdf(request: AuthenticatedRequest, document_id: str, number: int) -> HttpResponse:
    """Downloads the signed copy if it exists: the bytes whose checksum the page shows."""
    document = access_document(request.user, document_id)
    number = min(number, MAX_VERSIONS)
    version = ContractVersion.objects.filter(document=document, number=number).first()
    if version is None:
        raise Refusal("THREAD_NOT_FOUND")
    content = bytes(version.signed_pdf or version.pdf)
    return download_pdf(content, f"contract-{document.id}-{number}.pdf")


def download_pdf(content: bytes, name: str) -> HttpResponse:
    return download(content, name, "application/pdf")


def download(content: bytes, name: str, content_type: str) -> HttpResponse:
    answer = HttpResponse(content, content_type=content_type)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    answer["X-Content-Type-Options"] = "nosniff"
    answer["Cache-Control"] = "private, no-store"
    return answer


# --- Groups


@require_safe
@login_required
def booking_group(request: AuthenticatedRequest, group_id: str) -> HttpResponse:
    group, legs = access_group(request.user, group_id)
    locale = locale_of(request)
    rows = [(leg, _amounts(leg, locale)) for leg in legs]
    sums: dict[str, dict[str, int]] = {}
    for leg in legs:
        balance = get_balance(leg)
        total = sums.setdefault(leg.currency, {"total": 0, "paid": 0, "due": 0, "open": 0})
        total["total"] += balance.total_cents
        total["paid"] += balance.paid_cents
        total["due"] += balance.due_cents
        total["open"] += balance.open_cents
    totals = [
        {name: format_amount(value, code, locale=locale) for name, value in sums[code].items()}
        for code in sorted(sums)
    ]
    context = {"group": group, "rows": rows, "totals": totals}
    return render(request, "projects/booking_group.html", context)


def _amounts(leg: Leg, locale: str) -> dict[str, str]:
    balance = get_balance(leg)
    amounts = {
        "total": balance.total_cents,
        "paid": balance.paid_cents,
        "due": balance.due_cents,
        "open": balance.open_cents,
    }
    return {
        name: format_amount(cents, leg.currency, locale=locale) for name, cents in amounts.items()
    }


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def link(request: AuthenticatedRequest, leg_id: str) -> HttpResponse:
    leg = access_leg(request.user, leg_id)
    if leg.buyer_id != request.user.id:
        raise Refusal("ACTION_FORBIDDEN", "Only the buyer can group bookings.")
    if request.method != "POST":
        check_status(leg, LINK)
    others = list_linkable(request.user, leg)
    form = LinkForm(request.POST or None, legs=others, initial={"title": leg.offer.title})
    refusal = None
    if form.is_valid():
        chosen = [leg.id, *form.cleaned_data["leg_ids"]]
        try:
            group = link_bookings(request.user, title=form.cleaned_data["title"], leg_ids=chosen)
            return redirect("threads:thread", group.thread_id)
        except Refusal as error:
            refusal = error
    context: dict[str, Any] = {"form": form, "leg": leg, "has_others": bool(others)}
    context["refusal"] = refusal.as_dict(request.corr_id) if refusal else None
    status = refusal.status if refusal else 400 if form.is_bound else 200
    return render(request, "projects/link.html", context, status=status)


# --- Deliveries


@require_safe
@login_required
def manifest(request: AuthenticatedRequest, manifest_id: str) -> HttpResponse:
    found = access_manifest(request.user, manifest_id)
    return render(request, "projects/manifest.html", {"manifest": found})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def deliver(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    queries.access_participants(request.user, thread_id)
    legs = list_deliverable(request.user, thread_id)
    form = DeliverForm(request.POST or None, legs=legs, initial={"key": str(uuid4())})
    refusal = None
    if form.is_valid():
        try:
            found = deliver_finals(request.user, **form.cleaned_data)
            return redirect("projects:manifest", found.id)
        except Refusal as error:
            refusal = error
    context: dict[str, Any] = {"form": form, "thread_id": thread_id}
    context["refusal"] = refusal.as_dict(request.corr_id) if refusal else None
    status = refusal.status if refusal else 400 if form.is_bound else 200
    return render(request, "projects/deliver.html", context, status=status)
