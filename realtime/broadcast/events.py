"""The events that are sent to clients, each a TypedDict. See docs/protocol.md."""

from typing import Any, Literal, NotRequired, TypedDict


class Hello(TypedDict):
    type: Literal["hello"]
    user: str
    connection: str
    server_time: str
    protocol: int
    pending: list[dict[str, Any]]
    more: bool


class Pong(TypedDict):
    type: Literal["pong"]
    t: Any
    pending: list[dict[str, Any]]


class LiveChanged(TypedDict):
    type: Literal["live.changed"]
    live: bool


class MessageAccepted(TypedDict):
    type: Literal["message.accepted"]
    client_id: str
    thread: str
    message: str
    seq: int
    created_at: str
    notice: NotRequired[str]


class MessageSent(TypedDict):
    type: Literal["message.sent"]
    thread: str
    message: str
    seq: int
    tally: int
    author: str | None
    created_at: str
    message_type: str
    body: str
    html: str
    attachments: list[dict[str, Any]]
    client_id: str | None


class MessageEdited(TypedDict):
    type: Literal["message.edited"]
    thread: str
    message: str
    seq: int
    rev: int
    html: str


class MessageRemoved(TypedDict):
    type: Literal["message.removed"]
    thread: str
    message: str
    seq: int
    rev: int
    html: str


class MessageHidden(TypedDict):
    type: Literal["message.hidden"]
    thread: str
    message: str
    seq: int
    rev: int
    html: str


class MessageReacted(TypedDict):
    type: Literal["message.reacted"]
    thread: str
    message: str
    seq: int
    rev: int
    html: str


class TypingStarted(TypedDict):
    type: Literal["typing.started"]
    thread: str
    user: str


class TypingStopped(TypedDict):
    type: Literal["typing.stopped"]
    thread: str
    user: str


class PresenceChanged(TypedDict):
    type: Literal["presence.changed"]
    thread: str
    user: str
    online: bool
    last_seen_at: str


class DraftChanged(TypedDict):
    type: Literal["draft.changed"]
    thread: str
    text: str
    version: int


class CardChanged(TypedDict):
    type: Literal["card.changed"]
    thread: str
    message: str
    seq: int
    rev: int
    html: str
    state: str
    version: int


class PanelChanged(TypedDict):
    type: Literal["panel.changed"]
    thread: str
    tab: str
    version: int
    rev: int
    by: str
    html: str


class ThreadSynced(TypedDict):
    type: Literal["thread.synced"]
    thread: str
    messages: list[MessageSent]
    changed: list[dict[str, Any]]
    cursors: list[dict[str, Any]]
    status: str
    tabs: dict[str, int]
    rev: int
    last_seq: int
    more: bool
    window_from: NotRequired[str]


class ThreadChanged(TypedDict):
    type: Literal["thread.changed"]
    thread: str
    status: str
    kind: str
    roster: list[dict[str, Any]]
    banner: str
    rev: int


class CursorMoved(TypedDict):
    type: Literal["cursor.moved"]
    thread: str
    user: str
    delivered_seq: int
    read_seq: int
    read_tally: int
    own_since_read: int


class InboxChanged(TypedDict):
    """If `unread` is None, because another process has written meanwhile, the page fetches the row.
    The optional fields are present only after an action of the user, and unchanged otherwise."""

    type: Literal["inbox.changed"]
    thread: str
    unread: int | None
    last_message_at: str
    last_message: dict[str, Any]
    folder: str
    kind: str
    pinned: bool
    waiting_for: str
    # The type of the pending action that the row shows; empty without one.
    step: str
    marked_unread: NotRequired[bool]
    muted: NotRequired[bool]
    muted_until: NotRequired[str]
    request: NotRequired[bool]


class ReportAnswered(TypedDict):
    """Sent to the reporter only: one of their reports was answered."""

    type: Literal["report.answered"]


class Error(TypedDict):
    type: Literal["error"]
    code: str
    message: str
    hint: str
    corr_id: str
    client_id: NotRequired[str]
    message_id: NotRequired[str]
    retry_after: NotRequired[int]


Event = (
    Hello
    | Pong
    | LiveChanged
    | MessageAccepted
    | MessageSent
    | MessageEdited
    | MessageRemoved
    | MessageHidden
    | MessageReacted
    | TypingStarted
    | TypingStopped
    | PresenceChanged
    | DraftChanged
    | CardChanged
    | PanelChanged
    | ThreadSynced
    | ThreadChanged
    | CursorMoved
    | InboxChanged
    | ReportAnswered
    | Error
)
