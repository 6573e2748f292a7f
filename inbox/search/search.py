"""Searches a user's own threads. The index finds candidates, the table decides what is shown."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from inbox.models import IndexedMessage
from inbox.rows import InboxRow, row_of
from inbox.search.excerpts import Piece, count_whole, excerpt
from inbox.search.index import text_of
from inbox.search.matcher import filter_by_words, without_own_name
from inbox.search.query_parser import SearchQuery
from threads.dynamodb import keys
from threads.dynamodb.table import get_many
from threads.models import Message, Participant
from threads.queries import get_rows
from threads.rendering.labels import row_label
from threads.rendering.markdown import to_text

# The newest matches are candidates; each thread shows a few of them.
MAX_CANDIDATES = 200
MAX_HITS_PER_THREAD = 3
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


def search(user: User, query: SearchQuery, *, thread_id: str = "") -> list[SearchResult]:
    """Results by thread, best first: whole words before parts of words, then the newest. For a
    single thread, all hits."""
    if query.is_empty:
        return []
    candidates = _candidates(user, query)
    if thread_id:
        candidates = candidates.filter(thread_id=thread_id)
    proposed = list(candidates.order_by("-at")[:MAX_CANDIDATES])
    threads = list(dict.fromkeys(message.thread_id for message in proposed))[:MAX_THREADS]
    rows = {row.thread_id: row for row in get_rows(user, threads)}
    stored = _read_messages([m for m in proposed if m.thread_id in rows])
    by_thread: dict[str, list[tuple[int, Message]]] = {}
    for message in stored:
        if _can_see(rows[message.thread_id], message) and _still_matches(message, query):
            score = count_whole(_text(message), query.words)
            by_thread.setdefault(message.thread_id, []).append((score, message))
    max_hits = MAX_CANDIDATES if thread_id else MAX_HITS_PER_THREAD
    found = [
        (max(score for score, _ in hits), _make_result(user, rows[each], hits, query, max_hits))
        for each, hits in by_thread.items()
    ]
    found.sort(key=lambda each: (each[0], each[1].hits[0].at), reverse=True)
    return [each for _, each in found]


def _candidates(user: User, query: SearchQuery) -> QuerySet[IndexedMessage]:
    """Only messages of the user's own threads that they can see."""
    messages = IndexedMessage.objects.filter(
        thread__people__user_id=user.id, seq__gte=F("thread__people__from_seq")
    )
    if query.within:
        messages = messages.annotate(others=without_own_name(user, "thread__about"))
    messages = messages.filter(**_filters(user, query))
    return filter_by_words(messages, query.words)


def _filters(user: User, query: SearchQuery) -> dict[str, Any]:
    filters: dict[str, Any] = {}
    if query.by == "me":
        filters["author_id"] = user.id
    elif query.by:
        filters["author__contains"] = query.by
    if query.within:
        filters["others__contains"] = query.within
    if query.kind:
        filters["thread__kind"] = query.kind
    if query.card:
        filters["card"] = query.card
    if "card" in query.has and not query.card:
        filters["card__gt"] = ""
    for what in ("image", "file"):
        if what in query.has:
            filters[f"has_{what}"] = True
    if query.before:
        filters["at__lt"] = _midnight(query.before)
    if query.after:
        filters["at__gte"] = _midnight(query.after + timedelta(days=1))
    return filters


def _midnight(day: Any) -> datetime:
    """Days are in the viewer's own time zone."""
    return timezone.make_aware(datetime.combine(day, time.min))


def _read_messages(proposed: list[IndexedMessage]) -> list[Message]:
    found = get_many(
        (keys.thread_pk(one.thread_id), keys.message_sk(one.message_id)) for one in proposed
    )
    messages = [item for item in found if isinstance(item, Message)]
    return sorted(messages, key=lambda message: message.sk, reverse=True)


def _can_see(row: Participant, message: Message) -> bool:
    return message.seq >= row.visible_from_seq and not message.is_withheld


def _still_matches(message: Message, query: SearchQuery) -> bool:
    """The message may have been edited or redacted after it was indexed."""
    text = text_of(message)
    return all(word in text for word in query.words)


def _text(message: Message) -> str:
    return to_text(message.body or "")


def _make_result(
    user: User, row: Participant, hits: list[tuple[int, Message]], query: SearchQuery, max_hits: int
) -> SearchResult:
    best = sorted(hits, key=lambda hit: (hit[0], hit[1].sk), reverse=True)
    shown = [_hit(user, row, message, query) for _, message in best[:max_hits]]
    return SearchResult(row_of(user, row), shown, max(0, len(hits) - max_hits))


def _hit(user: User, row: Participant, message: Message, query: SearchQuery) -> Hit:
    at = keys.parse_iso(message.created_at).astimezone(timezone.get_current_timezone())
    return Hit(
        url=reverse("threads:message", args=[message.thread_id, message.id]),
        author=_author(user, row, message),
        pieces=excerpt(_text(message), query.words),
        at=at,
        at_label=row_label(at, timezone.localdate()),
    )


def _author(user: User, row: Participant, message: Message) -> str:
    if message.author_id == user.id:
        return "You"
    if message.author_id == row.other_side["id"]:
        return str(row.other_side["name"])
    return ""
