"""The directory and a profile cost the same with ten sellers and with a hundred thousand."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import combinations

import pytest
from django.db import connection

from people.models import PortfolioImage
from people.search import query
from tests.accounts.conftest import sign_in
from tests.people.bulk_sellers import FIRST, add_sellers

pytestmark = [pytest.mark.storage, pytest.mark.slow, pytest.mark.django_db]

FEW, MANY = 10, 100_000
FILTERS = ("craft=photographer", "city=Lisbon", "language=en")
COMBINATIONS = ["&".join(chosen) for n in range(4) for chosen in combinations(FILTERS, n)]
RARE = f"q=rare{FIRST + 5}"
SEARCHES = [f"{RARE}&{filters}" for filters in COMBINATIONS]
# Words that a large part of all sellers have: as many of them are read as a search may read.
COMMON_SEARCHES = ["q=seller", "q=photographer", "q=photographer+lisbon+seller", "q=ph+sel"]
COMMON_SEARCHES += [f"q=seller&{filters}" for filters in COMBINATIONS]
TABLES = r"people_\w+|accounts_user|accounts_block"


class Statements(list[tuple[str, object]]):
    """The SQL statements of a page."""

    def record(self, execute: Callable, sql: str, params: object, many: bool, context: dict):
        self.append((sql, params))
        return execute(sql, params, many, context)


@contextmanager
def recorded() -> Iterator[Statements]:
    statements = Statements()
    with connection.execute_wrapper(statements.record):
        yield statements


def work_of(statements: Statements) -> int:
    """Instructions of SQLite's virtual machine, or rows that PostgreSQL reads."""
    if connection.vendor == "sqlite":
        return sum(_count_instructions(*statement) for statement in statements)
    return sum(_count_rows(plan) for plan in explain(statements, "ANALYZE, "))


def _count_instructions(sql: str, params: object) -> int:
    count = 0

    def tick() -> None:
        nonlocal count
        count += 1

    connection.connection.set_progress_handler(tick, 1)
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            cursor.fetchall()
    finally:
        connection.connection.set_progress_handler(None, 0)
    return count


def explain(statements: Statements, options: str = "") -> list[dict]:
    plans = []
    with connection.cursor() as cursor:
        for sql, params in statements:
            cursor.execute(f"EXPLAIN ({options}FORMAT JSON) {sql}", params)
            (plan,) = cursor.fetchone()
            plans.append((json.loads(plan) if isinstance(plan, str) else plan)[0]["Plan"])
    return plans


def _count_rows(plan: dict) -> int:
    read = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)
    return plan["Actual Loops"] * read + sum(_count_rows(each) for each in plan.get("Plans", ()))


def scans_of(statements: Statements) -> list[str]:
    """Tables that are read completely, and sorts of the directory."""
    if connection.vendor == "postgresql":
        return [found for plan in explain(statements) for found in _postgres_scans(plan)]
    found = []
    with connection.cursor() as cursor:
        for sql, params in statements:
            cursor.execute(f"EXPLAIN QUERY PLAN {sql}", params)
            found += [row[3] for row in cursor.fetchall()]
    # The cities are in the order of an index, which is also a scan.
    scans = [line for line in found if re.match(rf"SCAN ({TABLES})", line)]
    return [line for line in scans if not line.endswith("USING INDEX largest_cities")]


def _postgres_scans(plan: dict) -> list[str]:
    # A table without rows is always read completely; the portfolio is one here.
    is_scan = (
        plan["Node Type"] == "Seq Scan"
        and re.match(TABLES, plan["Relation Name"])
        and plan["Relation Name"] != PortfolioImage._meta.db_table
    )
    own = [plan["Relation Name"]] if is_scan else []
    return own + [found for each in plan.get("Plans", ()) for found in _postgres_scans(each)]


@pytest.fixture
def visit(make_client, make_seller, mara, monkeypatch):
    # No more than the smaller directory has, so that both show the same number.
    monkeypatch.setattr(query, "PAGE_SIZE", FEW - 2)
    monkeypatch.setattr(query, "MAX_CITIES", FEW - 2)
    client = make_client()
    sign_in(client, mara)

    def get(path: str) -> Statements:
        with recorded() as statements:
            assert client.get(path).status_code == 200
        return statements

    return get


def measure(visit: Callable, paths: list[str]) -> dict[str, int]:
    return {path: work_of(visit(path)) for path in paths}


def test_pages_cost_the_same_with_ten_and_with_a_hundred_thousand_sellers(visit, make_seller):
    template = make_seller("Sam Seller", city="Lisbon", headline="Light", verified=True)
    paths = [f"/people/?{given}" for given in (*COMBINATIONS, *SEARCHES)]
    paths.append(f"/people/{template.handle}/")
    add_sellers(template, FEW)
    few = measure(visit, paths)
    add_sellers(template, MANY - FEW, first=FIRST + FEW)
    many = measure(visit, paths)
    grown = {path: (few[path], work) for path, work in many.items() if work > 1.2 * few[path]}
    assert grown == {}
    for path in (*paths, *(f"/people/?{given}" for given in COMMON_SEARCHES)):
        assert scans_of(visit(path)) == [], path
