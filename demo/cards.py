"""Cards of the demo: some to be answered, some that were."""

from datetime import timedelta
from typing import Any

from accounts.models import User
from contracts.cards.types import TYPES
from contracts.fields import typed
from contracts.models import Leg
from files.models import File
from projects.actions.cards import propose_card, transition_card


def propose_demo_card(card: dict[str, Any], leg: Leg, people: dict[str, User], *, key: str) -> None:
    author = people[card["by"]]
    made = propose_card(
        author,
        thread_id=leg.thread_id,
        type_name=card["type"],
        leg_id=leg.id,
        key=key,
        given=TYPES[card["type"]].defaults(leg) | _times(card, leg) | card["given"],
        file_ids=_own_pictures(author, leg.thread_id) if card.get("shows_own_pictures") else (),
    )
    for who, move in card.get("then", ()):
        transition_card(
            people[who], card_id=made.id, move=move, version=made.version, key=f"{key}-{move}"
        )


def _times(card: dict[str, Any], leg: Leg) -> dict[str, str]:
    if "earlier_by_hours" not in card:
        return {}
    begins = leg.starts_at - timedelta(hours=card["earlier_by_hours"])
    return {"starts_at": typed(begins, leg.time_zone), "ends_at": typed(leg.ends_at, leg.time_zone)}


def _own_pictures(author: User, thread_id: str) -> list[str]:
    shown = File.objects.filter(owner=author, thread_id=thread_id, state=File.State.READY)
    return list(shown.order_by("name").values_list("id", flat=True))
