"""Pages to make an offer and to suggest a change of one, shown in a dialog of the conversation."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from accounts.http import AuthenticatedRequest
from contracts.actions.offers import default_valid_until, find_validity_error
from contracts.cards.card_type import PENDING
from contracts.currencies import CURRENCIES, DEFAULT_CURRENCY
from contracts.models import Card, Leg, Offer
from contracts.offer_view import compare_terms, show_offer
from contracts.queries import access_leg, access_offer, find_offer_card
from contracts.status import check_status, transition_action
from contracts.terms import Terms, hash_terms
from core.ids import is_id
from core.locales import locale_of
from core.refusals import Refusal
from core.time_zones import list_time_zones, zone_of
from projects.actions.bookings import counter_offer, make_offer, offer_input, review_offer
from projects.forms import LegForms, OfferForm, default_leg_initial, leg_initial, terms_of
from projects.views.card_links import redirect_to_card
from threads import queries
from threads.cache import CachedThread
from threads.models.packs import allow_placeholders


@dataclass(frozen=True)
class OfferDraft:
    """What the form is about: a new booking, a change of a booking, or a change of an offer."""

    cached: CachedThread
    zone: str
    leg: Leg | None = None
    card: Card | None = None

    @property
    def title(self) -> str:
        return "Suggest a change" if self.leg or self.card else "Make an offer"

    @property
    def compared_with(self) -> dict[str, Any] | None:
        """The terms that the new ones replace."""
        if self.card is not None:
            return self.card.payload
        if self.leg is not None:
            return offer_input(self.leg.offer.title, self.leg.currency, [_terms_of(self.leg)], None)
        return None


def _terms_of(leg: Leg) -> Terms:
    return Terms(**{name: getattr(leg, name) for name in Terms.__dataclass_fields__})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: AuthenticatedRequest, thread_id: str) -> HttpResponse:
    cached = _open(request, thread_id)
    leg = _leg_to_change(request, thread_id)
    return _show(request, OfferDraft(cached, request.user.time_zone, leg))


def show_counter_form(request: AuthenticatedRequest, card: Card) -> HttpResponse:
    """The form of the transition `counter`, with the terms of the offer that it replaces."""
    if card.state != PENDING and request.method != "POST":
        return redirect_to_card(card)
    if card.leg is not None:
        check_status(card.leg, transition_action(card.type, "counter"))
    zone = card.payload["terms"][0]["time_zone"]
    return _show(request, OfferDraft(_open(request, card.thread_id), zone, card.leg, card))


def _open(request: AuthenticatedRequest, thread_id: str) -> CachedThread:
    with allow_placeholders():
        return queries.open_thread(request.user, thread_id).cached


def _leg_to_change(request: AuthenticatedRequest, thread_id: str) -> Leg | None:
    leg_id = request.GET.get("changes", "")
    if not leg_id:
        return None
    leg = access_leg(request.user, leg_id) if is_id("leg", leg_id) else None
    if leg is None or leg.thread_id != thread_id:
        raise Refusal("THREAD_NOT_FOUND")
    return leg


def _show(request: AuthenticatedRequest, draft: OfferDraft) -> HttpResponse:
    """Times in the form are in the zone that the form names, which stays for a booking."""
    given = request.POST.get("time_zone", "")
    zone = given if given in list_time_zones() else draft.zone
    draft = replace(draft, zone=draft.leg.time_zone if draft.leg else zone)
    with timezone.override(zone_of(draft.zone)):
        return _process(request, draft)


def _process(request: AuthenticatedRequest, draft: OfferDraft) -> HttpResponse:
    data = _with_one_more(request.POST) if request.method == "POST" else None
    start, parts = _initial(draft)
    form = OfferForm(data, initial=start)
    amounts = {"currency": _currency(data, start["currency"]), "locale": locale_of(request)}
    legs = LegForms(data, initial=parts, form_kwargs=amounts)
    context = {
        "form": form,
        "legs": legs,
        "thread": draft.cached.thread,
        "zone": draft.zone,
        "changes": draft.leg,
        "card": draft.card,
        "title": draft.title,
        "other_name": _other_name(request, draft),
        "version": _version(request, draft),
    }
    if data is None or "more" in data:
        return render(request, "projects/offer_new.html", context)
    is_valid = form.is_valid() and legs.is_valid()
    terms = terms_of(legs, draft.zone) if is_valid else []
    if not is_valid or not _is_validity_possible(form, terms):
        return render(request, "projects/offer_new.html", context, status=400)
    fields = {name: value for name, value in form.cleaned_data.items() if name != "time_zone"}
    return _send(request, draft, fields | {"terms": terms}, context)


def _initial(draft: OfferDraft) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Initial values of the form and of each part."""
    thread = draft.cached.thread
    if draft.card is not None:
        payload = draft.card.payload
        terms = [Terms.from_json(each) for each in payload["terms"]]
        start = {"title": payload["title"], "currency": payload["currency"]}
    else:
        terms = [_terms_of(draft.leg)] if draft.leg else []
        currency = draft.leg.currency if draft.leg else DEFAULT_CURRENCY
        start = {"title": thread.subject[:120], "currency": currency}
    parts = [leg_initial(each) for each in terms]
    until = default_valid_until(terms, timezone.now()).replace(second=0, microsecond=0)
    first = default_leg_initial(thread.subject, thread.city or "")
    start |= {"key": str(uuid4()), "valid_until": until, "time_zone": draft.zone}
    return start, parts or [first]


def _currency(data: QueryDict | None, currency: str) -> str:
    """The posted currency, in which the amounts are parsed; an unknown one is refused later."""
    posted = data.get("currency") if data else None
    return posted if posted in CURRENCIES else currency


def _is_validity_possible(form: OfferForm, terms: list[Terms]) -> bool:
    until = form.cleaned_data["valid_until"]
    wrong = find_validity_error(until, terms) if until else ""
    if wrong:
        form.add_error("valid_until", wrong)
    return not wrong


def _other_name(request: AuthenticatedRequest, draft: OfferDraft) -> str:
    thread = draft.cached.thread
    buyer_id, seller_id = thread.buyer_id, thread.seller_id
    if draft.leg is not None:
        buyer_id, seller_id = draft.leg.parties
    other_id = seller_id if request.user.id == buyer_id else buyer_id
    return str(draft.cached.get_person(other_id)["name"])


def _version(request: AuthenticatedRequest, draft: OfferDraft) -> int:
    """The version of the card that the form was opened for."""
    given = request.POST.get("version", "")
    if given.isascii() and given.isdecimal() and len(given) < 10:
        return int(given)
    return draft.card.version if draft.card else 1


def _send(
    request: AuthenticatedRequest,
    draft: OfferDraft,
    fields: dict[str, Any],
    context: dict[str, Any],
) -> HttpResponse:
    """Makes the offer if exactly these terms were reviewed; otherwise shows them for review."""
    what = {name: value for name, value in fields.items() if name != "key"}
    terms_hash = hash_terms(**what)
    try:
        if request.POST.get("reviewed") == terms_hash:
            offer = _make(request, draft, fields, context["version"])
            return redirect_to_card(Card.objects.get(offer=offer))
        changes = draft.leg.id if draft.leg else ""
        thread_id = draft.cached.thread.id
        warnings = review_offer(request.user, thread_id=thread_id, changes=changes, **what)
    except Refusal as error:
        if error.status == 404:
            raise
        context["refusal"] = error.as_dict(request.corr_id)
        return render(request, "projects/offer_new.html", context, status=error.status)
    context["review"] = _review(draft, what) | {"terms_hash": terms_hash}
    context["warnings"] = warnings
    return render(request, "projects/offer_new.html", context)


def _make(
    request: AuthenticatedRequest, draft: OfferDraft, fields: dict[str, Any], version: int
) -> Offer:
    if draft.card is not None:
        return counter_offer(request.user, card_id=draft.card.id, version=version, **fields)
    changes = draft.leg.id if draft.leg else ""
    thread_id = draft.cached.thread.id
    return make_offer(request.user, thread_id=thread_id, changes=changes, **fields)


def _review(draft: OfferDraft, what: dict[str, Any]) -> dict[str, Any]:
    payload = offer_input(**what)
    before = draft.compared_with
    payload["old"] = compare_terms(before, payload) if before else None
    return {"payload": payload, "shown": show_offer(payload)}


def _with_one_more(posted: QueryDict) -> QueryDict:
    """Adds one more part, if that button was pressed."""
    data = posted.copy()
    if "more" in data:
        count = str(data.get("form-TOTAL_FORMS", ""))
        is_count = count.isascii() and count.isdecimal() and len(count) < 4
        data["form-TOTAL_FORMS"] = str(int(count) + 1) if is_count else "1"
    return data


@require_safe
@login_required
def offer(request: AuthenticatedRequest, offer_id: str) -> HttpResponse:
    """Leads to the offer's place in the conversation, for links from before offers were cards."""
    found = access_offer(request.user, offer_id)
    card = find_offer_card(found)
    return redirect_to_card(card) if card else redirect("threads:thread", found.thread_id)
