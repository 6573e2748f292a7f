"""The cost of a page: DynamoDB requests, SQL queries, and preloaded immutable files."""

import posixpath
import re
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.template.backends.django import Template
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core.fragments import FragmentCache
from messaging_site.script_modules import list_imports
from tests.indexes import settle
from tests.threads.conftest import make_person, say, start
from threads.dynamodb.store import Store, count_requests
from threads.rendering import timeline

STATIC = Path(settings.BASE_DIR) / "static"


@pytest.fixture
def visit(db):
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    for _ in range(30):
        say(seller, thread, "Gladly")
    client = Client()
    client.force_login(buyer)
    pages = {
        "inbox": "/inbox/",
        "thread": f"/threads/{thread}/",
        "search": "/inbox/search/?q=gladly",
        "shortcuts": "/inbox/keys/",
    }
    for path in pages.values():
        client.get(path)
    settle()
    return lambda page: client.get(pages[page])


@pytest.mark.parametrize("page", ["inbox", "thread"])
def test_a_page_queries_sql_once_for_the_session_and_the_user(visit, page):
    with CaptureQueriesContext(connection) as sql:
        assert visit(page).status_code == 200
    (query,) = sql
    assert {"django_session", "accounts_user"} <= set(re.findall(r"\w+", query["sql"]))


@pytest.mark.parametrize(("page", "max_requests"), [("inbox", 4), ("thread", 6)])
def test_a_page_makes_a_limited_number_of_dynamodb_requests(visit, page, max_requests):
    with count_requests() as requests:
        visit(page)
    assert len(requests) <= max_requests, requests


@pytest.mark.parametrize(("page", "max_trips"), [("inbox", 2), ("thread", 2)])
def test_independent_reads_of_a_page_run_at_the_same_time(visit, page, max_trips, monkeypatch):
    """Every request takes a while; the longest chain of those that waited for each other counts."""
    trips: list[tuple[float, float]] = []

    def slow(make, *args, **kwargs):
        started_at = time.monotonic()
        time.sleep(0.2)
        result = make(*args, **kwargs)
        trips.append((started_at, time.monotonic()))
        return result

    call = Store._make_api_call
    monkeypatch.setattr(Store, "_make_api_call", lambda *args: slow(call, *args))
    with connection.execute_wrapper(slow):
        assert visit(page).status_code == 200
    assert len(trips) > max_trips
    assert _longest_chain(trips) <= max_trips, trips


def _longest_chain(trips: list[tuple[float, float]]) -> int:
    count, end = 0, 0.0
    for started_at, ended_at in sorted(trips, key=lambda trip: trip[1]):
        if started_at >= end:
            count, end = count + 1, ended_at
    return count


def test_fragments_save_processor_time(visit, monkeypatch):
    """Compares a page with and without fragments, alternately; it takes about half of the time."""
    times: dict[bool, list[float]] = {True: [], False: []}
    for is_cached in (True, False) * 6:
        with monkeypatch.context() as patch:
            if not is_cached:
                patch.setattr(FragmentCache, "get", lambda self, key: None)
                patch.setattr(timeline, "is_plain", lambda message: False)
            started_at = time.process_time()
            visit("thread")
            times[is_cached].append(time.process_time() - started_at)
    assert min(times[True]) <= 0.75 * min(times[False])


@pytest.mark.parametrize("page", ["inbox", "thread", "search", "shortcuts"])
def test_templates_make_no_requests(visit, page, monkeypatch):
    reads: list[str] = []
    render = Template.render

    def render_counted(template, *args, **kwargs):
        with count_requests() as requests, CaptureQueriesContext(connection) as sql:
            html = render(template, *args, **kwargs)
        reads.extend([*requests, *(query["sql"] for query in sql)])
        return html

    monkeypatch.setattr(Template, "render", render_counted)
    assert visit(page).status_code == 200
    assert reads == []


def test_every_module_of_a_page_is_preloaded(visit):
    text = visit("thread").content.decode()
    named = re.findall(r'rel="modulepreload" href="[^"]*/static/([^"]+)"', text)
    plain = {re.sub(r"\.[0-9a-f]{12}\.js$", ".js", name) for name in named}
    assert plain == set(list_imports("site/main.js"))
    assert "threads/timeline.js" in plain
    assert all(re.search(r"\.[0-9a-f]{12}\.js$", name) for name in named), (
        "Files have hashed names, so that they can be cached for ever."
    )


def test_no_import_is_overlooked():
    """The pattern finds every line that names another module."""
    for path in STATIC.rglob("*.js"):
        lines = path.read_text().splitlines()
        named = {line.split('"')[-2] for line in lines if re.search(r' from "\.|^import "\.', line)}
        own = path.relative_to(STATIC).as_posix()
        direct = {posixpath.normpath(posixpath.join(posixpath.dirname(own), one)) for one in named}
        assert direct - {own} <= set(list_imports(own)), own


def test_styles_and_scripts_are_stored_compressed():
    root = Path(settings.STATIC_ROOT)
    files = [path for kind in ("js", "css") for path in root.rglob(f"*.{kind}")]
    long = [path for path in files if path.stat().st_size > 2_000]
    assert long
    assert all(path.with_name(f"{path.name}.gz").exists() for path in long)
