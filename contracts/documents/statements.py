"""The statement of a booking: all charges, payments and refunds, as PDF and CSV.

It depends on the records only, so that the same records always give the same bytes.
"""

import csv
import io
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate

from contracts.documents.receipts import receipt_title
from contracts.models import Amendment, LedgerEntry, Leg
from contracts.models.money import METHOD_LABELS, PAYMENT, REPAYMENT
from contracts.money import format_amount, to_decimal
from core.time_zones import local_time, zone_of

COLUMNS = ("Date", "Description", "Charge", "Credit", "Balance")
# A spreadsheet would run a cell that begins with one of these as a formula.
FORMULA_PREFIXES = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True)
class StatementRow:
    """A charge increases the balance; a credit, which is negative, reduces it."""

    at: datetime
    description: str
    cents: int
    balance_cents: int = 0


@dataclass(frozen=True)
class Statement:
    leg: Leg
    rows: tuple[StatementRow, ...]

    @property
    def as_of(self) -> datetime:
        return self.rows[-1].at

    @property
    def balance_cents(self) -> int:
        return self.rows[-1].balance_cents


def make_statement(leg: Leg) -> Statement:
    ledger = leg.ledger.select_related("receipt", "reverses__receipt").order_by("id")
    rows = [
        StatementRow(leg.created_at, f"Price: {leg.service}", leg.price_cents),
        *(_amendment(each) for each in leg.amendments.order_by("made_at", "id")),
        *(_entry(each) for each in ledger),
    ]
    # Stable: of two rows of the same second, charges come first.
    rows.sort(key=lambda row: row.at.replace(microsecond=0))
    balances = accumulate(row.cents for row in rows)
    return Statement(
        leg,
        tuple(
            StatementRow(row.at, row.description, row.cents, balance)
            for row, balance in zip(rows, balances, strict=True)
        ),
    )


def _amendment(amendment: Amendment) -> StatementRow:
    titles = [str(item["title"]) for item in amendment.items if "title" in item]
    description = ": ".join([amendment.kind.capitalize(), ", ".join(titles)] if titles else [])
    return StatementRow(
        amendment.made_at, description or amendment.kind.capitalize(), amendment.amount_cents
    )


def _entry(entry: LedgerEntry) -> StatementRow:
    is_credit = entry.kind == PAYMENT or (entry.reverses and entry.reverses.kind == REPAYMENT)
    description = receipt_title(entry.receipt)
    if entry.method:
        description += f", {METHOD_LABELS[entry.method].lower()}"
    if entry.reverses:
        description += f" (reverses {entry.reverses.receipt.number})"
    cents = -entry.amount_cents if is_credit else entry.amount_cents
    return StatementRow(entry.recorded_at, description, cents)


def statement_csv(statement: Statement) -> bytes:
    """Amounts are plain decimal numbers; the byte order mark makes spreadsheets read UTF-8."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*COLUMNS, "Currency"])
    currency = statement.leg.currency
    for row in statement.rows:
        charge, credit = max(row.cents, 0), max(-row.cents, 0)
        amounts = [to_decimal(cents, currency) if cents else "" for cents in (charge, credit)]
        balance = to_decimal(row.balance_cents, currency)
        day, text = _day(statement, row), escape_formula(row.description)
        writer.writerow([day, text, *amounts, balance, currency])
    return b"\xef\xbb\xbf" + out.getvalue().encode()


def escape_formula(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA_PREFIXES) else text


def _day(statement: Statement, row: StatementRow) -> str:
    return local_time(row.at, zone_of(statement.leg.time_zone)).date().isoformat()


def statement_pdf(statement: Statement) -> bytes:
    # See contracts/actions/documents.py.
    from contracts.documents import pdf

    leg = statement.leg

    def money(cents: int) -> str:
        return format_amount(cents, leg.currency)

    rows = [
        (
            _day(statement, row),
            row.description,
            money(row.cents) if row.cents > 0 else "",
            money(-row.cents) if row.cents < 0 else "",
            money(row.balance_cents),
        )
        for row in statement.rows
    ]
    heads = {
        "Seller": leg.seller.display_name,
        "Buyer": leg.buyer.display_name,
        "Last entry": f"{statement.as_of:%d %B %Y, %H:%M} UTC",
        "Outstanding" if statement.balance_cents >= 0 else "To be repaid": money(
            abs(statement.balance_cents)
        ),
    }
    return pdf.statement(
        title=f"Statement: {leg.service}",
        number=leg.id,
        made_at=statement.as_of,
        heads=heads,
        columns=COLUMNS,
        rows=rows,
    )
