"""Every page of docs/decisions/ has the sections of a decision."""

import pytest

from tests.docs import pages

DECISIONS = sorted((pages.DOCS / "decisions").glob("*.md"))
HEADINGS = ["What", "Why", "Compared with", "When to drop it"]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_has_every_section_in_order(path):
    found = [line.removeprefix("## ") for line in path.read_text().splitlines()]
    assert [line for line in found if line in HEADINGS] == HEADINGS
