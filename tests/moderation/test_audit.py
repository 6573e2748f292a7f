"""The audit is append-only and reveals tampering, on SQLite and on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from moderation.audit import find_faults, record
from moderation.models import AuditEntry, AuditHead

pytestmark = [pytest.mark.storage, pytest.mark.django_db]

ENTRY, HEAD = "moderation_auditentry", "moderation_audithead"
TRIGGERS = {
    "sqlite": ["audit_no_update", "audit_no_delete", "audit_head_forward", "audit_head_stays"],
    "postgresql": ["audit_append_only"],
}


@pytest.fixture
def entries(moderator):
    return [record(moderator, f"case.{n}", case_id="case_1", note=f"é {n}") for n in range(5)]


def sql(statement: str, *values: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def remove_triggers() -> None:
    """Disables the triggers, as a database owner could."""
    if connection.vendor == "sqlite":
        for name in TRIGGERS["sqlite"]:
            sql(f"DROP TRIGGER {name}")
    else:
        for table in (ENTRY, HEAD):
            sql(f"ALTER TABLE {table} DISABLE TRIGGER USER")


REFUSED = {
    "orm save": lambda e: e.save(),
    "orm update": lambda e: AuditEntry.objects.filter(pk=e.pk).update(reason="Another"),
    "orm delete": lambda e: e.delete(),
    "orm delete all": lambda e: AuditEntry.objects.all().delete(),
    "orm bulk": lambda e: AuditEntry.objects.bulk_update([e], ["reason"]),
    "orm upsert": lambda e: AuditEntry.objects.bulk_create(
        [e], update_conflicts=True, unique_fields=["number"], update_fields=["reason"]
    ),
    "orm head": lambda e: AuditHead.objects.update(number=2),
    "orm head delete": lambda e: AuditHead.objects.all().delete(),
    "sql update": lambda e: sql(f"UPDATE {ENTRY} SET actor = 'me'"),
    "sql delete": lambda e: sql(f"DELETE FROM {ENTRY}"),
    "sql delete one": lambda e: sql(f"DELETE FROM {ENTRY} WHERE number = %s", e.pk),
    "sql head": lambda e: sql(f"UPDATE {HEAD} SET number = 0"),
    "sql head delete": lambda e: sql(f"DELETE FROM {HEAD}"),
}


@pytest.mark.parametrize("attempt", REFUSED)
def test_an_entry_cannot_be_changed_or_removed(entries, attempt):
    before = list(AuditEntry.objects.values())
    with pytest.raises(DatabaseError), transaction.atomic():
        REFUSED[attempt](entries[2])
    assert list(AuditEntry.objects.values()) == before
    assert list(find_faults()) == []


def test_the_audit_cannot_be_truncated_or_replaced(entries):
    if connection.vendor == "postgresql":
        attempts = [f"TRUNCATE {ENTRY}", f"TRUNCATE {HEAD}"]
    else:
        columns = "number, at, actor, act, 'case', target, reason, details, previous_hash, hash"
        again = f"SELECT {columns.replace('actor', 'act')} FROM {ENTRY}"
        attempts = [
            f"REPLACE INTO {ENTRY} {again}",
            f"REPLACE INTO {HEAD} (id, number, hash) VALUES (1, 0, '')",
        ]
    for attempt in attempts:
        with pytest.raises(DatabaseError):
            sql(attempt)
    assert AuditEntry.objects.count() == 5
    assert list(find_faults()) == []


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        ("DELETE FROM {e} WHERE number = 3", "Entry 3 is missing."),
        ("DELETE FROM {e} WHERE number IN (2, 3)", "Entries 2 to 3 are missing."),
        ("DELETE FROM {e} WHERE number = 1", "Entry 1 is missing."),
        ("DELETE FROM {e} WHERE number = 5", "Entry 5 is missing."),
        ("DELETE FROM {e}", "Entries 1 to 5 are missing."),
        ("UPDATE {e} SET reason = 'Because' WHERE number = 4", "Entry 4 was changed after"),
        (
            "UPDATE {e} SET at = '2020-01-01 00:00:00+00:00' WHERE number = 2",
            "Entry 2 was changed after",
        ),
        ("DELETE FROM {h}", "The last entry does not match"),
    ],
)
def test_tampering_is_detected(entries, tamper, message, capsys):
    call_command("verify_audit")
    assert "5 entries" in capsys.readouterr().out
    remove_triggers()
    sql(tamper.format(e=ENTRY, h=HEAD))
    with pytest.raises(CommandError):
        call_command("verify_audit")
    assert message in capsys.readouterr().err


def test_a_rehashed_entry_does_not_match_the_next_one(entries):
    remove_triggers()
    third = AuditEntry.objects.get(number=3)
    third.actor = "somebody"
    from moderation.audit import hash_entry

    third.hash = hash_entry(third)
    third.save()
    assert list(find_faults()) == ["Entry 4 does not match the hash of the one before it."]


@pytest.mark.django_db(transaction=True)
def test_concurrent_entries_form_one_chain(person):
    staff = person("Mo")

    def write(number: int) -> None:
        try:
            record(staff, "case.look", case_id=f"case_{number}")
        finally:
            connection.close()

    try:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(write, range(24)))
        assert list(AuditEntry.objects.values_list("number", flat=True)) == list(range(1, 25))
        assert list(find_faults()) == []
    finally:
        clear_audit()


def clear_audit() -> None:
    """Removes the triggers while deleting, since the test database could not be emptied
    otherwise."""
    triggers = []
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "SELECT name, sql FROM sqlite_master WHERE name LIKE 'audit!_%' ESCAPE '!'"
            )
            triggers = cursor.fetchall()
            for name, _ in triggers:
                cursor.execute(f"DROP TRIGGER {name}")
        else:
            cursor.execute(f"ALTER TABLE {ENTRY} DISABLE TRIGGER USER")
        cursor.execute(f"DELETE FROM {ENTRY}")
        if connection.vendor == "postgresql":
            cursor.execute(f"ALTER TABLE {ENTRY} ENABLE TRIGGER USER")
        for _, definition in triggers:
            cursor.execute(definition)
