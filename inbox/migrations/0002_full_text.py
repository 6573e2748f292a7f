"""Trigrams, so that parts of words are found: each database in its own way."""

from django.db import migrations

SQLITE = [
    """CREATE VIRTUAL TABLE inbox_text USING fts5(
        folded, content='inbox_indexedmessage', content_rowid='id', tokenize='trigram')""",
    """CREATE TRIGGER inbox_text_added AFTER INSERT ON inbox_indexedmessage BEGIN
        INSERT INTO inbox_text(rowid, folded) VALUES (new.id, new.folded); END""",
    """CREATE TRIGGER inbox_text_removed AFTER DELETE ON inbox_indexedmessage BEGIN
        INSERT INTO inbox_text(inbox_text, rowid, folded)
        VALUES ('delete', old.id, old.folded); END""",
    """CREATE TRIGGER inbox_text_changed AFTER UPDATE ON inbox_indexedmessage BEGIN
        INSERT INTO inbox_text(inbox_text, rowid, folded)
        VALUES ('delete', old.id, old.folded);
        INSERT INTO inbox_text(rowid, folded) VALUES (new.id, new.folded); END""",
]
POSTGRES = [
    "CREATE EXTENSION IF NOT EXISTS pg_trgm",
    """CREATE INDEX inbox_text ON inbox_indexedmessage USING gin (folded gin_trgm_ops)""",
]


def forwards(apps, editor):
    if editor.connection.vendor == "sqlite":
        statements = SQLITE
    else:
        statements = POSTGRES if _has_trigrams(editor) else []
    for statement in statements:
        editor.execute(statement)


def _has_trigrams(editor):
    """Without them search works too, by looking through the text of one's own threads."""
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'")
        return cursor.fetchone() is not None


def backwards(apps, editor):
    if editor.connection.vendor == "sqlite":
        for name in ("added", "removed", "changed"):
            editor.execute(f"DROP TRIGGER inbox_text_{name}")
        editor.execute("DROP TABLE inbox_text")
    else:
        editor.execute("DROP INDEX IF EXISTS inbox_text")


class Migration(migrations.Migration):
    dependencies = [("inbox", "0001_search")]
    operations = [migrations.RunPython(forwards, backwards)]
