"""A card as the conversation shows it: the same for every reader. What is for one of them only is
named by their id, and shown or not on the page and in the browser."""

from typing import Any

from contracts import status
from contracts.cards.card_type import CardType, Transition, list_users_with_role
from contracts.cards.steps import get_step_text
from contracts.cards.types import TYPES
from contracts.models.bookings import ON_HOLD
from contracts.models.cards import Card
from contracts.status import is_allowed
from projects.cards.gallery import list_card_images
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.unknown_kinds import record_unknown
from threads.models import Message
from threads.rendering.attachments import attachment_views

# How a state looks; those that are neither good nor bad look like nothing in particular.
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
UNKNOWN_LABEL, UNKNOWN_ICON = "Action", "info"


def make_card_action(card: Card) -> dict[str, Any]:
    """What a message keeps of its card, so that opening a thread reads nothing else."""
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
            move.name: list_users_with_role(move.by, card) for move in _open_moves(kind, card)
        },
        "answers": _before(before) if before else None,
        "said": get_step_text(last) if last else "",
        "at": keys.iso(last.at) if last else None,
    }


def get_state_label(card: Card) -> str:
    return spell(card.state)


def spell(state: str) -> str:
    return state.replace("_", " ")


def _before(card: Card) -> dict[str, Any]:
    what = TYPES[card.type].summary(card.payload)
    return {"id": card.id, "type": card.type, "what": what}


def _open_moves(kind: CardType, card: Card) -> list[Transition]:
    if not card.is_open:
        return []
    return [
        move
        for move in kind.moves
        if move.label and card.state in move.sources and _allows(card, move)
    ]


def _allows(card: Card, move: Transition) -> bool:
    """A booking on hold offers nothing that would bind somebody."""
    return card.leg is None or is_allowed(card.leg.status, status.move(card.type, move.name))


def card_view(message: Message, cached: CachedThread) -> dict[str, Any] | None:
    action = message.action
    if action is None or message.is_redacted:
        return None
    return make_card_view(action, cached)


def make_card_view(action: dict[str, Any], cached: CachedThread) -> dict[str, Any]:
    kind = TYPES.get(action["type"])
    if kind is None:
        return _unknown(action)
    return {
        **action,
        "label": kind.label,
        "icon": kind.icon,
        "template": f"projects/cards/{kind.name}.html",
        "what": kind.summary(action["payload"]),
        "shown": kind.show(action["payload"]),
        **_files(kind, action["payload"]),
        "word": spell(action["state"]),
        "tone": TONES.get(action["state"], ""),
        "proposer": cached.get_person(action["by"])["name"],
        "waiting_names": [cached.get_person(user_id)["name"] for user_id in action["waitsFor"]],
        "due": keys.parse_iso(action["dueAt"]) if action["dueAt"] else None,
        "moment": keys.parse_iso(action["at"]) if action["at"] else None,
        "buttons": _buttons(kind, action),
    }


def _unknown(action: dict[str, Any]) -> dict[str, Any]:
    """A placeholder for a card of a type that only a newer version can show."""
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
        "word": spell(state),
    }


def _files(kind: CardType, payload: dict[str, Any]) -> dict[str, Any]:
    """A type that is about pictures shows them itself."""
    if kind.file_kind:
        return {"pictures": list_card_images(payload)}
    return {"files": attachment_views(payload.get("files"))}


def _buttons(kind: CardType, action: dict[str, Any]) -> list[dict[str, Any]]:
    """In the order of the type, the primary one last. A stored map has no order of its own."""
    people = action["moves"]
    moves = [move for move in kind.moves if move.name in people]
    ordered = sorted(moves, key=lambda move: move.tone == "primary")
    return [_button(move, people[move.name], action) for move in ordered]


def _button(move: Any, people: list[str], action: dict[str, Any]) -> dict[str, Any]:
    return {
        "move": move.name,
        "label": move.label,
        "tone": move.tone,
        "people": people,
        "asks_first": bool(move.needs or move.asks),
        "key": f"{move.name}-{action['version']}",
    }
