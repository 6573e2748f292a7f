"""The view of a card in a thread. The fragment is the same for every viewer: parts for one user
carry that user's id, and the page or the browser shows or hides them."""

from datetime import datetime
from typing import Any

from contracts import status
from contracts.cards.card_type import CardType, Transition, list_users_with_role
from contracts.cards.steps import get_step_text
from contracts.cards.types import TYPES
from contracts.models.bookings import ON_HOLD
from contracts.models.cards import Card
from contracts.money import format_amount
from contracts.status import is_allowed
from projects.cards.gallery import list_card_images
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.unknown_kinds import record_unknown
from threads.models import Message
from threads.rendering.attachments import attachment_views

# CSS tone of each state; other states have none.
TONES = {
    "pending": "waiting",
    "open": "waiting",
    "accepted": "ok",
    "auto_accepted": "ok",
    "approved": "ok",
    "signed": "ok",
    "resolved": "ok",
    "disputed": "danger",
    "changes_requested": "waiting",
}
# Other states are shown by their name.
STATE_LABELS = {
    "auto_accepted": "accepted automatically",
    "countered": "replaced",
    "superseded": "closed",
    "voided": "void",
}
UNKNOWN_LABEL, UNKNOWN_ICON = "Action", "info"


def make_card_action(card: Card) -> dict[str, Any]:
    """What a message stores of its card, so that opening a thread needs no other read."""
    kind = TYPES[card.type]
    before = card.counters
    last = card.steps.last()
    return {
        "id": card.id,
        "type": card.type,
        "state": card.state,
        "version": card.version,
        "isOpen": card.is_open,
        "payload": card.payload,
        "by": card.proposed_by_id,
        "waitsFor": card.waits_for,
        "dueAt": keys.iso(card.due_at) if card.due_at else None,
        "isStopped": card.stopped_at is not None,
        "isOnHold": card.is_open and card.leg is not None and card.leg.status == ON_HOLD,
        "moves": {
            transition.name: list_users_with_role(transition.by, card)
            for transition in _open_transitions(kind, card)
        },
        "answers": _before(before) if before else None,
        "said": get_step_text(last) if last else "",
        "at": keys.iso(last.at) if last else None,
    }


def get_state_label(state: str) -> str:
    return STATE_LABELS.get(state, state.replace("_", " "))


def _before(card: Card) -> dict[str, Any]:
    what = TYPES[card.type].summary(card.payload)
    return {"id": card.id, "type": card.type, "what": what}


def _open_transitions(kind: CardType, card: Card) -> list[Transition]:
    if not card.is_open:
        return []
    return [
        transition
        for transition in kind.transitions
        if transition.label and card.state in transition.sources and _allows(card, transition)
    ]


def _allows(card: Card, transition: Transition) -> bool:
    """A booking on hold allows no binding transition."""
    action = status.transition_action(card.type, transition.name)
    return card.leg is None or is_allowed(card.leg.status, action)


def card_view(message: Message, cached: CachedThread) -> dict[str, Any] | None:
    action = message.action
    if action is None or message.is_withheld:
        return None
    return make_card_view(action, cached)


def make_card_view(action: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    kind = TYPES.get(action["type"])
    if kind is None:
        return _unknown(action)
    return {
        **action,
        "label": kind.get_label(action["payload"]),
        "icon": kind.icon,
        "due_label": kind.due_label,
        "template": f"projects/cards/{kind.name}.html",
        "what": kind.summary(action["payload"]),
        "shown": kind.show(action["payload"]),
        **_files(kind, action["payload"]),
        "earlier": _earlier(action["payload"], cached),
        "word": get_state_label(action["state"]),
        "tone": TONES.get(action["state"], ""),
        "proposer": cached.get_person(action["by"])["name"],
        "waiting_names": [cached.get_person(user_id)["name"] for user_id in action["waitsFor"]],
        "due": keys.parse_iso(action["dueAt"]) if action["dueAt"] else None,
        "moment": keys.parse_iso(action["at"]) if action["at"] else None,
        "buttons": _buttons(kind, action),
    }


def _earlier(payload: dict[str, Any], cached: CachedThread) -> list[dict[str, Any]]:
    """Earlier offers of the same negotiation, the latest first."""
    return [
        each
        | {
            "name": cached.get_person(each["by"])["name"],
            "amount": format_amount(each["price"], each.get("currency", payload["currency"])),
            "moment": datetime.fromisoformat(each["at"]),
        }
        for each in reversed(payload.get("earlier", []))
    ]


def _unknown(action: dict[str, Any]) -> dict[str, Any]:
    """A placeholder for a card type that only a newer version knows."""
    record_unknown(f"card {action['type']}")
    state = str(action.get("state", ""))
    return {
        "id": action.get("id", ""),
        "type": action["type"],
        "state": state,
        "version": action.get("version", 0),
        "isOpen": False,
        "label": UNKNOWN_LABEL,
        "icon": UNKNOWN_ICON,
        "template": "projects/cards/unknown.html",
        "word": get_state_label(state),
    }


def _files(kind: CardType, payload: dict[str, Any]) -> dict[str, Any]:
    """The template of an image type renders the images itself."""
    if kind.file_kind:
        return {"pictures": list_card_images(payload)}
    return {"files": attachment_views(payload.get("files"))}


def _buttons(kind: CardType, action: dict[str, Any]) -> list[dict[str, Any]]:
    """Sorted by rank, then as declared: DynamoDB returns a stored map in no particular order."""
    users = action["moves"]
    transitions = sorted(
        (transition for transition in kind.transitions if transition.name in users),
        key=_button_rank,
    )
    return [_button(transition, users[transition.name], action) for transition in transitions]


def _button_rank(transition: Transition) -> int:
    """Decline and withdraw first, then transitions with a form, the main one last."""
    if transition.tone:
        return 2
    return 1 if transition.input_model else 0


def _button(transition: Transition, users: list[str], action: dict[str, Any]) -> dict[str, Any]:
    return {
        "transition": transition.name,
        "label": transition.label,
        "tone": transition.tone,
        "users": users,
        "has_form": bool(transition.input_model or transition.confirmation),
        "key": f"{transition.name}-{action['version']}",
    }
