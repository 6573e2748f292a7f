"""Final deliverables: a list that is never changed. The files themselves stay where they are."""

import re
from typing import Any
from urllib.parse import urlsplit

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.models import User
from contracts.actions.revisions import record_leg_change
from contracts.models import DeliverableManifest, Leg
from contracts.status import DELIVER, SHOW_PROOFS, check_any_status, check_status
from core.outbox.models import OutboxEntry
from core.refusals import Refusal

MAX_ENTRIES = 2000
MAX_LISTING_BYTES = 512 * 1024
# With its folders.
MAX_NAME_CHARS = 1024
MAX_LINK_CHARS = 2048
MAX_TITLE_CHARS = 120
MAX_MANIFESTS_PER_BOOKING = 50
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
    _check_count(leg)
    title = _check_title(title)
    entries = read_listing(listing)
    manifest = DeliverableManifest.objects.create(
        made_by=user,
        key=key,
        leg=leg,
        title=title,
        entries=entries,
        made_at=timezone.now().replace(microsecond=0),
    )
    files = "1 file" if len(entries) == 1 else f"{len(entries)} files"
    says = f"{user.display_name} delivered {files}: {manifest.title}."
    return manifest, record_leg_change(leg, by=user, key=f"{manifest.id}:delivered", says=says)


def check_can_show_proofs(seller: User, thread_id: str) -> None:
    """In the transaction that adds a proof to the files tab, or removes one from it."""
    here = Q(thread_id=thread_id) | Q(group__thread_id=thread_id)
    legs = Leg.objects.select_for_update(of=("self",)).filter(here, seller=seller)
    check_any_status(list(legs.order_by("pk")), SHOW_PROOFS)


def _check_count(leg: Leg) -> None:
    if leg.manifests.count() >= MAX_MANIFESTS_PER_BOOKING:
        raise Refusal(
            "ACTION_INVALID_STATE",
            f"This booking already has {MAX_MANIFESTS_PER_BOOKING} deliveries.",
            hint="What was delivered stays listed. Nothing was added.",
        )


def _check_title(title: str) -> str:
    title = title.strip() or "Finals"
    if len(title) > MAX_TITLE_CHARS:
        raise Refusal(
            "OFFER_INVALID",
            f"The title has more than {MAX_TITLE_CHARS} characters.",
            hint="Shorten it. Nothing was delivered yet.",
        )
    return title


def read_listing(listing: str) -> list[dict[str, Any]]:
    if len(listing.encode()) > MAX_LISTING_BYTES:
        raise Refusal(
            "OFFER_INVALID",
            f"This list is too long: at most {MAX_LISTING_BYTES // 1024} KB.",
            hint="Deliver the files in several lists. Nothing was delivered yet.",
        )
    lines = [line.strip() for line in listing.splitlines() if line.strip()]
    if not 1 <= len(lines) <= MAX_ENTRIES:
        raise Refusal("OFFER_INVALID", f"List 1 to {MAX_ENTRIES:,} files, one on a line.")
    entries = [_entry(number, line) for number, line in enumerate(lines, start=1)]
    if len({entry["name"] for entry in entries}) < len(entries):
        raise Refusal("OFFER_INVALID", "Two files have the same name.")
    return entries


def _entry(number: int, line: str) -> dict[str, Any]:
    found = ENTRY.fullmatch(line)
    if found is None or not _is_link(found["link"]):
        raise Refusal(
            "OFFER_INVALID", f"Line {number} is not checksum, size, link and name, in this order."
        )
    if len(found["link"]) > MAX_LINK_CHARS or len(found["name"]) > MAX_NAME_CHARS:
        raise Refusal(
            "OFFER_INVALID",
            f"The link or the name on line {number} is too long.",
            hint=f"Links have at most {MAX_LINK_CHARS:,} characters, names {MAX_NAME_CHARS:,}.",
        )
    return {
        "name": found["name"],
        "size": int(found["size"]),
        "sha256": found["sha256"].lower(),
        "link": found["link"],
    }


def _is_link(text: str) -> bool:
    try:
        link = urlsplit(text)
    except ValueError:
        return False
    return link.scheme in ("http", "https") and bool(link.hostname)
