"""Final deliverables: a list that is never changed. The files themselves stay where they are."""

import re
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.utils import timezone

from accounts.models import OutboxEntry, User
from accounts.refusals import Refusal
from contracts.actions.dossiers import touch_all
from contracts.models import DeliverableManifest, Leg

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
    entries = read_listing(listing)
    manifest, is_new = DeliverableManifest.objects.get_or_create(
        made_by=user,
        key=key,
        defaults={
            "leg": leg,
            "title": title.strip() or "Finals",
            "entries": entries,
            "made_at": timezone.now().replace(microsecond=0),
        },
    )
    if not is_new:
        return manifest, []
    files = "1 file" if len(entries) == 1 else f"{len(entries)} files"
    says = f"{user.display_name} delivered {files}: {manifest.title}."
    return manifest, touch_all(leg, by=user, key=f"{manifest.id}:delivered", says=says)


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
