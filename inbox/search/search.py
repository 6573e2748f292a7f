"""Looking for words in one's own conversations. The index proposes; the table decides."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from inbox.models import IndexedMessage
from inbox.rows import InboxRow, row_of
from inbox.search.index import text_of
from inbox.search.matcher import filter_by_words, without_own_name
from inbox.search.normalise import Piece, count_whole, excerpt
from inbox.search.query_parser import SearchQuery
from threads.dynamodb import keys
from threads.dynamodb.table import get_many
from threads.models import Message, Participant
from threads.queries import get_rows
from threads.rendering.labels import row_label
from threads.rendering.markdown import to_text

# So many messages are looked at, the newest first; a thread shows a few of them.
MAX_CANDIDATES = 200
PER_THREAD = 3
MAX_THREADS = 100


@dataclass
class Hit:
    url: str
    author: str
    pieces: list[Piece]
    at: datetime
    at_label: str


@dataclass
class SearchResult:
    row: InboxRow
    hits: list[Hit]
    more: int


def search(user: User, question: SearchQuery, *, thread_id: str = "") -> list[SearchResult]:
    """By thread, the best first: whole words before parts of words, then the newest. Of a single
    thread that is asked for, all of them."""
    if question.is_empty:
        return []
    candidates = _candidates(user, question)
    if thread_id:
        candidates = candidates.filter(thread_id=thread_id)
    proposed = list(candidates.order_by("-at")[:MAX_CANDIDATES])
    threads = list(dict.fromkeys(message.thread_id for message in proposed))[:MAX_THREADS]
    rows = {row.thread_id: row for row in get_rows(user, threads)}
    stored = _stored([m for m in proposed if m.thread_id in rows])
    by_thread: dict[str, list[tuple[int, Message]]] = {}
    for message in stored:
        if _may_see(rows[message.thread_id], message) and _holds(message, question):
            score = count_whole(_text(message), question.words)
            by_thread.setdefault(message.thread_id, []).append((score, message))
    most = MAX_CANDIDATES if thread_id else PER_THREAD
    found = [
        (max(score for score, _ in hits), _found(user, rows[each], hits, question, most))
        for each, hits in by_thread.items()
    ]
    found.sort(key=lambda each: (each[0], each[1].hits[0].at), reverse=True)
    return [each for _, each in found]


def _candidates(user: User, question: SearchQuery) -> QuerySet[IndexedMessage]:
    """Of threads that this person is in, and from where on they may see."""
    messages = IndexedMessage.objects.filter(
        thread__people__user_id=user.id, seq__gte=F("thread__people__from_seq")
    )
    if question.within:
        messages = messages.annotate(others=without_own_name(user, "thread__about"))
    messages = messages.filter(**_filters(user, question))
    return filter_by_words(messages, question.words)


def _filters(user: User, question: SearchQuery) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    if question.by == "me":
        filters["author_id"] = user.id
    elif question.by:
        filters["author__contains"] = question.by
    if question.within:
        filters["others__contains"] = question.within
    if question.kind:
        filters["thread__kind"] = question.kind
    if question.card:
        filters["card"] = question.card
    if "card" in question.has and not question.card:
        filters["card__gt"] = ""
    for what in ("image", "file"):
        if what in question.has:
            filters[f"has_{what}"] = True
    if question.before:
        filters["at__lt"] = _midnight(question.before)
    if question.after:
        filters["at__gte"] = _midnight(question.after + timedelta(days=1))
    return filters


def _midnight(day: Any) -> datetime:
    """A day is one of the reader's own zone."""
    return timezone.make_aware(datetime.combine(day, time.min))


def _stored(proposed: list[IndexedMessage]) -> list[Message]:
    found = get_many(
        (keys.thread_pk(one.thread_id), keys.message_sk(one.message_id)) for one in proposed
    )
    messages = [item for item in found if isinstance(item, Message)]
    return sorted(messages, key=lambda message: message.sk, reverse=True)


def _may_see(row: Participant, message: Message) -> bool:
    return message.seq >= row.visible_from_seq and not message.is_redacted


def _holds(message: Message, question: SearchQuery) -> bool:
    """What was edited or blacked out since is not found by what it said before."""
    text = text_of(message)
    return all(word in text for word in question.words)


def _text(message: Message) -> str:
    return to_text(message.body or "")


def _found(
    user: User, row: Participant, hits: list[tuple[int, Message]], question: SearchQuery, most: int
) -> SearchResult:
    best = sorted(hits, key=lambda hit: (hit[0], hit[1].sk), reverse=True)
    shown = [_hit(user, row, message, question) for _, message in best[:most]]
    return SearchResult(row_of(user, row), shown, max(0, len(hits) - most))


def _hit(user: User, row: Participant, message: Message, question: SearchQuery) -> Hit:
    at = keys.parse_iso(message.created_at).astimezone(timezone.get_current_timezone())
    return Hit(
        url=reverse("threads:message", args=[message.thread_id, message.id]),
        author=_author(user, row, message),
        pieces=excerpt(_text(message), question.words),
        at=at,
        at_label=row_label(at, timezone.localdate()),
    )


def _author(user: User, row: Participant, message: Message) -> str:
    if message.author_id == user.id:
        return "You"
    if message.author_id == row.other_side["id"]:
        return str(row.other_side["name"])
    return ""
