"""The pending actions of a thread: cards and offers to answer, contracts to sign, payments due.

Each message about a record stores the current list (threads/sending/pending_actions.py). Commands
compare it with the SQL records and rebuild it.
"""

from collections import Counter
from collections.abc import Iterator

from contracts.instalments import list_accounts
from contracts.models import Card, Dossier, Leg, Offer
from contracts.models.bookings import PENDING
from contracts.next_step import find_payment_step, get_rank
from contracts.queries import list_unsigned
from threads import cache
from threads.cache import CachedThread
from threads.dynamodb import keys
from threads.dynamodb.change import Change
from threads.dynamodb.retry import Backoff
from threads.dynamodb.table import Item, query_all
from threads.dynamodb.transactions import Transaction, TransactionCancelled
from threads.events import publish_inbox_rows
from threads.models import Participant, PendingAction, SentMarker, Thread
from threads.sending.pending_actions import (
    THIS_MESSAGE,
    PendingEntry,
    add_step,
    list_awaited_users,
    list_own_pending,
    update_own_items,
)
from threads.sending.transaction import participant_condition

# Per user and thread. Further ones are listed once some of these are done.
MAX_PENDING_ACTIONS = 20
# Items repaired in one transaction, which allows a hundred writes.
MAX_REPAIRS = 40


def list_pending_actions(cached: CachedThread, *, this: str = "") -> list[PendingEntry]:
    """The most urgent first, then the oldest, so that a user's first one is their next step;
    `this` is the card whose message is being written."""
    thread_id = cached.thread.id
    found = [*_cards(thread_id, this), *_offers(thread_id), *_contracts(thread_id)]
    found += _payments(thread_id)
    found.sort(key=lambda wait: (get_rank(wait["type"]), wait["since"]))
    counts: Counter[str] = Counter()
    waits = []
    for wait in found:
        counts[wait["user"]] += 1
        if wait["user"] in cached.people and counts[wait["user"]] <= MAX_PENDING_ACTIONS:
            waits.append(wait)
    return waits


def _cards(thread_id: str, this: str) -> Iterator[PendingEntry]:
    for card in Card.objects.filter(thread_id=thread_id, is_open=True).order_by("id"):
        what = THIS_MESSAGE if card.id == this else card.message_id or _find_message(card)
        if what is None:
            # The message of the card is not stored yet and will add its own entry.
            continue
        since = keys.iso(card.created_at)
        for user_id in card.waits_for:
            yield {"user": user_id, "what": what, "type": card.type, "since": since}


def _find_message(card: Card) -> str | None:
    """Finds the message of a card whose record does not have the message id yet."""
    sk = keys.sent_marker_sk(card.proposed_by_id, card.id)
    marker = SentMarker.find(keys.thread_pk(card.thread_id), sk)
    return marker.message_id if marker else None


def _offers(thread_id: str) -> Iterator[PendingEntry]:
    """Offers from before offers had cards, until the outbox has added their cards."""
    pending = Offer.objects.filter(thread_id=thread_id, status=PENDING, card__isnull=True)
    for offer in pending.order_by("id"):
        since = keys.iso(offer.created_at)
        yield {"user": offer.answers, "what": offer.id, "type": "offer", "since": since}


def _contracts(thread_id: str) -> Iterator[PendingEntry]:
    """One entry per contract and signer, for the current version."""
    for version, missing in list_unsigned(thread_id):
        since = keys.iso(version.issued_at)
        for user_id in missing:
            what = version.document_id
            yield {"user": user_id, "what": what, "type": "contract", "since": since}


def _payments(thread_id: str) -> Iterator[PendingEntry]:
    """What was due at the last change of the records, like the tabs: when another payment becomes
    due, the reminder is such a change."""
    dossier = Dossier.objects.filter(pk=thread_id).first()
    legs = list(Leg.objects.filter(thread_id=thread_id).order_by("id")) if dossier else []
    for account in list_accounts(legs, at=dossier.changed_at if dossier else None):
        leg = account.leg
        step, since = find_payment_step(leg, account), keys.iso(leg.created_at)
        if step is None:
            continue
        for user_id in step.user_ids:
            yield {"user": user_id, "what": leg.id, "type": step.kind, "since": since}


# --- Compare and rebuild


def list_pending_action_problems(cached: CachedThread) -> Iterator[str]:
    """Lists the differences between the stored pending actions and the SQL records."""
    thread, wanted = cached.thread, list_pending_actions(cached)
    if list(thread.waits or []) != wanted:
        yield f"its pending actions are {thread.waits}"
    for person in cached.people.values():
        should = {each["what"] for each in list_own_pending(wanted, person.user_id, person.folder)}
        has = {each["what"] for each in _items(person.user_id, thread.id)}
        if has != should:
            yield f"{person.user_id} has the pending actions {sorted(has)}, not {sorted(should)}"
        if person.waits_on != _waits_on(thread, wanted, person):
            yield f"the inbox row of {person.user_id} waits for {person.waits_on}"


def waiting_for(
    thread: Thread, waits: list[PendingEntry], person: Participant | None = None
) -> str | None:
    """Without pending actions it depends on the last message, which SQL does not store."""
    users = list_awaited_users(waits)
    if not users:
        return "" if thread.waits else thread.waiting_for
    return person.user_id if person and person.user_id in users else users[0]


def _waits_on(thread: Thread, wanted: list[PendingEntry], person: Participant) -> str | None:
    awaited = waiting_for(thread, wanted, person)
    return add_step(thread, wanted, person.user_id, awaited) if awaited else awaited


def rebuild_pending_actions(thread_id: str) -> bool:
    """Returns whether something had to be repaired."""
    backoff, is_changed = Backoff(), False
    while True:
        cached = cache.reload(thread_id)
        wanted = list_pending_actions(cached)
        if not list(list_pending_action_problems(cached)):
            break
        try:
            _write(cached, wanted).commit()
            is_changed = True
        except TransactionCancelled:
            backoff.wait()
        cache.invalidate(thread_id)
    if is_changed:
        publish_inbox_rows(cached)
    return is_changed


def _write(cached: CachedThread, wanted: list[PendingEntry]) -> Transaction:
    """Repairs up to MAX_REPAIRS items; the next round repairs the rest."""
    thread, write = cached.thread, Transaction()
    for person in cached.people.values():
        should = list_own_pending(wanted, person.user_id, person.folder)
        update_own_items(write, thread.id, _items(person.user_id, thread.id), should)
    del write.items[MAX_REPAIRS:], write.names[MAX_REPAIRS:]
    for person in cached.people.values():
        change = Change(set={"waits_on": _waits_on(thread, wanted, person) or ""})
        condition = participant_condition(cached, person, sends=False)
        write.update(person.sk, person, change, condition)
    # The new version makes every process that cached the thread reload it before a write.
    about = {"waits": wanted, "waiting_for": waiting_for(thread, wanted) or ""}
    change = Change(set=about, add={"roster_version": 1})
    as_read = (Thread.roster_version == thread.roster_version) & (
        Thread.last_seq == thread.last_seq
    )
    write.update("thread", thread, change, as_read)
    return write


def _items(user_id: str, thread_id: str) -> list[PendingEntry]:
    found = query_all(
        keys.user_pk(user_id), Item.sk.startswith(keys.pending_action_sk(thread_id, ""))
    )
    return [
        {"user": user_id, "what": each.what, "type": each.type, "since": each.created_at}
        for each in found
        if isinstance(each, PendingAction)
    ]
