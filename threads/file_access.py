"""Access to files, decided for every request from what is stored."""

from collections.abc import Sequence
from dataclasses import dataclass

from accounts.models import User
from core.refusals import Refusal
from files.actions import bind_files, find_files
from files.models import BLUR, EXPLICIT, SUGGESTIVE, File, FileUse
from threads.dynamodb import keys
from threads.dynamodb.table import get_many
from threads.models import Message, Participant, SentMarker, Thread
from threads.registry import file_viewers

# Read instead of a missing thread, so that a missing file costs the same as a forbidden one.
MISSING_THREAD_ID = "thrd_00000000000000000000000000"


@dataclass
class AccessibleFile:
    file: File
    band: int
    in_safe_mode: bool

    def choose_variant(self, variant: str, *, is_revealed: bool) -> str:
        """The variant that safe mode allows: the wanted one, a blurred one until the viewer
        reveals it, or none."""
        if not self.in_safe_mode or self.band < SUGGESTIVE:
            return variant
        if self.band >= EXPLICIT:
            raise Refusal("MSG_NSFW_BLOCKED")
        return variant if is_revealed else BLUR


def access_file(user: User, file_id: str) -> AccessibleFile:
    """Allows participants who can see a message with the file, users who can see a panel with it,
    and its owner until it is sent. Costs two SQL queries and one request in every case."""
    file = File.objects.select_related("tab_use").filter(pk=file_id).first()
    uses = list(FileUse.objects.filter(file_id=file_id))
    thread_id = file.thread_id if file else MISSING_THREAD_ID
    messages = [resolve_message_id(file, use) for use in uses] if file else []
    me, thread, seen = _read(user, thread_id, [one for one in messages if one])
    if file is None or file.state != File.State.READY or me is None or thread is None:
        raise Refusal("THREAD_NOT_FOUND")
    if any(one.hidden_at for one in seen):
        # Staff who hide a message hide its files in every message.
        raise Refusal("THREAD_NOT_FOUND")
    shown = [one for one in seen if not one.is_withheld and one.seq >= me.visible_from_seq]
    is_unsent = not seen and file.owner_id == user.id and not file.released_at
    if not shown and not is_unsent and not _is_shown_elsewhere(user, thread, file):
        raise Refusal("THREAD_NOT_FOUND")
    band = max([file.band, *(one.nsfw_band for one in shown)])
    return AccessibleFile(file, band, thread.safe_mode_required or user.safe_mode)


def list_usable_files(
    owner: User, file_ids: Sequence[str], *, thread_id: str, client_id: str = ""
) -> list[File]:
    """The owner's files of this thread that may be attached or attached again: hidden ones are
    refused. `client_id` is that of the message that uses them, which may be a repeat."""
    files = find_files(owner, file_ids, thread_id=thread_id)
    if len(exclude_hidden(files, client_id=client_id)) != len(files):
        raise Refusal("UPLOAD_GONE", "One of these files is no longer available.")
    return files


def exclude_hidden(files: Sequence[File], *, client_id: str = "") -> list[File]:
    """Leaves out files that staff hid in any message, and files whose messages were all removed.
    Costs one SQL query, and one request if any file is in a message."""
    messages = _messages_of(files, client_id)
    return [file for file in files if not _is_hidden(messages.get(file.id, []))]


def list_visible_files(file_ids: Sequence[str]) -> list[File]:
    """The stored files that are not hidden, for a viewer who can see their messages."""
    found = File.objects.filter(state=File.State.READY).in_bulk(file_ids)
    return exclude_hidden(list(found.values()))


def _is_hidden(messages: Sequence[Message]) -> bool:
    is_gone = bool(messages) and all(one.is_withheld for one in messages)
    return is_gone or any(one.hidden_at for one in messages)


def _messages_of(files: Sequence[File], client_id: str) -> dict[str, list[Message]]:
    by_id = {file.id: file for file in files}
    uses = FileUse.objects.filter(file__in=list(by_id)).exclude(client_id=client_id)
    of_file = [(by_id[use.file_id], resolve_message_id(by_id[use.file_id], use)) for use in uses]
    wanted = {
        (keys.thread_pk(file.thread_id), keys.message_sk(message_id))
        for file, message_id in of_file
        if message_id
    }
    found = {
        one.id: one for one in get_many(wanted, with_contents=False) if isinstance(one, Message)
    }
    messages: dict[str, list[Message]] = {}
    for file, message_id in of_file:
        if message_id in found:
            messages.setdefault(file.id, []).append(found[message_id])
    return messages


def _is_shown_elsewhere(user: User, thread: Thread, file: File) -> bool:
    return any(may_view(user, thread, file) for may_view in file_viewers)


def _read(
    user: User, thread_id: str, message_ids: list[str]
) -> tuple[Participant | None, Thread | None, list[Message]]:
    pk = keys.thread_pk(thread_id)
    wanted = [keys.THREAD, keys.participant_sk(user.id), *map(keys.message_sk, message_ids)]
    found = get_many([(pk, sk) for sk in wanted], with_contents=False)
    me = next((item for item in found if isinstance(item, Participant)), None)
    thread = next((item for item in found if isinstance(item, Thread)), None)
    return me, thread, [item for item in found if isinstance(item, Message)]


def resolve_message_id(file: File, use: FileUse) -> str:
    """The id of the message that has a reserved file; empty if it was not stored."""
    if use.message_id:
        return use.message_id
    sk = keys.sent_marker_sk(file.owner_id, use.client_id)
    marker = SentMarker.find(keys.thread_pk(file.thread_id), sk)
    if marker is None:
        return ""
    bind_files([file], client_id=use.client_id, message_id=marker.message_id)
    return str(marker.message_id)
