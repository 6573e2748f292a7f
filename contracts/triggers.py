"""Triggers that make tables append-only and rows immutable, for SQLite and PostgreSQL.

Migrations call `protect`. Only tests call `unprotect`, to empty their tables.
"""

from typing import Any

# Append-only tables.
IMMUTABLE = (
    "contracts_receipt",
    "contracts_signature",
    "contracts_ledgerentry",
    "contracts_amendment",
    "contracts_deliverablemanifest",
)
# Append-only too, by a later migration.
STEPS = "contracts_cardstep"
PROVIDER = ("contracts_paymentintent", "contracts_providerevent")
LEDGER = "contracts_ledgerentry"
VERSIONS = "contracts_contractversion"
RECEIPTS = "contracts_receipt"
# Immutable columns of a contract version. The status and the signed copy are set later.
ISSUED = ("document_id", "number", "template", "clauses", "pdf", "sha256", "issued_at")
NEXT_NUMBER = (
    f"(SELECT COALESCE(MAX(number), 0) + 1 FROM {RECEIPTS} WHERE seller_id = NEW.seller_id)"
)


def protect(schema_editor: Any) -> None:
    for statement in _statements(schema_editor.connection.vendor):
        schema_editor.execute(statement)


def unprotect(schema_editor: Any) -> None:
    vendor = schema_editor.connection.vendor
    for statement in _reverse(vendor, _statements(vendor)):
        schema_editor.execute(statement)


def protect_steps(schema_editor: Any) -> None:
    for statement in _of_steps(schema_editor.connection.vendor):
        schema_editor.execute(statement)


def unprotect_steps(schema_editor: Any) -> None:
    vendor = schema_editor.connection.vendor
    for statement in _reverse(vendor, _of_steps(vendor)):
        schema_editor.execute(statement)


def protect_provider(schema_editor: Any) -> None:
    for statement in _of_provider(schema_editor.connection.vendor):
        schema_editor.execute(statement)


def unprotect_provider(schema_editor: Any) -> None:
    vendor = schema_editor.connection.vendor
    for statement in _reverse(vendor, _of_provider(vendor)):
        schema_editor.execute(statement)


def protect_reversals(schema_editor: Any) -> None:
    for statement in _of_reversals(schema_editor.connection.vendor):
        schema_editor.execute(statement)


def unprotect_reversals(schema_editor: Any) -> None:
    vendor = schema_editor.connection.vendor
    for statement in _reverse(vendor, _of_reversals(vendor)):
        schema_editor.execute(statement)


def _of_reversals(vendor: str) -> list[str]:
    """A reversal refers to an entry of the same booking and amount that is not a reversal."""
    same = " AND ".join(f"e.{name} = NEW.{name}" for name in ("leg_id", "amount_cents", "currency"))
    reversible = (
        f"EXISTS (SELECT 1 FROM {LEDGER} e WHERE e.id = NEW.reverses_id "
        f"AND e.kind <> 'reversal' AND {same})"
    )
    condition = f"NEW.reverses_id IS NOT NULL AND NOT {reversible}"
    if vendor == "sqlite":
        return [_when(LEDGER, "INSERT", "reversed", condition)]
    return [
        _function("contracts_reversed", _if(condition, "this entry cannot be reversed like that")),
        _trigger(LEDGER, "INSERT", "ROW", "contracts_reversed", "reversed"),
    ]


def _of_steps(vendor: str) -> list[str]:
    if vendor == "sqlite":
        kept = [_refuse(STEPS, verb) for verb in ("UPDATE", "DELETE")]
        return [*kept, _refuse_replacing(STEPS)]
    return [
        _function("contracts_steps", f"RAISE EXCEPTION '{_message(STEPS)}';"),
        _trigger(STEPS, "UPDATE OR DELETE", "ROW", "contracts_steps", "kept"),
        _trigger(STEPS, "TRUNCATE", "STATEMENT", "contracts_steps", "whole"),
    ]


def _of_provider(vendor: str) -> list[str]:
    if vendor == "sqlite":
        kept = [_refuse(table, verb) for table in PROVIDER for verb in ("UPDATE", "DELETE")]
        return kept + [_refuse_replacing(table) for table in PROVIDER]
    made = [_function("contracts_provider", "RAISE EXCEPTION 'events are never changed';")]
    for table in PROVIDER:
        made.append(_trigger(table, "UPDATE OR DELETE", "ROW", "contracts_provider", "kept"))
        made.append(_trigger(table, "TRUNCATE", "STATEMENT", "contracts_provider", "whole"))
    return made


def _statements(vendor: str) -> list[str]:
    return {"sqlite": _sqlite, "postgresql": _postgresql}[vendor]()


# --- SQLite


def _sqlite() -> list[str]:
    made = [_refuse(table, verb) for table in IMMUTABLE for verb in ("UPDATE", "DELETE")]
    # INSERT OR REPLACE deletes the old row without firing a DELETE trigger.
    made += [_refuse_replacing(table) for table in (*IMMUTABLE, VERSIONS)]
    made.append(_refuse(VERSIONS, "DELETE"))
    changed = " OR ".join(f"NEW.{name} IS NOT OLD.{name}" for name in ISSUED)
    made.append(_when(VERSIONS, "UPDATE", "issued", f"{changed} OR {_goes_back('IS NOT')}"))
    made.append(_when(RECEIPTS, "INSERT", "counted", f"NEW.number <> {NEXT_NUMBER}"))
    return made


def _refuse(table: str, verb: str) -> str:
    return _when(table, verb, "kept", "1")


def _refuse_replacing(table: str) -> str:
    there = f"EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id)"
    return _when(table, "INSERT", "kept", there)


def _when(table: str, verb: str, name: str, condition: str) -> str:
    return (
        f"CREATE TRIGGER {_name(table, verb, name)} BEFORE {verb} ON {table} "
        f"WHEN {condition} BEGIN SELECT RAISE(ABORT, '{_message(table)}'); END"
    )


def _goes_back(differs: str) -> str:
    """Forbids leaving void, going back to issued, and changing the signed copy."""
    return (
        "(OLD.status = 'void' AND NEW.status <> 'void') "
        "OR (OLD.status = 'in_force' AND NEW.status = 'issued') "
        f"OR (OLD.signed_pdf IS NOT NULL AND (NEW.signed_pdf {differs} OLD.signed_pdf "
        f"OR NEW.signed_sha256 {differs} OLD.signed_sha256))"
    )


# --- PostgreSQL


def _postgresql() -> list[str]:
    made = [
        _function("contracts_refuse", "RAISE EXCEPTION 'what is recorded here is never changed';"),
        _function("contracts_issued", _if(_issued_changed(), _message(VERSIONS))),
        _function("contracts_counted", _if(f"NEW.number <> {NEXT_NUMBER}", _message(RECEIPTS))),
    ]
    for table in IMMUTABLE:
        made.append(_trigger(table, "UPDATE OR DELETE", "ROW", "contracts_refuse", "kept"))
    made.append(_trigger(VERSIONS, "DELETE", "ROW", "contracts_refuse", "kept"))
    for table in (*IMMUTABLE, VERSIONS):
        made.append(_trigger(table, "TRUNCATE", "STATEMENT", "contracts_refuse", "whole"))
    made.append(_trigger(VERSIONS, "UPDATE", "ROW", "contracts_issued", "issued"))
    made.append(_trigger(RECEIPTS, "INSERT", "ROW", "contracts_counted", "counted"))
    return made


def _issued_changed() -> str:
    changed = " OR ".join(f"NEW.{name} IS DISTINCT FROM OLD.{name}" for name in ISSUED)
    return f"{changed} OR {_goes_back('IS DISTINCT FROM')}"


def _if(condition: str, message: str) -> str:
    return f"IF {condition} THEN RAISE EXCEPTION '{message}'; END IF; RETURN NEW;"


def _function(name: str, body: str) -> str:
    return (
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $body$ "
        f"BEGIN {body} END $body$"
    )


def _trigger(table: str, verb: str, each: str, function: str, name: str) -> str:
    return (
        f"CREATE TRIGGER {_name(table, verb.split()[0], name)} BEFORE {verb} ON {table} "
        f"FOR EACH {each} EXECUTE FUNCTION {function}()"
    )


def _name(table: str, verb: str, name: str) -> str:
    return f"{table}_{name}_{verb.lower()}"


def _message(table: str) -> str:
    if table == RECEIPTS:
        return "receipts are numbered without a gap and never changed"
    return f"{table} is never changed"


# --- Removal


def _reverse(vendor: str, statements: list[str]) -> list[str]:
    made = [statement.split() for statement in statements]
    triggers = [words for words in made if words[1] == "TRIGGER"]
    functions = [words[2] for words in made if words[1] == "FUNCTION"]
    if vendor == "sqlite":
        return [f"DROP TRIGGER {words[2]}" for words in triggers]
    tables = [words[words.index("ON") + 1] for words in triggers]
    gone = [f"DROP TRIGGER {w[2]} ON {table}" for w, table in zip(triggers, tables, strict=True)]
    return gone + [f"DROP FUNCTION {name}" for name in functions]
