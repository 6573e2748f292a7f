"""Real Chromium; each person in a context of their own, as on a device of their own."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    WebSocketRoute,
    expect,
    sync_playwright,
)

from tests.site import Account, Site

DESKTOP = {"viewport": {"width": 1440, "height": 900}}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}

Visit = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["PARLEY_TEST_CHROMIUM"],
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Browser, site: Site) -> Iterator[Visit]:
    """Opens a page as somebody; a complaint in the console fails the test."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def open_page(account: Account | None, path: str = "/inbox/", **options: Any) -> Page:
        expected = options.pop("expected_status", None)
        deaf_to = options.pop("deaf_to", ())
        context = chromium.new_context(base_url=site.url, **(DESKTOP | options))
        context.set_default_timeout(15_000)
        contexts.append(context)
        if account:
            cookie = {"name": "sessionid", "value": account.cookie, "url": site.url}
            context.add_cookies([cookie])  # type: ignore[list-item]
        page = context.new_page()
        if deaf_to:
            page.route_web_socket("**/ws/", lambda socket: _drop(socket, deaf_to))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: _note(said, complaints, expected))
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def _drop(socket: WebSocketRoute, types: tuple[str, ...]) -> None:
    """Frames of these types get lost on the way to the page."""
    server = socket.connect_to_server()
    server.on_message(lambda text: None if json.loads(text)["type"] in types else socket.send(text))


def _note(said: Any, complaints: list[str], expected: int | None) -> None:
    if said.type not in ("error", "warning"):
        return
    if expected and f"status of {expected}" in said.text:
        return
    complaints.append(said.text)


def live(page: Page) -> Page:
    """Caught up with: from here on what is written arrives by itself."""
    expect(page.locator("html")).to_have_attribute("data-live", "yes")
    return page


def write(page: Page, text: str) -> None:
    page.get_by_role("textbox", name="Your message").fill(text)
    page.get_by_role("button", name="Send").click()


def texts(page: Page) -> list[str]:
    """What the conversation says, in order, without what is still on its way."""
    return page.locator(".message:not(.sending) .prose").all_inner_texts()
