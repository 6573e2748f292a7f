"""Final deliverables: a list that is never changed. The files themselves stay where they are."""

import re
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import OutboxEntry, User
from accounts.refusals import Refusal
from contracts.actions.dossiers import touch_all
from contracts.models import DeliverableManifest, Leg
from contracts.status import DELIVER, SHOW_PROOFS, check_any_status, check_status

MOST_ENTRIES = 2000
# As `manage.py make_manifest` prints them, and close to what sha256sum does.
ENTRY = re.compile(
    r"(?P<sha256>[0-9a-fA-F]{64})\s+(?P<size>\d{1,15})\s+(?P<link>\S+)\s+(?P<name>.+)"
)


@transaction.atomic
def add_manifest(
    user: User, *, leg_id: str, key: str, title: str, listing: str
) -> tuple[DeliverableManifest, list[OutboxEntry]]:
    leg = Leg.objects.select_for_update().filter(pk=leg_id).first()
    if leg is None or user.id not in leg.parties:
        raise Refusal("THREAD_NOT_FOUND", "There is no such booking.")
    if user.id != leg.seller_id:
        raise Refusal("ACTION_FORBIDDEN", "The seller delivers the finals.")
    before = DeliverableManifest.objects.filter(made_by=user, key=key).first()
    if before is not None:
        return before, []
    check_status(leg, DELIVER)
    entries = read_listing(listing)
    manifest = DeliverableManifest.objects.create(
        made_by=user,
        key=key,
        leg=leg,
        title=title.strip() or "Finals",
        entries=entries,
        made_at=timezone.now().replace(microsecond=0),
    )
    files = "1 file" if len(entries) == 1 else f"{len(entries)} files"
    says = f"{user.display_name} delivered {files}: {manifest.title}."
    return manifest, touch_all(leg, by=user, key=f"{manifest.id}:delivered", says=says)


def check_may_show_proofs(seller: User, thread_id: str) -> None:
    """In the transaction that adds a proof to the files tab, or removes one from it."""
    here = Q(thread_id=thread_id) | Q(group__thread_id=thread_id)
    legs = Leg.objects.select_for_update(of=("self",)).filter(here, seller=seller)
    check_any_status(list(legs.order_by("pk")), SHOW_PROOFS)


def read_listing(listing: str) -> list[dict[str, Any]]:
    lines = [line.strip() for line in listing.splitlines() if line.strip()]
    if not 1 <= len(lines) <= MOST_ENTRIES:
        raise Refusal("OFFER_INVALID", f"List 1 to {MOST_ENTRIES:,} files, one on a line.")
    entries = [_entry(number, line) for number, line in enumerate(lines, start=1)]
    if len({entry["name"] for entry in entries}) < len(entries):
        raise Refusal("OFFER_INVALID", "Two files have the same name.")
    return entries


def _entry(number: int, line: str) -> dict[str, Any]:
    found = ENTRY.fullmatch(line)
    link = urlsplit(found["link"]) if found else None
    if found is None or link is None or link.scheme not in ("http", "https") or not link.hostname:
        raise Refusal(
            "OFFER_INVALID", f"Line {number} is not checksum, size, link and name, in this order."
        )
    return {
        "name": found["name"],
        "size": int(found["size"]),
        "sha256": found["sha256"].lower(),
        "link": found["link"],
    }
