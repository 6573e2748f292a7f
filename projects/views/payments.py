"""Pages to record and reverse payments, and receipts, which only the parties can open.

Recording a payment takes two steps that work without JavaScript: a form, then a summary to confirm.
"""

from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.http import AuthenticatedRequest
from contracts.actions.payments import ACTIONS, check_payment, check_reversal
from contracts.documents import receipts
from contracts.fields import format_day
from contracts.instalments import Account
from contracts.models import Leg, Receipt
from contracts.models.money import METHODS, PAYMENT, REPAYMENT
from contracts.money import format_amount, format_amount_input
from contracts.queries import access_leg, access_receipt, get_balance
from contracts.refusals import ONLY_SELLER_RECORDS
from contracts.status import REVERSE_PAYMENT, check_status, is_allowed
from core.locales import locale_of
from core.refusals import Refusal
from projects.actions.bookings import record_payment, reverse_payment
from projects.forms import ConfirmForm, PaymentForm, ReversalForm
from projects.views.documents import download_pdf


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def payment(request: AuthenticatedRequest, leg_id: str) -> HttpResponse:
    leg = _own_leg(request, leg_id)
    balance = get_balance(leg)
    kind = REPAYMENT if balance.open_cents < 0 else PAYMENT
    if request.method != "POST" or "change" in request.POST:
        check_status(leg, ACTIONS[kind])
        start = request.POST if "change" in request.POST else _start(balance)
        form = _payment_form(request, leg, initial=dict(start.items()))
        return _form_page(request, leg, kind, form)
    form = _payment_form(request, leg, data=request.POST)
    if not form.is_valid():
        return _form_page(request, leg, kind, form)
    try:
        return _confirm_or_record(request, leg, kind, form)
    except Refusal as refusal:
        if refusal.status not in (400, 409):
            raise
        return _form_page(request, leg, kind, form, refusal)


def _own_leg(request: AuthenticatedRequest, leg_id: str) -> Leg:
    leg = access_leg(request.user, leg_id)
    if leg.seller_id != request.user.id:
        raise Refusal("ACTION_FORBIDDEN", ONLY_SELLER_RECORDS)
    return leg


def _payment_form(request: AuthenticatedRequest, leg: Leg, **given: Any) -> PaymentForm:
    return PaymentForm(**given, currency=leg.currency, locale=locale_of(request))


def _start(balance: Account) -> dict[str, Any]:
    cents = balance.due_cents or abs(balance.open_cents)
    return {
        "key": str(uuid4()),
        "amount": cents or "",
        "paid_on": timezone.localdate(),
    }


def _confirm_or_record(
    request: AuthenticatedRequest, leg: Leg, kind: str, form: PaymentForm
) -> HttpResponse:
    given = form.arguments()
    confirmed = ConfirmForm(request.POST)
    if confirmed.is_valid():
        record_payment(request.user, leg_id=leg.id, kind=kind, **given, **confirmed.cleaned_data)
        return redirect("projects:panel_tab", leg.thread_id, "expenses")
    key = given.pop("key")
    check_payment(leg, get_balance(leg).open_cents, kind=kind, **given)
    summary = _summary(leg, kind, key, locale_of(request), **given)
    return render(request, "projects/payment_confirm.html", summary)


def _summary(
    leg: Leg, kind: str, key: str, locale: str, *, cents: int, paid_on: Any, method: str
) -> dict[str, Any]:
    def money(cents: int) -> str:
        return format_amount(cents, leg.currency, locale=locale)

    before = get_balance(leg).open_cents
    after = before - cents if kind == PAYMENT else before + cents
    rows = {
        "Booking": leg.service,
        "Paid by" if kind == PAYMENT else "Paid to": leg.buyer.display_name,
        "Amount": money(cents),
        "Date": format_day(paid_on),
        "Method": METHODS[method],
        _left(kind, "now"): money(abs(before)),
        _left(kind, "afterwards"): money(abs(after)),
    }
    amount = format_amount_input(cents, leg.currency, locale=locale)
    fields = {"key": key, "amount": amount, "paid_on": paid_on, "method": method}
    return {
        "leg": leg,
        "is_payment": kind == PAYMENT,
        "rows": rows,
        "fields": fields,
        "outstanding": before,
    }


def _left(kind: str, when: str) -> str:
    return f"{'Outstanding' if kind == PAYMENT else 'To be repaid'} {when}"


def _form_page(
    request: AuthenticatedRequest,
    leg: Leg,
    kind: str,
    form: PaymentForm,
    refusal: Refusal | None = None,
) -> HttpResponse:
    balance, locale = get_balance(leg), locale_of(request)
    due = balance.due_cents
    form.fields["amount"].label = f"Amount in {leg.currency}"
    context = {
        "leg": leg,
        "form": form,
        "is_payment": kind == PAYMENT,
        "has_balance": balance.open_cents != 0,
        "outstanding": format_amount(abs(balance.open_cents), leg.currency, locale=locale),
        "due": format_amount(due, leg.currency, locale=locale) if due else "",
        "refusal": refusal.as_dict(request.corr_id) if refusal else None,
    }
    status = refusal.status if refusal else 400 if form.is_bound else 200
    return render(request, "projects/payment.html", context, status=status)


# --- Receipts


@require_safe
@login_required
def receipt(request: AuthenticatedRequest, receipt_id: str) -> HttpResponse:
    found = access_receipt(request.user, receipt_id)
    return render(request, "projects/receipt.html", _receipt_page(request, found))


def _receipt_page(request: AuthenticatedRequest, found: Receipt) -> dict[str, Any]:
    is_reversible = (
        request.user.id == found.seller_id
        and found.entry.reverses is None
        and found.entry.event_id is None
        and receipts.find_reversal(found.entry) is None
        and is_allowed(found.leg.status, REVERSE_PAYMENT)
    )
    return {
        "receipt": found,
        "rows": receipts.receipt_rows(found, locale_of(request)),
        "title": receipts.receipt_title(found),
        "foot": receipts.receipt_foot(found),
        "is_reversible": is_reversible,
    }


@require_safe
@login_required
def receipt_pdf(request: AuthenticatedRequest, receipt_id: str) -> HttpResponse:
    found = access_receipt(request.user, receipt_id)
    return download_pdf(receipts.receipt_pdf(found), f"receipt-{found.number}.pdf")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def reverse(request: AuthenticatedRequest, receipt_id: str) -> HttpResponse:
    found = access_receipt(request.user, receipt_id)
    if found.seller_id != request.user.id:
        raise Refusal("ACTION_FORBIDDEN", "Only the seller can reverse a payment.")
    form = ReversalForm(request.POST or None, initial={"key": str(uuid4())})
    if form.is_valid():
        made = reverse_payment(request.user, receipt_id=found.id, **form.cleaned_data)
        return redirect("projects:receipt", made.id)
    check_reversal(found.leg, found.entry)
    context = _receipt_page(request, found) | {"form": form}
    context["after"] = _after_reversal(found, locale_of(request))
    return render(request, "projects/payment_reverse.html", context)


def _after_reversal(found: Receipt, locale: str) -> str:
    sign = 1 if found.kind == PAYMENT else -1
    cents = get_balance(found.leg).open_cents + sign * found.amount_cents
    label = "outstanding" if cents >= 0 else "to be repaid"
    return f"{format_amount(abs(cents), found.currency, locale=locale)} {label}"
