"""Pages to make, view and answer offers."""

from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.http import AuthenticatedRequest
from contracts.documents.clauses import format_moment
from contracts.models import Leg
from contracts.models.bookings import CANCELLATION, PENDING
from contracts.money import format_amount
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
from projects.forms import (
    CANCELLATION_POLICY,
    LegForms,
    OfferForm,
    default_leg_initial,
    leg_initial,
    terms_of,
)
from threads import queries
from threads.cache import CachedThread
from threads.models.packs import allow_placeholders

ANSWERS = {"accept": accept_offer, "decline": decline_offer, "withdraw": withdraw_offer}


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    with allow_placeholders():
        cached = queries.open_thread(request.user, thread_id).cached
    leg = _leg_to_change(request, thread_id)
    zone = leg.time_zone if leg else request.user.time_zone
    # Times in the form are in the zone that the form names.
    with timezone.override(zone_of(zone)):
        return _new(request, cached, leg, zone)


def _new(
    request: AuthenticatedRequest, cached: CachedThread, leg: Leg | None, zone: str
) -> HttpResponse:
    thread = cached.thread
    first = leg_initial(leg) if leg else default_leg_initial(thread.subject, thread.city or "")
    currency = leg.currency if leg else "EUR"
    start = {"key": str(uuid4()), "title": thread.subject[:120], "currency": currency}
    data = _with_one_more(request.POST) if request.method == "POST" else None
    locale = {"locale": locale_of(request)}
    form = OfferForm(data, initial=start)
    legs = LegForms(data, initial=[first], form_kwargs=locale)
    context = {"form": form, "legs": legs, "thread": thread, "zone": zone, "changes": leg}
    context["other_name"] = _other_name(request, cached, leg)
    if data is None or "more" in data:
        return render(request, "projects/offer_new.html", context)
    if not (form.is_valid() and legs.is_valid()):
        return render(request, "projects/offer_new.html", context, status=400)
    fields = form.cleaned_data | {"terms": terms_of(legs, zone), "changes": leg.id if leg else ""}
    return _send(request, thread.id, fields, context)


def _other_name(request: AuthenticatedRequest, cached: CachedThread, leg: Leg | None) -> str:
    thread = cached.thread
    buyer_id, seller_id = leg.parties if leg else (thread.buyer_id, thread.seller_id)
    other_id = seller_id if request.user.id == buyer_id else buyer_id
    return str(cached.get_person(other_id)["name"])


def _send(
    request: AuthenticatedRequest, thread_id: str, fields: dict[str, Any], context: dict[str, Any]
) -> HttpResponse:
    """Makes the offer if exactly these terms were reviewed; otherwise shows them for review."""
    what = {name: value for name, value in fields.items() if name != "key"}
    try:
        terms_hash = hash_terms(fields["title"], fields["currency"], fields["terms"])
        if request.POST.get("reviewed") == terms_hash:
            offer = make_offer(request.user, thread_id=thread_id, **fields)
            return redirect("projects:offer", offer.id)
        review_offer(request.user, thread_id=thread_id, **what)
    except Refusal as error:
        context["refusal"] = error.as_dict(request.corr_id)
        return render(request, "projects/offer_new.html", context, status=error.status)
    context["review"] = _review(fields["terms"], fields["currency"]) | {"terms_hash": terms_hash}
    return render(request, "projects/offer_new.html", context)


def _review(terms: list[Terms], currency: str) -> dict[str, Any]:
    total = sum(each.price_cents for each in terms)
    return {
        "legs": [_describe_terms(each, currency) for each in terms],
        "total": format_amount(total, currency),
    }


def _with_one_more(posted: QueryDict) -> QueryDict:
    """Adds one more part, if that button was pressed."""
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
    legs = [_describe_terms(Terms.from_json(stored), found.currency) for stored in found.terms]
    before = _describe_terms(_terms_of(found.changes), found.currency) if found.changes else None
    context = {
        "offer": found,
        "legs": legs,
        "before": before,
        "total": format_amount(sum(leg["price_cents"] for leg in found.terms), found.currency),
        "is_mine": found.proposed_by_id == request.user.id,
        "other": found.seller if request.user.id == found.buyer_id else found.buyer,
        "is_pending": found.status == PENDING,
        "can_accept": found.changes is None or is_allowed(found.changes.status, CHANGE),
    }
    return render(request, "projects/offer.html", context)


def _terms_of(leg: Leg) -> Terms:
    names = Terms.__dataclass_fields__
    return Terms(**{name: getattr(leg, name) for name in names})


def _describe_terms(terms: Terms, currency: str) -> dict[str, Any]:
    zone = ZoneInfo(terms.time_zone)
    return {
        "service": terms.service,
        "rows": [
            ("Start", format_moment(terms.starts_at, zone)),
            ("End", format_moment(terms.ends_at, zone)),
            ("Time zone", terms.time_zone.replace("_", " ")),
            ("Place", terms.place),
            ("Price", format_amount(terms.price_cents, currency)),
            ("Deposit", format_amount(terms.deposit_cents, currency)),
            (CANCELLATION_POLICY, CANCELLATION[terms.cancellation]),
        ],
    }


@require_POST
@login_required
def answer(request: AuthenticatedRequest, offer_id: str, answer: str) -> HttpResponse:
    if answer not in ANSWERS:
        raise Refusal("THREAD_NOT_FOUND")
    answered = ANSWERS[answer](request.user, offer_id=offer_id)
    return redirect("threads:thread", answered.thread_id)
