"""Sellers in bulk, with the rows that the directory has of them, written by SQL."""

from collections.abc import Iterator, Sequence
from itertools import product

from django.db import connection, models

from accounts.models import Block, User
from people.models import DirectoryCity, DirectoryEntry, DirectoryWord, ServiceProfile

CRAFTS = ("photographer", "model", "studio", "stylist")
CITIES = ("lisbon", "berlin", "lima", "accra", "tokyo")
LANGUAGES = ("en", "de", "pt")
# Ids have a fixed number of digits, so that their order is that of the numbers.
FIRST = 10**9
ALIKE = 10
USER_ID = f"'usr_{'0' * 16}' || n"
POSITION = f"'5#' || {USER_ID}"


def add_sellers(template: User, count: int, *, first: int = FIRST) -> None:
    """Adds sellers like the template. Each has one craft, city and language, by their number."""
    numbers = (
        f"WITH RECURSIVE numbers(n) AS (SELECT {first} UNION ALL"
        f" SELECT n + 1 FROM numbers WHERE n + 1 < {first + count})"
    )
    with connection.cursor() as cursor:
        for model, values in _rows(template):
            columns = ", ".join(f'"{name}"' for name in values)
            source = f"numbers, {model._meta.db_table} t WHERE t.{_key(model)} = '{template.pk}'"
            if model not in (User, ServiceProfile):
                source = "numbers"
            cursor.execute(
                f"INSERT INTO {model._meta.db_table} ({columns}) {numbers}"
                f" SELECT {', '.join(values.values())} FROM {source}"
            )
        cursor.execute("ANALYZE")


def _key(model: type[models.Model]) -> str:
    return model._meta.pk.column


def _rows(template: User) -> Iterator[tuple[type[models.Model], dict[str, str]]]:
    """The values of each table, as SQL expressions of the number."""
    unique = {"id": USER_ID, "email": "n || '@bulk.example'", "handle": "'bulk-' || n"}
    yield User, _copied(User) | unique
    yield ServiceProfile, _copied(ServiceProfile) | {"user_id": USER_ID}
    craft, city, language = (_pick(names) for names in (CRAFTS, CITIES, LANGUAGES))
    for parts in product(("''", craft), ("''", city), ("''", language)):
        filters = " || '|' || ".join(parts)
        yield DirectoryEntry, {"user_id": USER_ID, "filters": filters, "position": POSITION}
    for word in ("'seller'", craft, city, "'rare' || n"):
        yield DirectoryWord, {"user_id": USER_ID, "word": _as_bytes(word)}
    yield DirectoryCity, {"key": "'town ' || n", "name": "'Town'", "sellers": "n % 100 + 1"}
    # Blocks of other users, which a page must not read.
    blocks = {"blocker_id": USER_ID, "blocked_id": f"'{template.pk}'"}
    yield Block, blocks | {"created_at": "CURRENT_TIMESTAMP"}


def _copied(model: type[models.Model]) -> dict[str, str]:
    names = [field.column for field in model._meta.local_concrete_fields]
    return {name: f't."{name}"' for name in names}


def _pick(names: Sequence[str]) -> str:
    """The first sellers all have the first name, and the others one of them."""
    parts = [f"WHEN n % {len(names)} = {at} THEN '{name}'" for at, name in enumerate(names)]
    return f"CASE WHEN n < {FIRST + ALIKE} THEN '{names[0]}' {' '.join(parts)} END"


def _as_bytes(text: str) -> str:
    is_sqlite = connection.vendor == "sqlite"
    return f"CAST({text} AS BLOB)" if is_sqlite else f"convert_to({text}, 'UTF8')"
