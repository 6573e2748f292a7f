"""Files and links of a message that is being sent.

The message is in the table and its files are in SQL: what a crash leaves between the two is settled
by the next who asks for one (threads/file_access.py), or by the sweeper.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from django.db import DatabaseError

from accounts.models import User
from files.actions import bind_files, reserve_files
from files.models import File
from threads.file_access import list_usable_files
from threads.models import Message
from threads.rendering.attachments import LINK, describe

log = structlog.get_logger(__name__)


@dataclass
class MessageAttachments:
    client_id: str
    files: list[File] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)

    @property
    def described(self) -> list[dict[str, Any]]:
        links = [{"kind": LINK, **link} for link in self.links]
        return [describe(file) for file in self.files] + links

    @property
    def hash_parts(self) -> list[str]:
        """By content: the same file brought twice is the same message."""
        return [file.digest for file in self.files] + [
            f"{link['url']}\n{link['title']}" for link in self.links
        ]

    def reserve(self) -> None:
        if self.files:
            reserve_files(self.files, client_id=self.client_id)

    def bind(self, message: Message) -> None:
        if not self.files:
            return
        try:
            bind_files(self.files, client_id=self.client_id, message_id=message.id)
        except DatabaseError:
            # It is sent all the same; the first who asks for a file settles it.
            log.exception("files_not_bound", message=message.id)


def collect_attachments(
    sender: User,
    file_ids: Sequence[str],
    links: Sequence[dict[str, str]],
    *,
    thread_id: str,
    client_id: str,
) -> MessageAttachments:
    files = []
    if file_ids:
        files = list_usable_files(sender, file_ids, thread_id=thread_id, client_id=client_id)
    return MessageAttachments(client_id, files, list(links))
