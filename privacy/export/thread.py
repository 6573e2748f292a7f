"""One conversation, as one of its people sees it: a page to read, data for a machine, the files."""

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from django.template.loader import render_to_string
from django.utils import timezone

from accounts.models import User
from contracts.documents.receipts import receipt_pdf, receipt_title
from contracts.models import Leg
from files import storage
from files.models import EXPLICIT, FULL, File, TabUse
from privacy.export.zip_file import ExportZip
from projects.actions.panel import has_panel
from projects.panel.large_tabs import read_full_snapshot
from threads import queries
from threads.dynamodb import keys
from threads.dynamodb.table import Item, query
from threads.file_access import exclude_hidden, list_visible_files
from threads.models import Message
from threads.models.message import SYSTEM
from threads.queries import OpenedThread
from threads.rendering.attachments import LINK
from threads.rendering.labels import time_label
from threads.rendering.markdown import to_html

FORMAT = "parley-conversation-1"
AT_ONCE = 200
SAFE_MODE = "not included: safe mode does not show it"
GONE = "not included: it is no longer there"


@dataclass
class ThreadExport:
    """A thread on its way into a parcel, under a folder of its own."""

    user: User
    opened: OpenedThread
    folder: str = ""
    # By their names in the parcel; they follow what is said.
    files: dict[str, File] = field(default_factory=dict)
    count: int = 0

    @property
    def thread_id(self) -> str:
        return self.opened.me.thread_id

    @property
    def is_in_safe_mode(self) -> bool:
        return self.opened.cached.thread.safe_mode_required or self.user.safe_mode


def write_thread(parcel: ExportZip, user: User, thread_id: str, folder: str = "") -> str:
    """Its subject. Nothing from before they came, nothing that was removed, and no file that they
    could not open."""
    conversation = ThreadExport(user, queries.open_thread(user, thread_id), folder)
    _write_messages(parcel, conversation)
    for name, file in conversation.files.items():
        with storage.open_file(file, FULL) as kept:
            is_packed = file.kind != File.Kind.TEXT
            parcel.add_stream(f"{folder}{name}", kept, is_packed=is_packed)
    if has_panel(conversation.opened.cached, user.id):
        _add_agreed(parcel, conversation)
    return str(conversation.opened.cached.thread.subject)


def _write_messages(parcel: ExportZip, conversation: ThreadExport) -> None:
    """The page goes straight into the parcel, the data follows from a file of its own: a zip takes
    one at a time."""
    head = _head(conversation)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as data:
        data.write(json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}"))
        data.write(',\n "messages": [')
        with parcel.writing(f"{conversation.folder}conversation.html") as write:
            write(render_to_string("privacy/export/head.html", _page(conversation, head)))
            for described in _described(conversation, parcel.heartbeat):
                data.write(("," if conversation.count else "") + "\n  ")
                data.write(json.dumps(described.data, ensure_ascii=False))
                write(render_to_string("privacy/export/message.html", described.page))
                conversation.count += 1
            write(render_to_string("privacy/export/foot.html", {"count": conversation.count}))
        data.write("\n ]\n}\n")
        data.seek(0)
        with parcel.writing(f"{conversation.folder}conversation.json") as write:
            while chunk := data.read(1 << 20):
                write(chunk)


def _head(conversation: ThreadExport) -> dict[str, Any]:
    cached, user = conversation.opened.cached, conversation.user
    thread = cached.thread
    people = [
        {"id": one.user_id, "name": one.person["name"], "handle": one.person["handle"]}
        | {"role": one.role}
        for one in cached.people.values()
    ]
    former = [
        {"id": one["id"], "name": one["name"], "handle": one["handle"], "role": "left"}
        for one in cached.former.values()
    ]
    return {
        "format": FORMAT,
        "exported_at": keys.iso(timezone.now()),
        "exported_for": {"id": user.id, "name": user.display_name},
        "thread": {
            "id": thread.id,
            "subject": thread.subject,
            "kind": thread.kind,
            "created_at": thread.created_at,
        },
        "people": people + former,
    }


def _page(conversation: ThreadExport, head: dict[str, Any]) -> dict[str, Any]:
    now = timezone.now().astimezone(_zone(conversation))
    return head | {
        "zone": conversation.user.time_zone,
        "now": now,
        "style": "../" * conversation.folder.count("/") + "style.css",
    }


@dataclass
class Described:
    data: dict[str, Any]
    page: dict[str, Any]


def _described(conversation: ThreadExport, heard: Callable[[], None]) -> Iterator[Described]:
    day = ""
    for messages in _pages(conversation):
        heard()
        wanted = [
            one["id"]
            for message in messages
            for one in _attachments(message)
            if one["kind"] != LINK
        ]
        kept = {file.id: file for file in list_visible_files(wanted)}
        for message in messages:
            at = keys.parse_iso(message.created_at).astimezone(_zone(conversation))
            label = f"{at:%A} {at.day} {at:%B %Y}"
            described = _describe(conversation, message, kept)
            described.page |= {"day": label if label != day else "", "time": time_label(at)}
            day = label
            yield described


def _pages(conversation: ThreadExport) -> Iterator[list[Message]]:
    """All that this person may see, oldest first."""
    pk, from_seq = conversation.opened.cached.thread.pk, conversation.opened.me.visible_from_seq
    where, after = Item.sk.startswith(keys.MESSAGES), None
    while True:
        page = query(pk, where, limit=AT_ONCE, after=after)
        yield [message for message in page.of(Message) if message.seq >= from_seq]
        after = page.next_key
        if after is None:
            return


def _describe(conversation: ThreadExport, message: Message, kept: dict[str, File]) -> Described:
    cached = conversation.opened.cached
    name = cached.get_person(message.author_id)["name"] if message.author_id else "Parley"
    body = "" if message.is_redacted else message.body or ""
    attachments = [
        _attach(conversation, message, number, one, kept)
        for number, one in enumerate(_attachments(message), 1)
    ]
    reactions = {} if message.is_redacted else message.reactions or {}
    named = {
        emoji: [cached.get_person(user_id)["name"] for user_id in users]
        for emoji, users in reactions.items()
    }
    data = {
        "id": message.id,
        "seq": message.seq,
        "type": message.type,
        "author": message.author_id,
        "author_name": name,
        "created_at": message.created_at,
        "edited_at": message.edited_at,
        "removed": message.is_redacted,
        "body": body,
        "reply_to": message.reply_to,
        "reactions": named,
        "attachments": attachments,
    }
    return Described(
        data,
        data
        | {
            "html": to_html(body),
            "is_mine": message.author_id == conversation.user.id,
            "is_system": message.type == SYSTEM,
        },
    )


def _attachments(message: Message) -> list[dict[str, Any]]:
    return [] if message.is_redacted else message.attachments or []


def _attach(
    conversation: ThreadExport,
    message: Message,
    number: int,
    one: dict[str, Any],
    kept: dict[str, File],
) -> dict[str, Any]:
    if one["kind"] == LINK:
        return {"kind": LINK, "url": one["url"], "name": one["title"]}
    described = {"kind": one["kind"], "name": one["name"], "type": one["type"], "size": one["size"]}
    file = kept.get(one["id"])
    if file is None:
        return described | {"missing": GONE}
    if conversation.is_in_safe_mode and max(file.band, message.nsfw_band) >= EXPLICIT:
        return described | {"missing": SAFE_MODE}
    path = f"files/{message.seq:06d}-{number}-{file.name}"
    conversation.files[path] = file
    return described | {"path": path}


def _add_agreed(parcel: ExportZip, conversation: ThreadExport) -> None:
    """The panel as it stands, and the papers of this person's own bookings."""
    tabs = conversation.opened.cached.tabs
    parcel.add_json(
        f"{conversation.folder}panel.json",
        {name: read_full_snapshot(tab) for name, tab in sorted(tabs.items())},
    )
    uses = TabUse.objects.filter(file__thread_id=conversation.thread_id).select_related("file")
    visible = {file.id for file in exclude_hidden([use.file for use in uses])}
    for number, use in enumerate(uses.order_by("created_at", "pk"), 1):
        is_left_out = conversation.is_in_safe_mode and use.file.band >= EXPLICIT
        if use.file_id in visible and not is_left_out:
            name = f"{conversation.folder}files/{use.tab}-{number:03d}-{use.file.name}"
            with storage.open_file(use.file, FULL) as kept:
                parcel.add_stream(name, kept, is_packed=True)
    legs = Leg.objects.filter(thread_id=conversation.thread_id)
    add_documents(parcel, conversation.user, list(legs), conversation.folder)


def add_documents(parcel: ExportZip, user: User, legs: list[Leg], folder: str) -> None:
    """Contracts, signed where they are, and receipts. Of one's own bookings only."""
    for leg in legs:
        if user.id not in leg.parties:
            continue
        for version in leg.contract.versions.order_by("number"):
            content = bytes(version.signed_pdf or version.pdf)
            name = f"contract-{leg.contract.id}-{version.number}.pdf"
            parcel.add_bytes(f"{folder}documents/{name}", content)
        for receipt in leg.receipts.order_by("number"):
            name = receipt_title(receipt).lower().replace(" ", "-")
            parcel.add_bytes(f"{folder}documents/{name}-{receipt.id}.pdf", receipt_pdf(receipt))


def _zone(conversation: ThreadExport) -> ZoneInfo:
    return ZoneInfo(conversation.user.time_zone)
