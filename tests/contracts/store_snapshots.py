"""Snapshots of what both stores hold of a booking.

`exact_snapshot` proves that nothing changed. `snapshot` omits ids and times, so that the same
operations give the same snapshot with and without an interruption.
"""

from typing import Any

from django.apps import apps

from accounts.models import User
from contracts.models import Card, Dossier, Leg
from contracts.models.cards import ClockStop
from core.outbox.models import OutboxEntry
from files.models import FileUse, TabUse
from moderation.models import AuditEntry, Case, Report
from tests.threads.checker import read_partition
from tests.threads.conftest import messages_of, row, thread_item
from threads import cache
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query_all
from threads.models import CardShadow, PendingAction


def exact_snapshot(leg: Leg) -> dict[str, Any]:
    """Returns every SQL record, all items of the thread and all items of both parties."""
    models = [*apps.get_app_config("contracts").get_models(), OutboxEntry, FileUse, TabUse]
    rows = {
        model.__name__: list(model.objects.order_by("pk").values())
        for model in [*models, Case, Report, AuditEntry]
    }
    items = [*read_partition(leg.thread_id)]
    for user_id in leg.parties:
        items += query_all(keys.user_pk(user_id))
    return rows | {"items": {(item.pk, item.sk): item.attribute_values for item in items}}


def snapshot(leg: Leg) -> dict[str, Any]:
    leg = Leg.objects.select_related("buyer", "seller").get(pk=leg.pk)
    return sql_snapshot(leg) | thread_snapshot(leg)


def sql_snapshot(leg: Leg) -> dict[str, Any]:
    cards = list(leg.cards.order_by("created_at", "id"))
    uses = FileUse.objects.filter(client_id__in=[card.id for card in cards])
    return {
        "leg": (leg.status, leg.starts_at, leg.ends_at, leg.place, leg.price_cents),
        "cards": [_card(card, leg) for card in cards],
        "steps": [_step(step, leg) for card in cards for step in card.steps.all()],
        "amendments": list(leg.amendments.order_by("id").values_list("kind", "amount_cents")),
        "ledger": list(leg.ledger.order_by("id").values_list("kind", "amount_cents", "note")),
        "receipts": list(leg.receipts.order_by("number").values_list("number", "amount_cents")),
        "contract": [
            (each.number, each.status, each.signatures.count())
            for each in leg.contract.versions.order_by("number")
        ],
        "revision": Dossier.objects.get(pk=leg.thread_id).revision,
        "stops": sorted(ClockStop.objects.filter(thread_id=leg.thread_id).values_list("why")),
        "cases": [
            (case.about, case.status, case.reports.count())
            for case in Case.objects.filter(thread_id=leg.thread_id)
        ],
        "files": [bool(use.message_id) for use in uses],
    }


def _card(card: Card, leg: Leg) -> dict[str, Any]:
    return {
        "type": card.type,
        "state": (card.state, card.version, card.is_open),
        "waits": [_role(user_id, leg) for user_id in card.waits_for],
        "clock": (card.due_at is not None, card.stopped_at is not None),
        "answers": card.counters.type if card.counters else "",
        "is_shown": bool(card.message_id),
    }


def _step(step: Any, leg: Leg) -> tuple:
    states = (step.from_state, step.to_state)
    return step.version, step.move, _role(step.by_id, leg), *states, step.why, step.says


def thread_snapshot(leg: Leg) -> dict[str, Any]:
    messages = messages_of(leg.thread_id)
    found = (CardShadow.find(messages[0].pk, keys.card_sk(each.id)) for each in messages)
    tabs = cache.reload(leg.thread_id).tabs
    # Messages that follow from one operation have no fixed order.
    listed = sorted((one.type, _role(one.author_id, leg), one.body or "") for one in messages)
    return {
        "messages": listed,
        "shadows": [(each.state, each.version, len(each.history)) for each in found if each],
        "is_held": bool(thread_item(leg.thread_id).soft_block),
        "waiting": {_role(user.id, leg): _waiting(user, leg) for user in (leg.buyer, leg.seller)},
        "tabs": {name: tab.records_revision for name, tab in sorted(tabs.items())},
    }


def _waiting(user: User, leg: Leg) -> tuple:
    where = Item.sk.startswith(keys.pending_action_sk(leg.thread_id, ""))
    items = query_all(keys.user_pk(user.id), where)
    types = sorted(item.type for item in items if isinstance(item, PendingAction))
    return types, _role(row(leg.thread_id, user).waiting_for, leg)


def _role(user_id: str | None, leg: Leg) -> str:
    roles = {leg.buyer_id: "buyer", leg.seller_id: "seller", None: "nobody", "": "nobody"}
    return roles.get(user_id, "another user")
