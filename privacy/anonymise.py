"""Removes the names of a deleted account from system messages, cards and the outbox.

A system message lists the users it names by id (`named`), independent of their names at the time.
Messages of earlier versions do not: they are found by the user ids in their client id and by all
recorded names of the user.
"""

import re
from collections.abc import Iterable

from django.db.models import Q

from accounts.anonymise import NAME
from accounts.models import User
from contracts.models import Receipt
from contracts.models.cards import CardStep
from core.outbox.models import OutboxEntry
from projects.cards.outbox import handle_card
from threads.actions.revisions import revise_message
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.table import Item, query_all
from threads.dynamodb.transactions import update
from threads.models import Message, SentMarker
from threads.models.message import SYSTEM
from threads.rendering.markdown import escape_markdown
from threads.sending import content_hash

# Prefixes of client ids of system messages about participants; user ids follow.
ROSTER_KEYS = ("add:", "remove:", "leave:", "join:")


def list_names(user: User, kept: Iterable[str]) -> list[str]:
    """Every recorded name: those stored with the account and those on receipts, longest first."""
    receipts = Receipt.objects.filter(Q(leg__seller=user) | Q(leg__buyer=user))
    found = set(kept)
    for receipt in receipts.select_related("leg"):
        is_seller = receipt.leg.seller_id == user.id
        found.add(receipt.seller_name if is_seller else receipt.buyer_name)
    # Longest first, since one name may begin with another.
    return sorted(found - {"", NAME}, key=len, reverse=True)


def anonymise_messages(thread_id: str, user_id: str, names: list[str]) -> None:
    messages = query_all(keys.thread_pk(thread_id), Item.sk.startswith(keys.MESSAGES))
    for message in messages:
        if not isinstance(message, Message) or message.type != SYSTEM:
            continue
        if _anonymised(message, user_id, names):
            revise_message(
                None,
                thread_id,
                message.id,
                lambda found: _anonymised(found, user_id, names),
                "message.edited",
            )


def _anonymised(message: Message, user_id: str, names: list[str]) -> Change | None:
    named, key = message.named or {}, message.client_id or ""
    is_object = key.startswith((f"add:{user_id}", f"remove:{user_id}"))
    if user_id in named:
        body = replace_name(message.body or "", named[user_id], is_object=is_object)
        rest = {one: name for one, name in named.items() if one != user_id}
        return Change(set={"body": body, "named": rest})
    if message.named is not None or (key.startswith(ROSTER_KEYS) and user_id not in key):
        return None
    body = message.body or ""
    for name in names:
        body = replace_name(body, name, is_object=is_object)
    return Change(set={"body": body}) if body != (message.body or "") else None


def replace_name(text: str, name: str, *, is_object: bool = False) -> str:
    """Replaces a name only where the service writes it: the actor at the beginning, or with
    `is_object` the added or removed user at the end. Elsewhere it is text that a user typed."""
    for spelling in {name, escape_markdown(name)}:
        if is_object:
            text = re.sub(
                rf"( added | removed | invited ){re.escape(spelling)}\.$", rf"\1{NAME}.", text
            )
        else:
            text = re.sub(rf"^{re.escape(spelling)}(?= )", NAME, text)
    return text


def anonymise_cards(user: User) -> None:
    """Cards show the text of their last step, so they are rebuilt from the records."""
    steps = CardStep.objects.filter(by=user).exclude(card__message_id="")
    for card_id in sorted(set(steps.values_list("card_id", flat=True))):
        handle_card(card_id, version=0, key="", text="")


def anonymise_outbox(user: User, names: list[str]) -> None:
    """Removes the name from pending entries, and from the stored payload of processed ones."""
    for entry in OutboxEntry.objects.filter(kind="booking", payload__by=user.id):
        says = entry.payload.get("says", "")
        for name in (*(entry.payload.get("named") or {}).values(), *names):
            says = replace_name(says, name)
        payload = {**entry.payload, "says": says, "named": {}}
        if payload == entry.payload:
            continue
        if entry.done_at is None:
            _update_marker_hash(entry, says)
        OutboxEntry.objects.filter(pk=entry.pk).update(payload=payload)


def _update_marker_hash(entry: OutboxEntry, says: str) -> None:
    """If the message is already stored, a retry must recognise it by its hash."""
    sk = keys.sent_marker_sk(SYSTEM, entry.payload["key"])
    marker = SentMarker(keys.thread_pk(entry.payload["thread"]), sk)
    update(marker, Change(set={"hash": content_hash(says, None)}), SentMarker.pk.exists())
