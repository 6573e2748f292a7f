"""The cost of a page: DynamoDB requests, SQL queries, and preloaded immutable files."""

import posixpath
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.template.backends.django import Template
from django.test import Client
from django.test.utils import CaptureQueriesContext

from core.fragments import FragmentCache
from messaging_site.script_modules import list_imports
from tests.indexes import settle
from tests.threads.conftest import make_person, messages_of, say, start
from threads.actions.cursors import mark_read
from threads.dynamodb.store import Store, count_requests
from threads.queries import PAGE_SIZE
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


@pytest.mark.parametrize(("page", "expected"), [("inbox", 4), ("thread", 5)])
def test_a_page_makes_a_fixed_number_of_dynamodb_requests(visit, page, expected):
    with count_requests() as requests:
        visit(page)
    assert len(requests) == expected, requests


class Trips(list[tuple[float, float]]):
    """The begin and end of each request to a store. Every request takes a while."""

    def make(self, request, *args, **kwargs):
        started_at = time.monotonic()
        time.sleep(0.2)
        result = request(*args, **kwargs)
        self.append((started_at, time.monotonic()))
        return result

    @property
    def longest_chain(self) -> int:
        """The number of requests that waited for each other."""
        count, end = 0, 0.0
        for started_at, ended_at in sorted(self, key=lambda trip: trip[1]):
            if started_at >= end:
                count, end = count + 1, ended_at
        return count


@pytest.fixture
def trips(monkeypatch) -> Iterator[Trips]:
    trips = Trips()
    for client, name in ((Store, "_make_api_call"), (redis.Redis, "execute_command")):
        call = getattr(client, name)
        monkeypatch.setattr(
            client, name, lambda *args, call=call, **kw: trips.make(call, *args, **kw)
        )
    with connection.execute_wrapper(trips.make):
        yield trips


@pytest.mark.live
@pytest.mark.parametrize("page", ["inbox", "thread"])
def test_independent_reads_of_a_page_run_at_the_same_time(visit, page, trips):
    """SQL comes first, and then DynamoDB; Redis, if there is one, knows the recent writes."""
    assert visit(page).status_code == 200
    assert len(trips) > trips.longest_chain
    assert trips.longest_chain == (3 if settings.REDIS_URL else 2), trips


@pytest.mark.live
@pytest.mark.parametrize("is_read", [True, False])
def test_a_thread_page_never_waits_for_more_than_three_requests(is_read, db, request):
    """A quoted message, or unread messages, that are not on the newest page."""
    buyer, seller = make_person("Bea"), make_person("Sam")
    thread = start(buyer, seller)
    first = messages_of(thread)[0].id
    for left in range(PAGE_SIZE, -1, -1):
        newest = say(seller, thread, reply_to=None if left or not is_read else first)
    if is_read:
        position = {"message_id": newest.id, "seq": newest.seq, "tally": newest.tally}
        mark_read(buyer, thread_id=thread, **position)
    settle()
    client = Client()
    client.force_login(buyer)
    trips = request.getfixturevalue("trips")
    assert client.get(f"/threads/{thread}/").status_code == 200
    assert trips.longest_chain == 3, trips


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
