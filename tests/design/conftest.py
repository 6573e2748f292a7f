"""A browser, a running server and a signed-in user."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.site import Site

OpenPage = Callable[..., Page]
MAKE_SCENE = "from tests.design.scene import make; make()"


# Package scope, since no test with its own event loop can run while a browser is open.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = os.environ["PARLEY_TEST_CHROMIUM"]
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def scene(site: Site) -> dict[str, str]:
    scene: dict[str, str] = json.loads(site.manage("shell", "-v", "0", "-c", MAKE_SCENE))
    return scene


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    contexts: list[BrowserContext] = []

    def make(**context_options: Any) -> BrowserContext:
        contexts.append(browser.new_context(**context_options))
        return contexts[-1]

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def shared_contexts(
    browser: Browser, site: Site, scene: dict[str, str]
) -> Iterator[dict[str, BrowserContext]]:
    """Contexts for pages that tests only read, so that static files are fetched once."""
    contexts = {name: browser.new_context(reduced_motion="reduce") for name in ("stranger", "mara")}
    contexts["mara"].add_cookies([cookie_of(scene, site)])
    yield contexts
    for context in contexts.values():
        context.close()


@pytest.fixture
def open_as_stranger(shared_contexts: dict[str, BrowserContext], site: Site) -> Iterator[OpenPage]:
    yield from _opening(shared_contexts["stranger"], site)


@pytest.fixture
def open_as_user(shared_contexts: dict[str, BrowserContext], site: Site) -> Iterator[OpenPage]:
    yield from _opening(shared_contexts["mara"], site)


def _opening(context: BrowserContext, site: Site) -> Iterator[OpenPage]:
    pages: list[Page] = []

    def make(path: str, **options: Any) -> Page:
        pages.append(open_page(context, site.url + path, **options))
        return pages[-1]

    yield make
    for page in pages:
        page.close()


def cookie_of(scene: dict[str, str], site: Site) -> Any:
    return {"name": "sessionid", "value": scene["cookie"], "url": site.url}


@pytest.fixture
def signed_in(
    new_context: Callable[..., BrowserContext], site: Site, scene: dict[str, str]
) -> Callable[..., BrowserContext]:
    def make(**context_options: Any) -> BrowserContext:
        context = new_context(**context_options)
        context.add_cookies([cookie_of(scene, site)])
        return context

    return make


def open_page(context: BrowserContext, url: str, *, status: int = 200, size: Any = None) -> Page:
    """Loads a page, which must not request other hosts or violate the content policy."""
    page = context.new_page()
    if size:
        page.set_viewport_size(size)
    refused: list[str] = []
    page.on("console", lambda line: refused.append(line.text) if "Policy" in line.text else None)
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    response = page.goto(url)
    assert response is not None
    assert response.status == status
    assert refused == []
    assert hosts == {urlsplit(url).netloc}
    return page
