"""A card as the conversation shows it: the same for every reader. What is for one of them only is
named by their id, and shown or not on the page and in the browser."""

from typing import Any

from contracts.cards.table import CardType, Move, people_of
from contracts.cards.types import TYPES
from contracts.models.cards import Card
from threads.attachments import views_of
from threads.models import Message, keys
from threads.state import ThreadState

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
}


def action_of(card: Card) -> dict[str, Any]:
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
        "moves": {move.name: people_of(move.by, card) for move in _open_moves(kind, card.state)},
        "answers": _before(before) if before else None,
        "said": last.says if last else "",
        "at": keys.iso(last.at) if last else None,
    }


def _before(card: Card) -> dict[str, Any]:
    what = TYPES[card.type].summary(card.payload)
    return {"id": card.id, "type": card.type, "what": what}


def _open_moves(kind: CardType, state: str) -> list[Move]:
    return [move for move in kind.moves if move.label and state in move.sources]


def card_view(message: Message, state: ThreadState) -> dict[str, Any] | None:
    action = message.action
    if action is None or message.is_gone:
        return None
    return view_of_action(action, state)


def view_of_action(action: dict[str, Any], state: ThreadState) -> dict[str, Any]:
    kind = TYPES[action["type"]]
    return {
        **action,
        "label": kind.label,
        "icon": kind.icon,
        "template": f"threads/cards/{kind.name}.html",
        "what": kind.summary(action["payload"]),
        "shown": kind.show(action["payload"]),
        "files": views_of(action["payload"].get("files")),
        "word": action["state"].replace("_", " "),
        "tone": TONES.get(action["state"], ""),
        "proposer": state.name_of(action["by"])["name"],
        "waiting_names": [state.name_of(user_id)["name"] for user_id in action["waitsFor"]],
        "due": keys.moment(action["dueAt"]) if action["dueAt"] else None,
        "moment": keys.moment(action["at"]) if action["at"] else None,
        "buttons": [
            _button(kind.find(name), people, action)
            for name, people in action["moves"].items()
            if kind.find(name)
        ],
    }


def _button(move: Any, people: list[str], action: dict[str, Any]) -> dict[str, Any]:
    return {
        "move": move.name,
        "label": move.label,
        "tone": move.tone,
        "people": people,
        "asks_first": bool(move.needs or move.asks),
        "key": f"{move.name}-{action['version']}",
    }
