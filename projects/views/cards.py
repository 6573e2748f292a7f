"""Cards: filling one in, looking at it, answering it; and the booking for one's calendar."""

from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from accounts.sign_in.lockout import client_address
from contracts import status
from contracts.calendar import calendar_of
from contracts.cards.card_type import CardType, Transition, holds
from contracts.cards.chains import list_chain
from contracts.cards.locks import access_card
from contracts.cards.proposals import check_can_propose, get_card_type
from contracts.cards.review import Review, review
from contracts.cards.steps import get_step_text
from contracts.cards.types import TYPES
from contracts.labels import label_legs
from contracts.models import Card, Leg
from contracts.queries import access_leg, list_legs_between
from core.locales import locale_of
from core.refusals import Refusal
from projects.actions.cards import propose_card, transition_card
from projects.cards.gallery import list_card_images, list_selectable_images
from projects.cards.rendering import get_state_label, make_card_action, make_card_view
from threads import queries
from threads.forms import MAX_ATTACHMENTS
from threads.models.packs import allow_placeholders
from threads.rendering.messages import message_url
from threads.views.files import upload_files
from threads.views.threads import AuthenticatedRequest

MAX_KEY_CHARS = 64
# Of files in one form: more than any type takes.
MAX_NAMED = 60
# Fields that begin with what was agreed for the booking.
OF_THE_LEG = ("starts_at", "ends_at", "until", "how")
# Without one of these a row of a form is empty.
WRITTEN = ("title", "unit", "note")


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: AuthenticatedRequest, thread_id: str, type_name: str) -> HttpResponse:
    queries.access_participants(request.user, thread_id)
    kind = get_card_type(type_name)
    every_leg = list_legs_between(request.user, thread_id)
    legs = _open_to(kind, every_leg)
    wanted = request.POST.get("leg") or request.GET.get("leg") or (legs or every_leg)[0].id
    leg = next((each for each in every_leg if each.id == wanted), None)
    if leg is None:
        raise Refusal("THREAD_NOT_FOUND", "There is no such booking.")
    given = _given(request)
    if request.method != "POST":
        check_can_propose(kind, request.user, leg)
        return _form(request, kind, leg, kind.defaults(leg), legs=legs)
    if "more" in request.POST:
        return _form(request, kind, leg, _with_one_more(given), legs=legs)
    if request.POST.get("shown_leg", leg.id) != leg.id:
        # The amounts, terms and times of the form were another booking's: shown again with its own.
        return _form(request, kind, leg, _for_other_leg(kind, leg, given), legs=legs)
    file_ids = _file_ids(request, kind, thread_id)
    try:
        if to_review := _review(request, kind, leg, given, file_ids):
            check_can_propose(kind, request.user, leg)
            shown = kind.defaults(leg) | given
            return _form(
                request, kind, leg, shown, legs=legs, brought=file_ids, to_review=to_review
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
        return _form(request, kind, leg, shown, legs=legs, refusal=refusal, brought=file_ids)
    return _to_card(card)


def _open_to(kind: CardType, legs: list[Leg]) -> list[Leg]:
    """Those that this can be proposed for; a form offers no others."""
    return [leg for leg in legs if status.is_allowed(leg.status, status.proposal(kind.name))]


def _for_other_leg(kind: CardType, leg: Leg, given: dict[str, Any]) -> dict[str, Any]:
    """What was typed stays, except what is another booking's."""
    kept = {name: value for name, value in given.items() if name not in OF_THE_LEG}
    return kind.defaults(leg) | kept


@require_safe
@login_required
def card(request: AuthenticatedRequest, card_id: str) -> HttpResponse:
    found = access_card(request.user, card_id)
    with allow_placeholders():
        opened = queries.open_thread(request.user, found.thread_id)
    steps = [
        {"says": get_step_text(step) or f"{step.by} proposed it.", "at": step.at, "why": step.why}
        for step in found.steps.select_related("by")
    ]
    context = {
        "card": make_card_view(make_card_action(found), opened.cached),
        "reader": request.user.id,
        "steps": steps,
        "thread_id": found.thread_id,
        "message_url": _message_url(found),
        "leg": found.leg,
        "chain": [
            {
                "id": each.id,
                "what": TYPES[each.type].summary(each.payload),
                "word": get_state_label(each),
            }
            for each in list_chain(found)
        ],
    }
    return render(request, "projects/card_page.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def move(request: AuthenticatedRequest, card_id: str, move_name: str) -> HttpResponse:
    """With one press; or, where one has to say more or to know more first, by a form."""
    found = access_card(request.user, card_id)
    kind = TYPES[found.type]
    chosen = kind.find(move_name)
    if chosen is None or not chosen.label:
        raise Refusal("THREAD_NOT_FOUND")
    given = _given(request)
    if request.method != "POST" or "more" in request.POST:
        if not holds(chosen.by, request.user, found):
            raise Refusal("ACTION_FORBIDDEN", "This is for somebody else to decide.")
        if found.leg is not None:
            status.check_status(found.leg, status.move(found.type, move_name))
        start = _with_one_more(given) if given else _start(kind, chosen, found)
        return _form(request, kind, found.leg, start, card=found, chosen=chosen)
    follower = _follower(chosen)
    file_ids = _file_ids(request, follower, found.thread_id)
    try:
        if follower and found.leg:
            to_review = _review(request, follower, found.leg, given, file_ids)
            if to_review:
                return _form(
                    request,
                    kind,
                    found.leg,
                    given,
                    card=found,
                    chosen=chosen,
                    brought=file_ids,
                    to_review=to_review,
                )
        moved = transition_card(
            request.user,
            card_id=card_id,
            move=move_name,
            version=_version(request),
            key=_key(request),
            given=given,
            file_ids=file_ids,
            locale=locale_of(request),
        )
    except Refusal as refusal:
        # What can be mended is mended where it was typed.
        if refusal.status != 400 and not (chosen.needs and refusal.code == "ACTION_CONFLICT"):
            raise
        return _form(
            request,
            kind,
            found.leg,
            given,
            card=found,
            chosen=chosen,
            refusal=refusal,
            brought=file_ids,
        )
    if "application/json" in request.headers.get("Accept", ""):
        return JsonResponse({"state": moved.state, "version": moved.version})
    return _to_card(moved)


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


def _follower(chosen: Transition | None) -> CardType | None:
    return TYPES[chosen.then] if chosen and chosen.then else None


def _file_ids(request: AuthenticatedRequest, kind: CardType | None, thread_id: str) -> list[str]:
    """Those that were brought before, those that were chosen, and those that come with the form."""
    if kind is None or not kind.files[1]:
        return []
    if len(request.FILES.getlist("files")) > MAX_ATTACHMENTS:
        raise Refusal("UPLOAD_TOO_LARGE", f"At most {MAX_ATTACHMENTS} files come at once.")
    before = [*request.POST.get("file_ids", "").split(), *request.POST.getlist("picture")]
    return list(dict.fromkeys([*before[:MAX_NAMED], *upload_files(request, thread_id)]))


def _start(kind: CardType, chosen: Transition, card: Card) -> dict[str, Any]:
    follower = _follower(chosen)
    return follower.defaults(card.leg) if follower and card.leg else {}


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
    brought: Sequence[str] = (),
    to_review: Review | None = None,
) -> HttpResponse:
    name = kind.name if chosen is None else chosen.then or f"{kind.name}_{chosen.name}"
    errors = refusal.details.get("errors", {}) if refusal else {}
    made = _follower(chosen) or kind
    thread_id = card.thread_id if card else leg.thread_id if leg else ""
    context = {
        "kind": kind,
        "leg": leg,
        "legs": label_legs(legs or []),
        "given": _marked(given, errors),
        "card": card,
        "move": chosen,
        "made": made,
        "choices": made.choices,
        "fields": f"projects/cards/{name}_form.html" if _has_fields(chosen) else "",
        "about": f"projects/cards/{kind.name}.html",
        "title": chosen.label if chosen else kind.proposes,
        "quote": kind.quote(leg, request.user) if kind.quote and leg and not card else None,
        "shown": kind.show(card.payload) if card else None,
        "payload": card.payload if card else None,
        "takes_files": made.files[1] if chosen is None or chosen.then else 0,
        "brought": " ".join(brought),
        "asked": [one for one in list_card_images(card.payload) if one["note"]] if card else [],
        "pictures": _pictures(request, made, chosen, card, thread_id, brought),
        "key": request.POST.get("key") or str(uuid4()),
        "version": card.version if card else 1,
        "thread_id": thread_id,
        "refusal": refusal.as_dict(request.corr_id) if refusal else None,
        "errors": errors,
        "review": to_review,
        "preview": f"projects/cards/{made.name}.html",
    }
    status = refusal.status if refusal else 200
    return render(request, "projects/card_form.html", context, status=status)


def _pictures(
    request: AuthenticatedRequest,
    made: CardType,
    chosen: Transition | None,
    card: Card | None,
    thread_id: str,
    brought: Sequence[str],
) -> list[dict[str, Any]]:
    """To choose from for a new one; of one that is there, to say something of."""
    if not made.file_kind:
        return []
    if card is not None and chosen and not chosen.then:
        return list_card_images(card.payload | _said(request))
    return list_selectable_images(request.user, thread_id, brought)


def _said(request: AuthenticatedRequest) -> dict[str, Any]:
    """What was chosen and noted in a form that comes back."""
    rows = _given(request).get("notes", [])
    notes = {row.get("id", ""): row.get("note", "") for row in rows if isinstance(row, dict)}
    return {"chosen": request.POST.getlist("chosen"), "notes": notes}


def _has_fields(chosen: Transition | None) -> bool:
    return chosen is None or chosen.needs is not None


def _given(request: AuthenticatedRequest) -> dict[str, Any]:
    """Fields as they are named: `items-0-title` is the title of the first of the items."""
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
            # Rows in which nothing was written are not rows.
            rows = [value[number] for number in sorted(value)]
            written = [row for row in rows if any(row.get(part) for part in WRITTEN)]
            given[name] = written or rows[:1]
    if given:
        # Of whoever signs: known here, and not to be said by themselves.
        given["address"] = client_address(request)
        given["user_agent"] = request.headers.get("User-Agent", "")
    return given


def _marked(given: dict[str, Any], errors: dict[str, str]) -> dict[str, Any]:
    """What is wrong with a row, with the row."""
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


def _to_card(card: Card) -> HttpResponse:
    card.refresh_from_db()
    return redirect(_message_url(card))


def _message_url(card: Card) -> str:
    """Where it stands in the conversation; its own page until it does."""
    if card.message_id:
        return message_url(card.thread_id, card.message_id)
    return f"/cards/{card.id}/"


@require_safe
@login_required
def calendar(request: AuthenticatedRequest, leg_id: str) -> HttpResponse:
    leg = access_leg(request.user, leg_id)
    answer = HttpResponse(calendar_of(leg), content_type="text/calendar; charset=utf-8")
    answer["Content-Disposition"] = f'attachment; filename="{leg.id}.ics"'
    answer["Cache-Control"] = "private, no-store"
    return answer
