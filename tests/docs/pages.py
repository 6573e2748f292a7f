"""Parses the documentation: sections, tables and code between backticks."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def read(name: str) -> str:
    return (DOCS / name).read_text()


def section(page: str, heading: str) -> str:
    """The text up to the next heading of the same or a higher level."""
    level = heading.split(" ")[0]
    _, found, rest = f"\n{page}".partition(f"\n{heading}\n")
    assert found, f"there is no section {heading!r}"
    return re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def headings(text: str, level: str = "###") -> list[str]:
    return re.findall(rf"^{level} (.+)$", text, re.MULTILINE)


def rows(text: str) -> list[dict[str, str]]:
    """The rows of the first table, keyed by column; empty if there is no table."""
    lines = re.search(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    if lines is None:
        return []
    head, rule, *body = [_cells(line) for line in lines[0].splitlines()]
    assert all(set(cell) == {"-"} for cell in rule), f"not a table: {head}"
    return [dict(zip(head, cells, strict=True)) for cells in body]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def only(cell: str) -> str:
    """The text between the only pair of backticks of a cell."""
    (name,) = quoted(cell)
    return name
