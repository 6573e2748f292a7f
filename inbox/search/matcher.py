"""The port: which messages of the index hold these words, parts of words included.

PostgreSQL has trigrams over the text, SQLite a full-text table of trigrams. A word of one or two
letters, as Chinese and Japanese have many, has no trigram: then the text itself is looked through,
of one's own threads only.
"""

from django.db import connection
from django.db.models import QuerySet, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Replace

from accounts.models import User
from inbox.models import IndexedMessage
from inbox.search.normalise import normalise

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
    """What a thread is about, to one who is in it: their own name is in all of theirs."""
    own = normalise(f"{user.display_name} {user.handle}")
    return Replace(field, Value(own), Value(""), output_field=TextField())
