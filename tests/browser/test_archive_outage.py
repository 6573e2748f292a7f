"""Placeholders for archived messages during an outage of the archive, and their replacement."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.site import read_pair

pytestmark = pytest.mark.browser

PLACEHOLDER = "This older message can't be loaded right now."
NOTE = "Some older messages can't be loaded right now."


@pytest.fixture
def archive_outage(site):
    """A thread whose messages are in an unavailable archive, and a function that restores it."""
    made = site.seed_load("--pairs", "1", "--messages", "70")
    pair = read_pair(json.loads(made)["pairs"][0])
    recent = datetime.now(UTC).date() - timedelta(days=7)
    site.manage("archive_messages", "--older-than", "0d", "--since", recent.isoformat())
    archive = Path(site.env["PARLEY_DATA"]) / "archive"
    moved = archive.with_name("archive-aside")
    archive.rename(moved)

    def restore_archive() -> None:
        if moved.exists():
            os.replace(moved, archive)

    yield pair, restore_archive
    restore_archive()


def test_placeholders_become_the_messages_when_the_archive_is_back(visit, archive_outage):
    pair, restore_archive = archive_outage
    page = visit(pair.buyer, f"/threads/{pair.thread}/")
    expect(page.get_by_text(PLACEHOLDER)).to_have_count(50)
    expect(page.get_by_text(NOTE)).to_be_visible()
    ids = page.locator(".message").evaluate_all("all => all.map(one => one.id)")
    restore_archive()
    expect(page.get_by_text(PLACEHOLDER)).to_have_count(0, timeout=60_000)
    expect(page.get_by_text(NOTE)).to_have_count(0)
    assert page.locator(".message").evaluate_all("all => all.map(one => one.id)") == ids
    assert all(page.locator(".message .prose").all_inner_texts())
