"""A browser, the service itself, and somebody who is signed in."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from tests.site import Site, running_site

MAKE_SCENE = "from tests.design.scene import make; make()"


# Not for the whole session: while one is open, no test with an event loop of its own can run.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        path = os.environ["PARLEY_TEST_CHROMIUM"]
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with running_site(tmp_path_factory.mktemp("site") / "data") as site:
        yield site


@pytest.fixture(scope="session")
def scene(site: Site) -> dict[str, str]:
    scene: dict[str, str] = json.loads(site.manage("shell", "-v", "0", "-c", MAKE_SCENE))
    return scene


@pytest.fixture
def new_context(browser: Browser) -> Iterator[Callable[..., BrowserContext]]:
    contexts: list[BrowserContext] = []

    def make(**looks: Any) -> BrowserContext:
        contexts.append(browser.new_context(**looks))
        return contexts[-1]

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def signed_in(
    new_context: Callable[..., BrowserContext], site: Site, scene: dict[str, str]
) -> Callable[..., BrowserContext]:
    def make(**looks: Any) -> BrowserContext:
        context = new_context(**looks)
        context.add_cookies([{"name": "sessionid", "value": scene["cookie"], "url": site.url}])
        return context

    return make
