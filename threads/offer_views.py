"""Offers: drafting one, looking at it, answering it."""

from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.ids import is_id
from accounts.refusals import Refusal
from contracts.models import Leg
from contracts.models.bookings import CANCELLATION, PENDING
from contracts.money import amount
from contracts.queries import access_leg, access_offer
from contracts.terms import Terms
from contracts.wording import said
from threads import queries
from threads.actions.bookings import accept_offer, decline_offer, make_offer, withdraw_offer
from threads.booking_forms import LegForms, OfferForm, as_agreed, first_leg, terms_of
from threads.views import Request

ANSWERS = {"accept": accept_offer, "decline": decline_offer, "withdraw": withdraw_offer}


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: Request, thread_id: str) -> HttpResponse:
    thread = queries.open_thread(request.user, thread_id).state.thread
    leg = _leg_to_change(request, thread_id)
    zone = leg.time_zone if leg else request.user.time_zone
    first = as_agreed(leg) if leg else first_leg(thread.subject, thread.city or "")
    currency = leg.currency if leg else "EUR"
    start = {"key": str(uuid4()), "title": thread.subject[:120], "currency": currency}
    data = request.POST.copy() if request.method == "POST" else None
    if data is not None and "more" in data:
        count = str(data.get("form-TOTAL_FORMS", ""))
        data["form-TOTAL_FORMS"] = str(int(count) + 1) if count.isdecimal() else "1"
    form, legs = OfferForm(data, initial=start), LegForms(data, initial=[first])
    refusal = None
    if data is not None and "more" not in data and form.is_valid() and legs.is_valid():
        try:
            offer = make_offer(
                request.user,
                thread_id=thread_id,
                terms=terms_of(legs, zone),
                changes=leg.id if leg else "",
                **form.cleaned_data,
            )
            return redirect("threads:offer", offer.id)
        except Refusal as error:
            refusal = error
    context = {"form": form, "legs": legs, "thread": thread, "zone": zone, "changes": leg}
    context["refusal"] = refusal.described(request.corr_id) if refusal else None
    status = refusal.status if refusal else 400 if data is not None and "more" not in data else 200
    return render(request, "threads/offer_new.html", context, status=status)


def _leg_to_change(request: Request, thread_id: str) -> Leg | None:
    leg_id = request.GET.get("changes", "")
    if not leg_id:
        return None
    leg = access_leg(request.user, leg_id) if is_id("leg", leg_id) else None
    if leg is None or leg.thread_id != thread_id:
        raise Refusal("THREAD_NOT_FOUND")
    return leg


@require_safe
@login_required
def offer(request: Request, offer_id: str) -> HttpResponse:
    found = access_offer(request.user, offer_id)
    legs = [_shown(Terms.read(kept), found.currency) for kept in found.terms]
    before = _shown(_terms_of(found.changes), found.currency) if found.changes else None
    context = {
        "offer": found,
        "legs": legs,
        "before": before,
        "total": amount(sum(leg["price_cents"] for leg in found.terms), found.currency),
        "is_mine": found.proposed_by_id == request.user.id,
        "other": found.seller if request.user.id == found.buyer_id else found.buyer,
        "is_pending": found.status == PENDING,
    }
    return render(request, "threads/offer.html", context)


def _terms_of(leg: Leg) -> Terms:
    names = Terms.__dataclass_fields__
    return Terms(**{name: getattr(leg, name) for name in names})


def _shown(terms: Terms, currency: str) -> dict[str, Any]:
    zone = ZoneInfo(terms.time_zone)
    return {
        "service": terms.service,
        "rows": [
            ("Start", said(terms.starts_at, zone)),
            ("End", said(terms.ends_at, zone)),
            ("Time zone", terms.time_zone.replace("_", " ")),
            ("Place", terms.place),
            ("Price", amount(terms.price_cents, currency)),
            ("Deposit", amount(terms.deposit_cents, currency)),
            ("If it is cancelled", CANCELLATION[terms.cancellation]),
        ],
    }


@require_POST
@login_required
def answer(request: Request, offer_id: str, answer: str) -> HttpResponse:
    if answer not in ANSWERS:
        raise Refusal("THREAD_NOT_FOUND")
    answered = ANSWERS[answer](request.user, offer_id=offer_id)
    return redirect("threads:thread", answered.thread_id)
