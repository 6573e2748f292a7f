"""The audit only grows, and shows when it was tampered with: on SQLite and on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction

from moderation.audit import find_faults, record
from moderation.models import AuditEntry, AuditHead

pytestmark = [pytest.mark.storage, pytest.mark.django_db]

ENTRY, HEAD = "moderation_auditentry", "moderation_audithead"
GUARDS = {
    "sqlite": ["audit_no_update", "audit_no_delete", "audit_head_forward", "audit_head_stays"],
    "postgresql": ["audit_append_only"],
}


@pytest.fixture
def entries(moderator):
    return [record(moderator, f"case.{n}", case_id="case_1", note=f"é {n}") for n in range(5)]


def sql(statement: str, *values: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def without_guards() -> None:
    """As somebody does who may do anything to the database."""
    if connection.vendor == "sqlite":
        for name in GUARDS["sqlite"]:
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
def test_nobody_changes_or_removes_an_entry(entries, attempt):
    before = list(AuditEntry.objects.values())
    with pytest.raises(DatabaseError), transaction.atomic():
        REFUSED[attempt](entries[2])
    assert list(AuditEntry.objects.values()) == before
    assert list(find_faults()) == []


def test_nor_all_of_it_at_once_or_by_replacing(entries):
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
    ("tamper", "said"),
    [
        ("DELETE FROM {e} WHERE number = 3", "Entry 3 is missing."),
        ("DELETE FROM {e} WHERE number IN (2, 3)", "Entries 2 to 3 are missing."),
        ("DELETE FROM {e} WHERE number = 1", "Entry 1 is missing."),
        ("DELETE FROM {e} WHERE number = 5", "Entry 5 is missing."),
        ("DELETE FROM {e}", "Entries 1 to 5 are missing."),
        ("UPDATE {e} SET reason = 'Because' WHERE number = 4", "Entry 4 is not as it was written."),
        ("UPDATE {e} SET at = '2020-01-01 00:00:00+00:00' WHERE number = 2", "Entry 2 is not as"),
        ("DELETE FROM {h}", "The end of the audit is not where it was."),
    ],
)
def test_what_was_done_behind_its_back_is_found(entries, tamper, said, capsys):
    call_command("verify_audit")
    assert "5 entries" in capsys.readouterr().out
    without_guards()
    sql(tamper.format(e=ENTRY, h=HEAD))
    with pytest.raises(CommandError):
        call_command("verify_audit")
    assert said in capsys.readouterr().err


def test_a_chain_that_was_made_anew_does_not_join_on(entries):
    without_guards()
    third = AuditEntry.objects.get(number=3)
    third.actor = "somebody"
    from moderation.audit import hash_entry

    third.hash = hash_entry(third)
    third.save()
    assert list(find_faults()) == ["Entry 4 does not follow from the one before it."]


@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_one_chain(person):
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
    """Or this test's database could not be emptied for the next one, which is the point of it."""
    guards = []
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "SELECT name, sql FROM sqlite_master WHERE name LIKE 'audit!_%' ESCAPE '!'"
            )
            guards = cursor.fetchall()
            for name, _ in guards:
                cursor.execute(f"DROP TRIGGER {name}")
        else:
            cursor.execute(f"ALTER TABLE {ENTRY} DISABLE TRIGGER USER")
        cursor.execute(f"DELETE FROM {ENTRY}")
        if connection.vendor == "postgresql":
            cursor.execute(f"ALTER TABLE {ENTRY} ENABLE TRIGGER USER")
        for _, made_by in guards:
            cursor.execute(made_by)
