"""Demo bookings, created with the same actions as real ones."""

import contextlib
import io
import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from accounts.models import User
from contracts.actions.billing import save_billing_details
from contracts.models import Card, Dossier, Leg, Offer
from contracts.models.money import PAYMENT
from contracts.plans import Instalment, Plan, make_plan
from contracts.terms import Terms
from core.refusals import Refusal
from demo import content
from demo.cards import propose_demo_card
from demo.content.pictures import draw
from files.actions import accept_file
from projects.actions.bookings import (
    accept_offer,
    counter_offer,
    make_offer,
    record_payment,
    sign_contract,
)
from projects.actions.panel import edit_tab
from projects.actions.pins import pin_id_for
from threads import cache

Story = dict[str, Any]
People = dict[str, User]
Threads = dict[str, tuple[str, User, User]]


def add_bookings(threads: Threads, people: People, now: datetime) -> int:
    """Returns how many were added. Leaves existing bookings and finishes interrupted ones.

    `threads` maps the key of a story to the thread id, buyer and seller.
    """
    stories = json.loads((content.FOLDER / "bookings.json").read_text(encoding="utf-8"))
    added = 0
    for story in stories:
        if story["story"] not in threads:
            continue
        thread_id, buyer, seller = threads[story["story"]]
        added += not Dossier.objects.filter(pk=thread_id).exists()
        # Users of the demo may have blocked each other or declined since.
        with contextlib.suppress(Refusal):
            _book(story, thread_id, buyer, seller, people, now)
    return added


def _book(
    story: Story, thread_id: str, buyer: User, seller: User, people: People, now: datetime
) -> None:
    offer = make_offer(
        seller,
        thread_id=thread_id,
        key=f"demo-{story['story']}",
        title=story["title"],
        currency="EUR",
        terms=[_terms(story, seller, now)],
    )
    for number, change in enumerate(story.get("counters", ())):
        by = buyer if change["by"] == "buyer" else seller
        offer = _counter(offer, by, key=f"demo-{story['story']}-{number}", **change["terms"])
    if story.get("is_open") or offer.status not in ("pending", "accepted"):
        return
    accept_offer(buyer, offer_id=offer.id)
    leg = Leg.objects.get(offer=offer)
    _sign(story, leg, people)
    for key, details in story.get("billing", {}).items():
        save_billing_details(people[key], **details)
    _pay(story, leg, seller)
    _fill_in_tabs(story, thread_id, buyer, seller)
    for number, card in enumerate(story.get("cards", ())):
        propose_demo_card(card, leg, people, key=f"demo-{story['story']}-{number}")


def _counter(offer: Offer, by: User, *, key: str, **changes: Any) -> Offer:
    card = Card.objects.get(offer=offer)
    return counter_offer(
        by,
        card_id=card.id,
        version=1,
        key=key,
        title=offer.title,
        currency=offer.currency,
        terms=[replace(Terms.from_json(offer.terms[0]), **changes)],
    )


def _terms(story: Story, seller: User, now: datetime) -> Terms:
    start = now.replace(hour=9, minute=0, second=0, microsecond=0)
    start += timedelta(days=story["in_days"])
    return Terms(
        service=story["service"],
        starts_at=start,
        ends_at=start + timedelta(hours=story["hours"]),
        time_zone=seller.time_zone,
        place=story["place"],
        price_cents=story["price_cents"],
        deposit_cents=story["deposit_cents"],
        cancellation=story["cancellation"],
        plan=_plan(story, now),
    )


def _plan(story: Story, now: datetime) -> Plan | None:
    """Days of a plan are relative, like those of the booking."""
    if "plan" not in story:
        return None
    return make_plan(
        [Instalment(part["cents"], part.get("due") or _day(part, now)) for part in story["plan"]]
    )


def _day(part: dict[str, int], now: datetime) -> str:
    return (now + timedelta(days=part["in_days"])).date().isoformat()


def _sign(story: Story, leg: Leg, people: People) -> None:
    if leg.contract.versions.count() > 1:
        return
    for key in story["signed_by"]:
        sign_contract(
            people[key],
            document_id=leg.contract.id,
            number=1,
            legal_name=people[key].display_name,
            has_read=True,
            address=None,
            user_agent="Demo",
        )


def _pay(story: Story, leg: Leg, seller: User) -> None:
    outstanding = leg.price_cents
    for what in story["paid"]:
        cents = leg.deposit_cents if what == "deposit" else outstanding
        record_payment(
            seller,
            leg_id=leg.id,
            key=f"demo-{what}-{leg.id}",
            kind=PAYMENT,
            cents=cents,
            paid_on=(leg.created_at - timedelta(days=1)).date(),
            method="bank_transfer",
            outstanding=outstanding,
        )
        outstanding -= cents


def _fill_in_tabs(story: Story, thread_id: str, buyer: User, seller: User) -> None:
    """Fills in the tabs that are still empty."""

    def edit(user: User, tab: str, op: str, **fields: Any) -> None:
        version = cache.get(thread_id).tabs[tab].version
        edit_tab(user, thread_id=thread_id, tab=tab, op=op, version=version, **fields)

    tabs = cache.reload(thread_id).tabs
    if not tabs["brief"].version:
        for part, text in story["brief"].items():
            edit(buyer, "brief", "edit", part=part, text=text)
    if not tabs["shotlist"].version:
        for number, name in enumerate(story["shots"]):
            edit(seller, "shotlist", "add", part=f"demo{number}", text=name)
        for number in range(story["done"]):
            edit(seller, "shotlist", "tick", part=f"demo{number}", text="done")
    if not tabs["moodboard"].version:
        for name, caption in story["pins"]:
            file = accept_file(
                buyer, thread_id=thread_id, name=f"{name}.jpg", content=io.BytesIO(draw(name))
            )
            edit(buyer, "moodboard", "add", picture=file.id)
            part = pin_id_for(file.id)
            edit(buyer, "moodboard", "edit", part=part, name="caption", text=caption)
