"""Offers: drafting one, looking at it, answering it."""

from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from contracts.documents.clauses import said
from contracts.models import Leg
from contracts.models.bookings import CANCELLATION, PENDING
from contracts.money import amount
from contracts.queries import access_leg, access_offer
from contracts.status import CHANGE, is_allowed
from contracts.terms import Terms, hash_terms
from core.ids import is_id
from core.locales import locale_of
from core.refusals import Refusal
from core.time_zones import zone_of
from projects.actions.bookings import (
    accept_offer,
    decline_offer,
    make_offer,
    review_offer,
    withdraw_offer,
)
from projects.forms import LegForms, OfferForm, as_agreed, first_leg, terms_of
from threads import queries
from threads.models.packs import allow_placeholders
from threads.models.thread import Thread
from threads.views.threads import AuthenticatedRequest

ANSWERS = {"accept": accept_offer, "decline": decline_offer, "withdraw": withdraw_offer}


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    with allow_placeholders():
        thread = queries.open_thread(request.user, thread_id).cached.thread
    leg = _leg_to_change(request, thread_id)
    zone = leg.time_zone if leg else request.user.time_zone
    # Times are typed in the zone that the form names.
    with timezone.override(zone_of(zone)):
        return _new(request, thread, leg, zone)


def _new(request: AuthenticatedRequest, thread: Thread, leg: Leg | None, zone: str) -> HttpResponse:
    first = as_agreed(leg) if leg else first_leg(thread.subject, thread.city or "")
    currency = leg.currency if leg else "EUR"
    start = {"key": str(uuid4()), "title": thread.subject[:120], "currency": currency}
    data = _with_one_more(request.POST) if request.method == "POST" else None
    locale = {"locale": locale_of(request)}
    form = OfferForm(data, initial=start)
    legs = LegForms(data, initial=[first], form_kwargs=locale)
    context = {"form": form, "legs": legs, "thread": thread, "zone": zone, "changes": leg}
    if data is None or "more" in data:
        return render(request, "projects/offer_new.html", context)
    if not (form.is_valid() and legs.is_valid()):
        return render(request, "projects/offer_new.html", context, status=400)
    fields = form.cleaned_data | {"terms": terms_of(legs, zone), "changes": leg.id if leg else ""}
    return _send(request, thread.id, fields, context)


def _send(
    request: AuthenticatedRequest, thread_id: str, fields: dict[str, Any], context: dict[str, Any]
) -> HttpResponse:
    """Makes the offer, if exactly this was reviewed; else shows it for review."""
    what = {name: value for name, value in fields.items() if name != "key"}
    try:
        digest = hash_terms(fields["title"], fields["currency"], fields["terms"])
        if request.POST.get("reviewed") == digest:
            offer = make_offer(request.user, thread_id=thread_id, **fields)
            return redirect("projects:offer", offer.id)
        review_offer(request.user, thread_id=thread_id, **what)
    except Refusal as error:
        context["refusal"] = error.as_dict(request.corr_id)
        return render(request, "projects/offer_new.html", context, status=error.status)
    context["review"] = _review(fields["terms"], fields["currency"]) | {"digest": digest}
    return render(request, "projects/offer_new.html", context)


def _review(terms: list[Terms], currency: str) -> dict[str, Any]:
    total = sum(each.price_cents for each in terms)
    return {"legs": [_shown(each, currency) for each in terms], "total": amount(total, currency)}


def _with_one_more(posted: QueryDict) -> QueryDict:
    """One more part, if that button was pressed."""
    data = posted.copy()
    if "more" in data:
        count = str(data.get("form-TOTAL_FORMS", ""))
        is_count = count.isascii() and count.isdecimal() and len(count) < 4
        data["form-TOTAL_FORMS"] = str(int(count) + 1) if is_count else "1"
    return data


def _leg_to_change(request: AuthenticatedRequest, thread_id: str) -> Leg | None:
    leg_id = request.GET.get("changes", "")
    if not leg_id:
        return None
    leg = access_leg(request.user, leg_id) if is_id("leg", leg_id) else None
    if leg is None or leg.thread_id != thread_id:
        raise Refusal("THREAD_NOT_FOUND")
    return leg


@require_safe
@login_required
def offer(request: AuthenticatedRequest, offer_id: str) -> HttpResponse:
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
        "may_accept": found.changes is None or is_allowed(found.changes.status, CHANGE),
    }
    return render(request, "projects/offer.html", context)


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
def answer(request: AuthenticatedRequest, offer_id: str, answer: str) -> HttpResponse:
    if answer not in ANSWERS:
        raise Refusal("THREAD_NOT_FOUND")
    answered = ANSWERS[answer](request.user, offer_id=offer_id)
    return redirect("threads:thread", answered.thread_id)
