"""The audit only grows: the database itself refuses to change or remove an entry, whoever asks.

The end of it, which each entry moves, goes forward by one and goes nowhere else; it can be removed
only when there is nothing left that it would be the end of.
"""

from django.db import migrations

ENTRY, HEAD = "moderation_auditentry", "moderation_audithead"

SQLITE = [
    f"""CREATE TRIGGER audit_no_update BEFORE UPDATE ON {ENTRY}
BEGIN SELECT RAISE(ABORT, 'The audit is append-only.'); END;""",
    f"""CREATE TRIGGER audit_no_delete BEFORE DELETE ON {ENTRY}
BEGIN SELECT RAISE(ABORT, 'The audit is append-only.'); END;""",
    # REPLACE removes a row without asking the trigger above.
    f"""CREATE TRIGGER audit_no_replace BEFORE INSERT ON {ENTRY}
WHEN EXISTS (SELECT 1 FROM {ENTRY} WHERE number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'The audit is append-only.'); END;""",
    f"""CREATE TRIGGER audit_head_no_replace BEFORE INSERT ON {HEAD}
WHEN EXISTS (SELECT 1 FROM {ENTRY})
BEGIN SELECT RAISE(ABORT, 'The audit only grows.'); END;""",
    f"""CREATE TRIGGER audit_head_forward BEFORE UPDATE ON {HEAD}
WHEN NEW.number <> OLD.number + 1
BEGIN SELECT RAISE(ABORT, 'The audit only grows.'); END;""",
    f"""CREATE TRIGGER audit_head_stays BEFORE DELETE ON {HEAD}
WHEN EXISTS (SELECT 1 FROM {ENTRY})
BEGIN SELECT RAISE(ABORT, 'The audit only grows.'); END;""",
]

POSTGRESQL = f"""
CREATE FUNCTION audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION 'The audit is append-only.'; END $$;
CREATE FUNCTION audit_refuse_if_any() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM {ENTRY}) THEN RAISE EXCEPTION 'The audit only grows.'; END IF;
  IF TG_LEVEL = 'ROW' THEN RETURN OLD; END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON {ENTRY}
  FOR EACH ROW EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_no_truncate BEFORE TRUNCATE ON {ENTRY}
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_if_any();
CREATE TRIGGER audit_head_forward BEFORE UPDATE ON {HEAD}
  FOR EACH ROW WHEN (NEW.number <> OLD.number + 1) EXECUTE FUNCTION audit_refuse();
CREATE TRIGGER audit_head_stays BEFORE DELETE ON {HEAD}
  FOR EACH ROW EXECUTE FUNCTION audit_refuse_if_any();
CREATE TRIGGER audit_head_no_truncate BEFORE TRUNCATE ON {HEAD}
  FOR EACH STATEMENT EXECUTE FUNCTION audit_refuse_if_any();
"""

UNDO_SQLITE = [
    """DROP TRIGGER audit_no_update;""",
    """DROP TRIGGER audit_no_delete;""",
    """DROP TRIGGER audit_no_replace;""",
    """DROP TRIGGER audit_head_no_replace;""",
    """DROP TRIGGER audit_head_forward;""",
    """DROP TRIGGER audit_head_stays;""",
]

UNDO_POSTGRESQL = f"""
DROP TRIGGER audit_append_only ON {ENTRY};
DROP TRIGGER audit_no_truncate ON {ENTRY};
DROP TRIGGER audit_head_forward ON {HEAD};
DROP TRIGGER audit_head_stays ON {HEAD};
DROP TRIGGER audit_head_no_truncate ON {HEAD};
DROP FUNCTION audit_refuse();
DROP FUNCTION audit_refuse_if_any();
"""


def run(sqlite, postgresql):
    def change(apps, schema_editor):
        vendor = schema_editor.connection.vendor
        if vendor not in ("sqlite", "postgresql"):
            raise NotImplementedError(f"The audit cannot be protected on {vendor}.")
        with schema_editor.connection.cursor() as cursor:
            for statement in [postgresql] if vendor == "postgresql" else sqlite:
                cursor.execute(statement)

    return change


class Migration(migrations.Migration):
    dependencies = [("moderation", "0001_cases")]

    operations = [
        migrations.RunPython(run(SQLITE, POSTGRESQL), run(UNDO_SQLITE, UNDO_POSTGRESQL)),
    ]
