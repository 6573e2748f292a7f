"""Takes the names of a deleted account out of everything the service has said about them.

A system message names people by id (`named`), so that each is found whatever they were called
then. Messages of earlier versions have no ids: they are found by the ids in their client id and by
the names that are known of the person.
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

# Client ids of system messages about who is in a thread; the ids of those they name follow.
ROSTER_KEYS = ("add:", "remove:", "leave:", "join:")


def list_names(user: User, kept: Iterable[str]) -> list[str]:
    """Every name that is known of them: those kept with the account, and those on receipts."""
    receipts = Receipt.objects.filter(Q(leg__seller=user) | Q(leg__buyer=user))
    found = set(kept)
    for receipt in receipts.select_related("leg"):
        is_seller = receipt.leg.seller_id == user.id
        found.add(receipt.seller_name if is_seller else receipt.buyer_name)
    # Longer ones first: one may begin with another.
    return sorted(found - {"", NAME}, key=len, reverse=True)


def anonymise_messages(thread_id: str, user_id: str, names: list[str]) -> None:
    messages = query_all(keys.thread_pk(thread_id), Item.sk.startswith(keys.MESSAGES))
    for line in messages:
        if not isinstance(line, Message) or line.type != SYSTEM:
            continue
        if _anonymised(line, user_id, names):
            revise_message(
                None,
                thread_id,
                line.id,
                lambda found: _anonymised(found, user_id, names),
                "message.edited",
            )


def _anonymised(line: Message, user_id: str, names: list[str]) -> Change | None:
    named, key = line.named or {}, line.client_id or ""
    is_object = key.startswith((f"add:{user_id}", f"remove:{user_id}"))
    if user_id in named:
        body = replace_name(line.body or "", named[user_id], is_object=is_object)
        rest = {one: name for one, name in named.items() if one != user_id}
        return Change(set={"body": body, "named": rest})
    if line.named is not None or (key.startswith(ROSTER_KEYS) and user_id not in key):
        return None
    body = line.body or ""
    for name in names:
        body = replace_name(body, name, is_object=is_object)
    return Change(set={"body": body}) if body != (line.body or "") else None


def replace_name(text: str, name: str, *, is_object: bool = False) -> str:
    """Whoever did something is named first, whoever was added or removed last. Anywhere else a name
    is a word that somebody typed."""
    for known in {name, escape_markdown(name)}:
        if is_object:
            text = re.sub(
                rf"( added | removed | invited ){re.escape(known)}\.$", rf"\1{NAME}.", text
            )
        else:
            text = re.sub(rf"^{re.escape(known)}(?= )", NAME, text)
    return text


def anonymise_cards(user: User) -> None:
    """Cards show what was said at their last step; they are made again from the records."""
    steps = CardStep.objects.filter(by=user).exclude(card__message_id="")
    for card_id in sorted(set(steps.values_list("card_id", flat=True))):
        handle_card(card_id, version=0, key="", says="")


def anonymise_outbox(user: User, names: list[str]) -> None:
    """What still waits is said without the name, and what is done does not keep it."""
    for entry in OutboxEntry.objects.filter(kind="booking", payload__by=user.id):
        says = entry.payload.get("says", "")
        for name in (*(entry.payload.get("named") or {}).values(), *names):
            says = replace_name(says, name)
        payload = {**entry.payload, "says": says, "named": {}}
        if payload == entry.payload:
            continue
        if entry.done_at is None:
            _reseal(entry, says)
        OutboxEntry.objects.filter(pk=entry.pk).update(payload=payload)


def _reseal(entry: OutboxEntry, says: str) -> None:
    """If its line is stored already, a repeat has to find it as the same."""
    sk = keys.sent_marker_sk(SYSTEM, entry.payload["key"])
    marker = SentMarker(keys.thread_pk(entry.payload["thread"]), sk)
    update(marker, Change(set={"hash": content_hash(says, None)}), SentMarker.pk.exists())
