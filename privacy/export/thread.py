"""The export of a thread as one participant sees it: an HTML page, JSON data and the files."""

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
from contracts.documents.statements import make_statement, statement_pdf
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
PAGE_SIZE = 200
HIDDEN_BY_SAFE_MODE = "not included: hidden by safe mode"
UNAVAILABLE = "not included: no longer available"


@dataclass
class ThreadExport:
    """The state of writing one thread into a folder of the ZIP file."""

    user: User
    opened: OpenedThread
    folder: str = ""
    # By path in the ZIP file; written after the messages.
    files: dict[str, File] = field(default_factory=dict)
    count: int = 0

    @property
    def thread_id(self) -> str:
        return self.opened.me.thread_id

    @property
    def is_in_safe_mode(self) -> bool:
        return self.opened.cached.thread.safe_mode_required or self.user.safe_mode


def write_thread(export_zip: ExportZip, user: User, thread_id: str, folder: str = "") -> str:
    """Returns the subject. Leaves out messages from before the user joined, removed messages, and
    files that the user cannot open."""
    export = ThreadExport(user, queries.open_thread(user, thread_id), folder)
    _write_messages(export_zip, export)
    for name, file in export.files.items():
        with storage.open_file(file, FULL) as content:
            is_packed = file.kind != File.Kind.TEXT
            export_zip.add_stream(f"{folder}{name}", content, is_packed=is_packed)
    if has_panel(export.opened.cached, user.id):
        _add_project(export_zip, export)
    return str(export.opened.cached.thread.subject)


def _write_messages(export_zip: ExportZip, export: ThreadExport) -> None:
    """Writes the HTML page directly and the JSON data by way of a temporary file, since a ZIP file
    has one open entry at a time."""
    head = _head(export)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as data:
        data.write(json.dumps(head, ensure_ascii=False, indent=1).removesuffix("\n}"))
        data.write(',\n "messages": [')
        with export_zip.writing(f"{export.folder}conversation.html") as write:
            write(render_to_string("privacy/export/head.html", _page(export, head)))
            for described in _describe_messages(export, export_zip.heartbeat):
                data.write(("," if export.count else "") + "\n  ")
                data.write(json.dumps(described.data, ensure_ascii=False))
                write(render_to_string("privacy/export/message.html", described.page))
                export.count += 1
            write(render_to_string("privacy/export/foot.html", {"count": export.count}))
        data.write("\n ]\n}\n")
        data.seek(0)
        with export_zip.writing(f"{export.folder}conversation.json") as write:
            while chunk := data.read(1 << 20):
                write(chunk)


def _head(export: ThreadExport) -> dict[str, Any]:
    cached, user = export.opened.cached, export.user
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


def _page(export: ThreadExport, head: dict[str, Any]) -> dict[str, Any]:
    now = timezone.now().astimezone(_zone(export))
    return head | {
        "zone": export.user.time_zone,
        "now": now,
        "style": "../" * export.folder.count("/") + "style.css",
    }


@dataclass
class DescribedMessage:
    data: dict[str, Any]
    page: dict[str, Any]


def _describe_messages(
    export: ThreadExport, heartbeat: Callable[[], None]
) -> Iterator[DescribedMessage]:
    day = ""
    for messages in _pages(export):
        heartbeat()
        wanted = [
            one["id"]
            for message in messages
            for one in _attachments(message)
            if one["kind"] != LINK
        ]
        files = {file.id: file for file in list_visible_files(wanted)}
        for message in messages:
            at = keys.parse_iso(message.created_at).astimezone(_zone(export))
            label = f"{at:%A} {at.day} {at:%B %Y}"
            described = _describe(export, message, files)
            described.page |= {"day": label if label != day else "", "time": time_label(at)}
            day = label
            yield described


def _pages(export: ThreadExport) -> Iterator[list[Message]]:
    """All messages that the user can see, oldest first."""
    pk, from_seq = export.opened.cached.thread.pk, export.opened.me.visible_from_seq
    where, after = Item.sk.startswith(keys.MESSAGES), None
    while True:
        page = query(pk, where, limit=PAGE_SIZE, after=after)
        yield [message for message in page.of(Message) if message.seq >= from_seq]
        after = page.next_key
        if after is None:
            return


def _describe(export: ThreadExport, message: Message, files: dict[str, File]) -> DescribedMessage:
    cached = export.opened.cached
    name = cached.get_person(message.author_id)["name"] if message.author_id else "Parley"
    body = "" if message.is_withheld else message.body or ""
    attachments = [
        _attach(export, message, number, one, files)
        for number, one in enumerate(_attachments(message), 1)
    ]
    reactions = {} if message.is_withheld else message.reactions or {}
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
        "removed": message.is_withheld,
        "body": body,
        "reply_to": message.reply_to,
        "reactions": named,
        "attachments": attachments,
    }
    return DescribedMessage(
        data,
        data
        | {
            "html": to_html(body),
            "is_mine": message.author_id == export.user.id,
            "is_system": message.type == SYSTEM,
        },
    )


def _attachments(message: Message) -> list[dict[str, Any]]:
    return [] if message.is_withheld else message.attachments or []


def _attach(
    export: ThreadExport,
    message: Message,
    number: int,
    one: dict[str, Any],
    files: dict[str, File],
) -> dict[str, Any]:
    if one["kind"] == LINK:
        return {"kind": LINK, "url": one["url"], "name": one["title"]}
    described = {"kind": one["kind"], "name": one["name"], "type": one["type"], "size": one["size"]}
    file = files.get(one["id"])
    if file is None:
        return described | {"missing": UNAVAILABLE}
    if export.is_in_safe_mode and max(file.band, message.nsfw_band) >= EXPLICIT:
        return described | {"missing": HIDDEN_BY_SAFE_MODE}
    path = f"files/{message.seq:06d}-{number}-{file.name}"
    export.files[path] = file
    return described | {"path": path}


def _add_project(export_zip: ExportZip, export: ThreadExport) -> None:
    """The current panel, and the documents of the user's own bookings."""
    tabs = export.opened.cached.tabs
    export_zip.add_json(
        f"{export.folder}panel.json",
        {name: read_full_snapshot(tab) for name, tab in sorted(tabs.items())},
    )
    uses = TabUse.objects.filter(file__thread_id=export.thread_id).select_related("file")
    visible = {file.id for file in exclude_hidden([use.file for use in uses])}
    for number, use in enumerate(uses.order_by("created_at", "pk"), 1):
        is_excluded = export.is_in_safe_mode and use.file.band >= EXPLICIT
        if use.file_id in visible and not is_excluded:
            name = f"{export.folder}files/{use.tab}-{number:03d}-{use.file.name}"
            with storage.open_file(use.file, FULL) as content:
                export_zip.add_stream(name, content, is_packed=True)
    legs = Leg.objects.filter(thread_id=export.thread_id)
    add_documents(export_zip, export.user, list(legs), export.folder)


def add_documents(export_zip: ExportZip, user: User, legs: list[Leg], folder: str) -> None:
    """Contracts, the signed version if there is one, and receipts; own bookings only."""
    for leg in legs:
        if user.id not in leg.parties:
            continue
        for version in leg.contract.versions.order_by("number"):
            content = bytes(version.signed_pdf or version.pdf)
            name = f"contract-{leg.contract.id}-{version.number}.pdf"
            export_zip.add_bytes(f"{folder}documents/{name}", content)
        statement = statement_pdf(make_statement(leg))
        export_zip.add_bytes(f"{folder}documents/statement-{leg.id}.pdf", statement)
        for receipt in leg.receipts.order_by("number"):
            name = receipt_title(receipt).lower().replace(" ", "-")
            export_zip.add_bytes(f"{folder}documents/{name}-{receipt.id}.pdf", receipt_pdf(receipt))


def _zone(export: ThreadExport) -> ZoneInfo:
    return ZoneInfo(export.user.time_zone)
