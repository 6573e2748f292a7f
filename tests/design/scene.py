"""A user with a conversation: long names, long words, right-to-left text.

Runs inside the service's own process (see conftest.py) and prints what the browser needs.
"""

import json
from datetime import timedelta
from importlib import import_module
from uuid import uuid4

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY

from accounts.models import User
from availability.actions import add_block, add_feed, create_link
from availability.models import BusyTime, CalendarFeed
from contracts.models import Card
from inbox.search.reconcile import rebuild_index
from people.actions import change_services
from people.crafts import CRAFTS
from people.languages import COMMON
from projects.actions.bookings import deliver_finals
from projects.actions.panel import edit_tab
from tests.contracts.card_helpers import GIVEN, answer, propose
from tests.contracts.conftest import IN_MAY, book, offer_in, pay, sign, terms
from tests.files.conftest import bring
from threads.actions.messages import send_message
from threads.actions.start import start_thread
from threads.dynamodb import keys
from threads.models import Pair

IN_JUNE = IN_MAY + timedelta(days=31)
LONG_NAME = "Maximiliane-Konstanze von Hohenlohe-Langenburg"
LONG_SUBJECT = "A subject that does not end where one would like it to"
LONG_WORD = "Donaudampfschifffahrtsgesellschaft" * 5
BODIES = ["**Two** questions:\n\n1. Which surface?\n2. Who is on set?", LONG_WORD, "سأحضر غدًا"]


def make() -> None:
    mara, max_ = _make_user("Mara Klein"), _make_user(LONG_NAME)
    _offer_services(max_)
    pair = Pair(keys.pair_pk(mara.id, max_.id), keys.STATE)
    pair.update([Pair.accepted.set(True)])
    thread = start_thread(
        mara, seller=max_, client_id=str(uuid4()), subject=LONG_SUBJECT, body="Are you free?"
    )
    for body in BODIES * 4:
        for author in (max_, mara):
            send_message(author, thread_id=thread, client_id=str(uuid4()), body=body, seen_seq=0)
    _fill_calendar(mara)
    rebuild_index()
    ids = {"me": mara.handle, "other": max_.handle, "thread": thread}
    print(json.dumps(ids | _make_project(mara, max_) | {"cookie": _make_session(mara)}))


def _offer_services(user: User) -> None:
    User.objects.filter(pk=user.pk).update(headline=LONG_WORD[:120], city=LONG_WORD[:80])
    user.refresh_from_db()
    change_services(
        user,
        offers_services=True,
        crafts=list(CRAFTS)[:5],
        languages=list(COMMON)[:8],
        price_cents=9_999_999_99,
        currency="CHF",
        unit="project",
    )


def _fill_calendar(mara: User) -> None:
    """Blocks and busy times on the day of a booking, and an imported calendar that failed."""
    start = IN_MAY.replace(hour=0)
    for days in (1, 3):
        times = {"starts_at": start, "ends_at": start + timedelta(days=days, hours=days)}
        add_block(mara, key=str(uuid4()), is_all_day=False, note=LONG_WORD[:120], **times)
    feed = add_feed(mara, name=LONG_WORD[:60], url="https://calendars.example/a.ics")
    CalendarFeed.objects.update(attempted_at=IN_MAY, error="missing", due_at=IN_JUNE)
    BusyTime.objects.create(
        user=mara, feed=feed, starts_at=start, ends_at=start + timedelta(hours=5)
    )
    create_link(mara)


def _make_project(mara: User, max_: User) -> dict[str, str]:
    """A project with content in every tab, and a pending offer of a change."""
    thread = start_thread(
        mara, seller=max_, client_id=str(uuid4()), subject=LONG_SUBJECT, body="Shall we?"
    )
    leg = book(thread, mara, max_, terms(service=LONG_SUBJECT, place=LONG_WORD))
    sign(max_, leg)
    receipt = pay(leg, leg.deposit_cents)
    manifest = deliver_finals(
        max_,
        leg_id=leg.id,
        key="1",
        title=LONG_SUBJECT,
        listing=f"{'a' * 64} 1 https://x.example/ {LONG_WORD}",
    )
    for tab, text in (("shotlist", LONG_WORD), ("moodboard", "https://x.example/")):
        edit_tab(mara, thread_id=thread, tab=tab, op="add", version=0, text=text)
    edit_tab(
        mara, thread_id=thread, tab="brief", op="edit", version=0, part="goals", text=LONG_WORD
    )
    offer_in(thread, max_, terms(place="Elsewhere"), changes=leg.id)
    answer(mara, propose("extras", leg), "accept")
    card = propose("extras", leg)
    propose("reschedule", leg, mara)
    pictures = [bring(max_, thread, name=f"{LONG_WORD}.jpg").id for _ in range(4)]
    shown = propose("proofs", leg, file_ids=pictures)
    notes = [{"id": pictures[0], "note": LONG_WORD}]
    answer(mara, shown, "request_changes", given={"note": LONG_WORD, "notes": notes})
    shown.refresh_from_db()
    answer(max_, shown, "answer", given=GIVEN["proofs"](leg), file_ids=pictures[1:])
    proofs = Card.objects.get(counters=shown)
    other = start_thread(
        mara, seller=max_, client_id=str(uuid4()), subject=LONG_SUBJECT, body="And another one?"
    )
    june = terms(service=LONG_SUBJECT, starts_at=IN_JUNE, ends_at=IN_JUNE + timedelta(hours=6))
    dispute = propose("dispute", book(other, mara, max_, june))
    return {
        "project": thread,
        "card": card.id,
        "dispute": dispute.id,
        "proofs": proofs.id,
        "asked": shown.id,
        "contract": leg.contract.id,
        "receipt": receipt.id,
        "manifest": manifest.id,
        **_make_sale(mara, max_),
    }


def _make_sale(mara: User, max_: User) -> dict[str, str]:
    """A booking of which the user is the seller, for the pages that only sellers have."""
    thread = start_thread(
        max_, seller=mara, client_id=str(uuid4()), subject=LONG_SUBJECT, body="Shall we?"
    )
    leg = book(thread, max_, mara, terms(service=LONG_SUBJECT, place=LONG_WORD))
    receipt = pay(leg, leg.deposit_cents)
    return {"sale": leg.id, "sale_receipt": receipt.id, "sale_thread": thread}


def _make_user(name: str) -> User:
    tag = f"p-{uuid4().hex[:10]}"
    return User.objects.create_user(
        f"{tag}@parley.example", "a long password", handle=tag, display_name=name
    )


def _make_session(user: User) -> str:
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = user.pk
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[-1]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)
