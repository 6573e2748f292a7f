"""Finds indexed messages that contain words or parts of words, on both databases.

PostgreSQL has a trigram index on the text, SQLite a full-text table of trigrams. A word of one or
two letters, common in Chinese and Japanese, has no trigram: it is searched in the text itself, of
the user's own threads only.
"""

from django.db import connection
from django.db.models import QuerySet, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Replace

from accounts.models import User
from core.normalise import normalise
from inbox.models import IndexedMessage

TRIGRAM = 3
BY_TRIGRAM = "SELECT rowid FROM inbox_text WHERE inbox_text MATCH %s"


def filter_by_words(
    messages: QuerySet[IndexedMessage], words: list[str]
) -> QuerySet[IndexedMessage]:
    long = [word for word in words if len(word) >= TRIGRAM]
    if connection.vendor == "sqlite" and long:
        match = " AND ".join('"{}"'.format(word.replace('"', '""')) for word in long)
        messages = messages.filter(id__in=RawSQL(BY_TRIGRAM, [match]))
        words = [word for word in words if len(word) < TRIGRAM]
    for word in words:
        messages = messages.filter(folded__contains=word)
    return messages


def without_own_name(user: User, field: str = "about") -> Replace:
    """The text that `in:` searches without the user's own name, which is in all their threads."""
    own = normalise(f"{user.display_name} {user.handle}")
    return Replace(field, Value(own), Value(""), output_field=TextField())
