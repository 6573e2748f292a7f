"""What a page may cost: requests and queries are counted, files come at once and stay for good."""

import posixpath
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from messaging_site.script_modules import list_imports
from tests.indexes import settle
from tests.threads.conftest import make_person, say, start
from threads.dynamodb.store import count_requests

STATIC = Path(settings.BASE_DIR) / "static"


@pytest.fixture
def visit(db):
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    say(seller, thread, "Gladly")
    client = Client()
    client.force_login(buyer)
    pages = {"inbox": "/inbox/", "thread": f"/threads/{thread}/"}
    for path in pages.values():
        client.get(path)
    settle()
    return lambda page: client.get(pages[page])


@pytest.mark.parametrize("page", ["inbox", "thread"])
def test_asks_sql_for_the_session_and_the_person_and_nothing_else(visit, page):
    with CaptureQueriesContext(connection) as sql:
        assert visit(page).status_code == 200
    tables = [re.search(r'FROM "(\w+)"', query["sql"]).group(1) for query in sql]
    assert sorted(tables) == ["accounts_user", "django_session"]


@pytest.mark.parametrize(("page", "most"), [("inbox", 4), ("thread", 6)])
def test_asks_the_table_a_counted_number_of_times(visit, page, most):
    with count_requests() as requests:
        visit(page)
    assert len(requests) <= most, requests


def test_every_module_of_a_page_is_named_at_once(visit):
    text = visit("thread").content.decode()
    named = re.findall(r'rel="modulepreload" href="[^"]*/static/([^"]+)"', text)
    plain = {re.sub(r"\.[0-9a-f]{12}\.js$", ".js", name) for name in named}
    assert plain == set(list_imports("site/page.js"))
    assert "threads/timeline.js" in plain
    assert all(re.search(r"\.[0-9a-f]{12}\.js$", name) for name in named), "By hash, for good."


def test_no_import_is_overlooked():
    """Wherever a line names another module, the pattern has found it."""
    for path in STATIC.rglob("*.js"):
        lines = path.read_text().splitlines()
        named = {line.split('"')[-2] for line in lines if re.search(r' from "\.|^import "\.', line)}
        own = path.relative_to(STATIC).as_posix()
        direct = {posixpath.normpath(posixpath.join(posixpath.dirname(own), one)) for one in named}
        assert direct - {own} <= set(list_imports(own)), own


def test_styles_and_scripts_are_kept_compressed():
    root = Path(settings.STATIC_ROOT)
    files = [path for kind in ("js", "css") for path in root.rglob(f"*.{kind}")]
    long = [path for path in files if path.stat().st_size > 2_000]
    assert long
    assert all(path.with_name(f"{path.name}.gz").exists() for path in long)
