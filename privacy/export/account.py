"""The export of an account: profile, threads, bookings and documents."""

import re
from typing import Any

from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone

from accounts.models import Block, SignIn, User
from availability.models import BookingsLink, BusyTime, CalendarFeed, TimeBlock
from contracts.models import BillingDetails, Leg, Offer
from core.refusals import Refusal
from people.models import FirstContact, ServiceProfile
from privacy.export.profile import write_profile
from privacy.export.thread import add_documents, write_thread
from privacy.export.zip_file import ExportZip
from threads import queries
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query_all
from threads.models import Draft
from threads.models.participant import request_cutoff

FORMAT = "parley-person-1"


def write_account(export_zip: ExportZip, user: User) -> None:
    export_zip.add_json("person.json", describe_person(user))
    write_profile(export_zip, user)
    conversations = _write_conversations(export_zip, user)
    legs = _list_legs(user)
    export_zip.add_json("bookings.json", _describe_bookings(user, legs))
    export_zip.add_json("calendar.json", _describe_calendar(user))
    add_documents(export_zip, user, legs, "")
    context = {"person": user, "conversations": conversations, "now": timezone.now()}
    export_zip.add_text("index.html", render_to_string("privacy/export/index.html", context))


def _write_conversations(export_zip: ExportZip, user: User) -> list[dict[str, str]]:
    written = []
    for number, row in enumerate(queries.list_all_rows(user.id), 1):
        if row.request_state == "pending" and row.last_message_at < request_cutoff():
            continue
        slug = re.sub(r"[^\w-]+", "-", row.subject)[:40].strip("-")
        folder = f"conversations/{number:04d}-{slug or 'conversation'}/"
        try:
            subject = write_thread(export_zip, user, row.thread_id, folder)
        except Refusal as refusal:
            if refusal.code != "THREAD_NOT_FOUND":
                raise
            continue  # They left it meanwhile.
        written.append({"folder": folder, "subject": subject, "with": row.other_side["name"]})
    return written


def describe_person(user: User) -> dict[str, Any]:
    names = ("id", "email", "handle", "display_name", "avatar", "headline", "about", "city")
    settings = ("time_zone", "verified", "safe_mode", "requires_verified", "requires_date")
    described = {name: getattr(user, name) for name in (*names, *settings, "requires_budget")}
    drafts = [
        {"thread": item.sk.removeprefix(keys.DRAFTS), "text": item.text, "at": item.updated_at}
        for item in query_all(keys.user_pk(user.id), Item.sk.startswith(keys.DRAFTS))
        if isinstance(item, Draft)
    ]
    blocked = Block.objects.filter(blocker=user).select_related("blocked").order_by("pk")
    return {
        "format": FORMAT,
        "exported_at": keys.iso(timezone.now()),
        "profile": described | {"joined_at": keys.iso(user.date_joined)},
        "signed_in": [
            {"device": one.device, "address": one.address, "since": keys.iso(one.created_at)}
            for one in SignIn.objects.filter(user=user).order_by("created_at")
        ],
        "blocked": [
            {"handle": one.blocked.handle, "since": keys.iso(one.created_at)} for one in blocked
        ],
        "drafts": drafts,
        "services": _describe_services(user),
        "billing": _describe_billing(user),
        "first_contacts": [
            {"thread": one.thread_id, "asked_at": keys.iso(one.asked_at)}
            | {"answered_at": keys.iso(one.answered_at) if one.answered_at else None}
            for one in FirstContact.objects.filter(recipient=user).order_by("asked_at")
        ],
    }


def _describe_services(user: User) -> dict[str, Any] | None:
    profile = ServiceProfile.objects.filter(pk=user.pk).first()
    names = ("offers_services", "crafts", "languages", "price_cents", "currency", "unit")
    return {name: getattr(profile, name) for name in names} if profile else None


def _describe_billing(user: User) -> dict[str, Any] | None:
    names = ("name", "address", "vat_id", "tax_rate")
    return BillingDetails.objects.filter(user=user).values(*names).first()


def _list_legs(user: User) -> list[Leg]:
    mine = Leg.objects.filter(Q(buyer=user) | Q(seller=user)).select_related("contract")
    return list(mine.order_by("starts_at", "id"))


def _describe_bookings(user: User, legs: list[Leg]) -> dict[str, Any]:
    offers = Offer.objects.filter(Q(buyer=user) | Q(seller=user)).order_by("created_at")
    return {
        "offers": [
            {"id": one.id, "thread": one.thread_id, "title": one.title, "status": one.status}
            | {"currency": one.currency, "terms": one.terms, "at": keys.iso(one.created_at)}
            | {"valid_until": keys.iso(one.valid_until) if one.valid_until else None}
            for one in offers
        ],
        "bookings": [
            {"id": one.id, "thread": one.thread_id, "service": one.service, "place": one.place}
            | {"starts_at": keys.iso(one.starts_at), "ends_at": keys.iso(one.ends_at)}
            | {"price_cents": one.price_cents, "currency": one.currency, "status": one.status}
            | {"deposit_cents": one.deposit_cents, "plan": one.plan}
            for one in legs
        ],
    }


def _describe_calendar(user: User) -> dict[str, Any]:
    busy = BusyTime.objects.filter(user=user).select_related("feed").order_by("starts_at", "pk")
    return {
        "blocks": [
            {"starts_at": keys.iso(one.starts_at), "ends_at": keys.iso(one.ends_at)}
            | {"note": one.note, "created_at": keys.iso(one.created_at)}
            for one in TimeBlock.objects.filter(user=user).order_by("starts_at", "pk")
        ],
        "imported": [
            {"name": one.name, "url": one.url, "since": keys.iso(one.created_at)}
            for one in CalendarFeed.objects.filter(user=user).order_by("created_at", "pk")
        ],
        "busy": [
            {"calendar": one.feed.name, "starts_at": keys.iso(one.starts_at)}
            | {"ends_at": keys.iso(one.ends_at)}
            for one in busy
        ],
        "link_since": [keys.iso(one.created_at) for one in BookingsLink.objects.filter(user=user)],
    }
