"""Pages to propose, view and answer cards, and the calendar file of a booking."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe
from pydantic import BaseModel

from accounts.http import AuthenticatedRequest
from accounts.models import User
from accounts.sign_in.lockout import client_address
from contracts import status
from contracts.calendar import calendar_of
from contracts.cards.card_type import CardType, Transition, has_role
from contracts.cards.chains import list_chain
from contracts.cards.locks import access_card
from contracts.cards.proposals import check_can_propose, get_card_type
from contracts.cards.review import Review, review
from contracts.cards.steps import get_step_text
from contracts.cards.superseding import OFFER
from contracts.cards.types import TYPES
from contracts.labels import label_legs
from contracts.models import Card, Leg
from contracts.queries import access_leg, list_legs_between
from contracts.refusals import NOT_YOUR_DECISION, not_found
from core.locales import locale_of
from core.refusals import Refusal
from projects.actions.cards import propose_card, transition_card
from projects.cards.gallery import list_card_images, list_selectable_images
from projects.cards.rendering import get_state_label, make_card_action, make_card_view
from projects.views.card_links import card_url, redirect_to_card
from projects.views.offers import show_counter_form
from threads import queries
from threads.forms import MAX_ATTACHMENTS
from threads.models.packs import allow_placeholders
from threads.views.files import upload_files

MAX_KEY_CHARS = 64
# Files in one form; more than any card type allows.
MAX_FILE_IDS = 60
# Fields whose defaults come from the booking.
LEG_FIELDS = ("starts_at", "ends_at", "until", "how")
# A form row without a value in one of these is empty.
ROW_FIELDS = ("title", "unit", "note")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: AuthenticatedRequest, thread_id: str, type_name: str) -> HttpResponse:
    queries.access_participants(request.user, thread_id)
    kind = get_card_type(type_name)
    if kind.name == OFFER:
        return redirect("projects:offer_new", thread_id)
    every_leg = list_legs_between(request.user, thread_id)
    legs = _open_to(kind, every_leg)
    wanted = request.POST.get("leg") or request.GET.get("leg") or (legs or every_leg)[0].id
    leg = next((each for each in every_leg if each.id == wanted), None)
    if leg is None:
        raise not_found("booking")
    given = _given(request)
    if request.method != "POST":
        check_can_propose(kind, request.user, leg)
        return _form(request, kind, leg, kind.defaults(leg), legs=legs)
    if "more" in request.POST:
        return _form(request, kind, leg, _with_one_more(given), legs=legs)
    if request.POST.get("shown_leg", leg.id) != leg.id:
        # Another booking was selected: show the form again with its amounts, terms and times.
        return _form(request, kind, leg, _for_other_leg(kind, leg, given), legs=legs)
    file_ids = _file_ids(request, kind, thread_id)
    try:
        if to_review := _review(request, kind, leg, given, file_ids):
            check_can_propose(kind, request.user, leg)
            shown = kind.defaults(leg) | given
            return _form(
                request, kind, leg, shown, legs=legs, uploaded=file_ids, to_review=to_review
            )
        card = propose_card(
            request.user,
            thread_id=thread_id,
            type_name=type_name,
            leg_id=leg.id,
            key=_key(request),
            given=given,
            file_ids=file_ids,
            locale=locale_of(request),
        )
    except Refusal as refusal:
        if refusal.status == 404:
            raise
        shown = kind.defaults(leg) | given
        return _form(request, kind, leg, shown, legs=legs, refusal=refusal, uploaded=file_ids)
    return redirect_to_card(card)


def _open_to(kind: CardType, legs: list[Leg]) -> list[Leg]:
    """The bookings for which this type can be proposed now."""
    return [leg for leg in legs if status.is_allowed(leg.status, status.proposal_action(kind.name))]


def _for_other_leg(kind: CardType, leg: Leg, given: dict[str, Any]) -> dict[str, Any]:
    """Keeps the input, except for fields that depend on the booking."""
    kept = {name: value for name, value in given.items() if name not in LEG_FIELDS}
    return kind.defaults(leg) | kept


@require_safe
@login_required
def card(request: AuthenticatedRequest, card_id: str) -> HttpResponse:
    found = access_card(request.user, card_id)
    with allow_placeholders():
        opened = queries.open_thread(request.user, found.thread_id)
    steps = [
        {"text": get_step_text(step) or f"{step.by} proposed this.", "at": step.at, "why": step.why}
        for step in found.steps.select_related("by")
    ]
    context = {
        "card": make_card_view(make_card_action(found), opened.cached),
        "reader": request.user.id,
        "steps": steps,
        "thread_id": found.thread_id,
        "message_url": card_url(found),
        "leg": found.leg,
        "chain": [
            {
                "id": each.id,
                "what": TYPES[each.type].summary(each.payload),
                "word": get_state_label(each.state),
            }
            for each in list_chain(found)
        ],
    }
    return render(request, "projects/card_page.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def transition(request: AuthenticatedRequest, card_id: str, transition_name: str) -> HttpResponse:
    """Applies a transition directly, or by a form if it needs input or a confirmation."""
    found = access_card(request.user, card_id)
    kind = TYPES[found.type]
    chosen = kind.find_transition(transition_name)
    if chosen is None or not chosen.label:
        raise Refusal("THREAD_NOT_FOUND")
    if found.type == OFFER and chosen.next_type:
        return show_counter_form(request, found)
    given = _given(request)
    if request.method != "POST" or "more" in request.POST:
        if not has_role(chosen.by, request.user, found):
            raise Refusal("ACTION_FORBIDDEN", NOT_YOUR_DECISION)
        if found.leg is not None:
            status.check_status(found.leg, status.transition_action(found.type, transition_name))
        start = _with_one_more(given) if given else _start(kind, chosen, found)
        return _form(request, kind, found.leg, start, card=found, chosen=chosen)
    if "warned" not in request.POST and _warnings(request, chosen, found):
        return _confirm(request, kind, chosen, found, given)
    next_type = _next_type(chosen)
    file_ids = _file_ids(request, next_type, found.thread_id)
    try:
        if next_type and found.leg:
            to_review = _review(request, next_type, found.leg, given, file_ids)
            if to_review:
                return _form(
                    request,
                    kind,
                    found.leg,
                    given,
                    card=found,
                    chosen=chosen,
                    uploaded=file_ids,
                    to_review=to_review,
                )
        changed = transition_card(
            request.user,
            card_id=card_id,
            transition=transition_name,
            version=_version(request),
            key=_key(request),
            given=given,
            file_ids=file_ids,
            locale=locale_of(request),
        )
    except Refusal as refusal:
        # Errors that the user can correct are shown in the form.
        if refusal.status != 400 and not (chosen.input_model and refusal.code == "ACTION_CONFLICT"):
            raise
        return _form(
            request,
            kind,
            found.leg,
            given,
            card=found,
            chosen=chosen,
            refusal=refusal,
            uploaded=file_ids,
        )
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"state": changed.state, "version": changed.version})
    return redirect_to_card(changed)


def _warnings(
    request: AuthenticatedRequest, chosen: Transition | None, card: Card | None
) -> list[str]:
    """What the user should know before they apply a transition that is open to them."""
    if chosen is None or chosen.warnings is None or card is None:
        return []
    if card.state not in chosen.sources or not has_role(chosen.by, request.user, card):
        return []
    return chosen.warnings(card, request.user)


def _confirm(
    request: AuthenticatedRequest,
    kind: CardType,
    chosen: Transition,
    card: Card,
    given: dict[str, Any],
) -> HttpResponse:
    """Asks for a confirmation; scripts open the form that asks for it."""
    if "application/json" not in request.headers.get("Accept", ""):
        return _form(request, kind, card.leg, given, card=card, chosen=chosen)
    refusal = Refusal("ACTION_CONFLICT", _warnings(request, chosen, card)[0])
    refusal.details["confirm"] = request.path
    raise refusal


def _review(
    request: AuthenticatedRequest,
    kind: CardType,
    leg: Leg,
    given: dict[str, Any],
    file_ids: Sequence[str],
) -> Review | None:
    return review(
        kind,
        leg,
        request.user,
        given,
        locale=locale_of(request),
        file_count=len(file_ids),
        confirmed=request.POST.get("reviewed", ""),
    )


def _next_type(chosen: Transition | None) -> CardType | None:
    return TYPES[chosen.next_type] if chosen and chosen.next_type else None


def _file_ids(request: AuthenticatedRequest, kind: CardType | None, thread_id: str) -> list[str]:
    """Files uploaded earlier, selected in the form, and uploaded with it."""
    if kind is None or not kind.files[1]:
        return []
    if len(request.FILES.getlist("files")) > MAX_ATTACHMENTS:
        raise Refusal("UPLOAD_TOO_LARGE", f"You can upload up to {MAX_ATTACHMENTS} files at once.")
    before = [*request.POST.get("file_ids", "").split(), *request.POST.getlist("picture")]
    return list(dict.fromkeys([*before[:MAX_FILE_IDS], *upload_files(request, thread_id)]))


def _start(kind: CardType, chosen: Transition, card: Card) -> dict[str, Any]:
    next_type = _next_type(chosen)
    return next_type.defaults(card.leg) if next_type and card.leg else {}


def _form(
    request: AuthenticatedRequest,
    kind: CardType,
    leg: Leg | None,
    given: dict[str, Any],
    *,
    legs: list[Leg] | None = None,
    card: Card | None = None,
    chosen: Transition | None = None,
    refusal: Refusal | None = None,
    uploaded: Sequence[str] = (),
    to_review: Review | None = None,
) -> HttpResponse:
    name = kind.name if chosen is None else chosen.next_type or f"{kind.name}_{chosen.name}"
    errors = refusal.details.get("errors", {}) if refusal else {}
    made = _next_type(chosen) or kind
    thread_id = card.thread_id if card else leg.thread_id if leg else ""
    context = {
        "kind": kind,
        "leg": leg,
        "legs": label_legs(legs or []),
        "given": _marked(given, errors),
        "card": card,
        "transition": chosen,
        "made": made,
        "choices": made.choices,
        "fields": f"projects/cards/{name}_form.html" if _has_fields(chosen) else "",
        "about": f"projects/cards/{kind.name}.html",
        "title": chosen.label if chosen else kind.propose_label,
        "quote": kind.quote(leg, request.user) if kind.quote and leg and not card else None,
        "shown": kind.show(card.payload) if card else None,
        "payload": card.payload if card else None,
        "takes_files": made.files[1] if chosen is None or chosen.next_type else 0,
        "uploaded": " ".join(uploaded),
        "asked": [one for one in list_card_images(card.payload) if one["note"]] if card else [],
        "pictures": _pictures(request, made, chosen, card, thread_id, uploaded),
        "key": request.POST.get("key") or str(uuid4()),
        "version": card.version if card else 1,
        "thread_id": thread_id,
        "refusal": refusal.as_dict(request.corr_id) if refusal else None,
        "errors": errors,
        "labels": _labels(chosen.input_model if chosen else None),
        "other_name": _other_name(request.user, leg),
        "review": to_review,
        "preview": f"projects/cards/{made.name}.html",
        "warnings": _warnings(request, chosen, card),
    }
    status = refusal.status if refusal else 200
    return render(request, "projects/card_form.html", context, status=status)


def _pictures(
    request: AuthenticatedRequest,
    made: CardType,
    chosen: Transition | None,
    card: Card | None,
    thread_id: str,
    uploaded: Sequence[str],
) -> list[dict[str, Any]]:
    """Images to select for a new card, or images of an existing card to comment on."""
    if not made.file_kind:
        return []
    if card is not None and chosen and not chosen.next_type:
        return list_card_images(card.payload | _submitted_notes(request))
    return list_selectable_images(request.user, thread_id, uploaded)


def _submitted_notes(request: AuthenticatedRequest) -> dict[str, Any]:
    """Selections and notes of a form that is shown again."""
    rows = _given(request).get("notes", [])
    notes = {row.get("id", ""): row.get("note", "") for row in rows if isinstance(row, dict)}
    return {"chosen": request.POST.getlist("chosen"), "notes": notes}


def _labels(model: type[BaseModel] | None) -> dict[str, str]:
    return {name: field.title or "" for name, field in model.model_fields.items()} if model else {}


def _other_name(user: User, leg: Leg | None) -> str:
    if leg is None:
        return ""
    return (leg.seller if user.id == leg.buyer_id else leg.buyer).display_name


def _has_fields(chosen: Transition | None) -> bool:
    return chosen is None or chosen.input_model is not None


def _given(request: AuthenticatedRequest) -> dict[str, Any]:
    """Parses the form fields: `items-0-title` is the title of the first item."""
    given: dict[str, Any] = {}
    for name in request.POST:
        values = request.POST.getlist(name)
        parts = name.split("-")
        if len(parts) == 3 and parts[1].isdecimal() and len(parts[1]) < 3:
            rows = given.setdefault(parts[0], {})
            rows.setdefault(int(parts[1]), {})[parts[2]] = values[-1]
        elif len(parts) == 1:
            given[name] = values if len(values) > 1 else values[0]
    for name, value in given.items():
        if isinstance(value, dict):
            # Empty rows are dropped.
            rows = [value[number] for number in sorted(value)]
            written = [row for row in rows if any(row.get(part) for part in ROW_FIELDS)]
            given[name] = written or rows[:1]
    if given:
        # Recorded with a signature; never taken from the form.
        given["address"] = client_address(request)
        given["user_agent"] = request.headers.get("User-Agent", "")
    return given


def _marked(given: dict[str, Any], errors: dict[str, str]) -> dict[str, Any]:
    """Adds the errors of a row to the row."""
    for place, sentence in errors.items():
        match place.split("."):
            case [name, number, part] if isinstance(given.get(name), list):
                given[name][int(number)].setdefault("errors", {})[part] = sentence
    return given


def _with_one_more(given: dict[str, Any]) -> dict[str, Any]:
    return given | {"items": [*given.get("items", []), {"quantity": 1}]}


def _key(request: AuthenticatedRequest) -> str:
    key = request.POST.get("key", "")
    if not 1 <= len(key) <= MAX_KEY_CHARS or "\x00" in key:
        raise Refusal("BAD_FRAME")
    return key


def _version(request: AuthenticatedRequest) -> int:
    version = request.POST.get("version", "")
    if not version.isdecimal() or not version.isascii() or len(version) > 9:
        raise Refusal("BAD_FRAME")
    return int(version)


@require_safe
@login_required
def calendar(request: AuthenticatedRequest, leg_id: str) -> HttpResponse:
    leg = access_leg(request.user, leg_id)
    answer = HttpResponse(calendar_of(leg), content_type="text/calendar; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{leg.id}.ics"'
    answer["Cache-Control"] = "private, no-store"
    return answer
