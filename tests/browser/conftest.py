"""Chromium, with a separate browser context for each user."""

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    Page,
    WebSocketRoute,
    expect,
    sync_playwright,
)

from tests.browser.contexts import ContextPool
from tests.site import Account, Pair, Site, read_pair

# The locale decides how typed amounts are read.
DESKTOP = {"viewport": {"width": 1440, "height": 900}, "locale": "en-US"}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}

Visit = Callable[..., Page]
# Long enough for a busy machine.
expect.set_options(timeout=15_000)
# Faults of a page's connection; see FaultyConnection.
CONNECTION_FAULTS = ("drop_types", "drop_first", "echo_first", "hold", "mute", "no_socket")
# Console messages of Chromium while a test has disconnected the network.
WITHOUT_NETWORK = ("ERR_INTERNET_DISCONNECTED", "closed before the connection is established")
# Lets a test close open sockets.
KEEP_SOCKETS = """
  globalThis.sockets = [];
  globalThis.WebSocket = class extends WebSocket {
    constructor(...given) { super(...given); sockets.push(this); }
  };
"""
# A page in the background, which bringToFront() brings to the front.
BACKGROUND_SCRIPTS = {
    "without_focus": """
      document.hasFocus = () => false;
      globalThis.bringToFront = () => {
        document.hasFocus = () => true;
        dispatchEvent(new Event("focus"));
      };
    """,
    "hidden": """
      let state = "hidden";
      Object.defineProperty(document, "visibilityState", { get: () => state });
      globalThis.bringToFront = () => {
        state = "visible";
        document.dispatchEvent(new Event("visibilitychange"));
      };
    """,
}

FRAMES = """() => new Promise((painted) => requestAnimationFrame(() =>
    requestAnimationFrame(() => painted())))"""
ROUND_TRIP = """() => new Promise((resolve) => {
    const [socket, t] = [sockets.at(-1), crypto.randomUUID()];
    socket.addEventListener("message", ({ data }) => JSON.parse(data).t === t && resolve());
    socket.send(JSON.stringify({ type: "ping", t }));
})"""
# Playwright's wait_for_function treats a promise as true, so it cannot await these conditions.
UNTIL = """async ([arg, seconds]) => {
    const check = %s;
    const end = performance.now() + 1000 * seconds;
    while (!(await check(arg))) {
      if (performance.now() > end) throw new Error(`Never: ${check} of ${arg}`);
      await new Promise((again) => setTimeout(again, 50));
    }
}"""
# Searches are limited to 30 a minute, so it asks less often.
RESPONSE_CONTAINS = """async ([path, text]) => {
    const page = await fetch(path).then((answer) => answer.text());
    if (page.includes(text)) return true;
    await new Promise((later) => setTimeout(later, 700));
}"""
# One process for all pages of the site, and no process of its own for drawing: a page load takes a
# seventh less processor time.
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--process-per-site",
    "--in-process-gpu",
]
# Pairs that one command seeds; starting it takes longer than seeding them.
PAIRS_PER_COMMAND = 8


# Package scope, since only one browser can be open at a time and tests/design has another.
@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["PARLEY_TEST_CHROMIUM"],
            args=CHROMIUM_ARGUMENTS,
        )
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def contexts(chromium: Browser) -> ContextPool:
    return ContextPool(chromium)


@pytest.fixture
def visit(contexts: ContextPool, site: Site) -> Iterator[Visit]:
    """Opens a page as a user; an error or warning in the console fails the test."""
    errors: list[str] = []

    def open_page(account: Account | None, path: str = "/inbox/", **options: Any) -> Page:
        expected = options.pop("expected_status", None)
        faults = {name: options.pop(name) for name in CONNECTION_FAULTS if name in options}
        background_scripts = [
            script for name, script in BACKGROUND_SCRIPTS.items() if options.pop(name, False)
        ]
        scripts = [KEEP_SOCKETS, *background_scripts]
        context = contexts.take(scripts, base_url=site.url, **(DESKTOP | options))
        if account:
            cookie = {"name": "sessionid", "value": account.cookie, "url": site.url}
            context.add_cookies([cookie])  # type: ignore[list-item]
        page = context.new_page()
        if faults:
            page.route_web_socket("**/ws/", FaultyConnection(page, **faults).connect)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda entry: _record_console_error(entry, errors, expected))
        page.goto(path)
        return page

    yield open_page
    contexts.give_back_all()
    assert errors == []


@pytest.fixture(scope="session")
def seeded(site: Site) -> Callable[[int], Pair]:
    """Creates two users with that many threads, which no other test uses."""
    pools: dict[int, list[Pair]] = {}

    def take(threads: int) -> Pair:
        pool = pools.setdefault(threads, [])
        if not pool:
            size = ("--messages", "3", "--threads-per-user", str(threads))
            made = json.loads(site.seed_load("--pairs", str(PAIRS_PER_COMMAND), *size))
            pool += [read_pair(pair) for pair in made["pairs"]]
        return pool.pop()

    return take


class FaultyConnection:
    """Faults between a page and the server; `mute` drops messages until the next connection."""

    def __init__(
        self,
        page: Page,
        *,
        drop_types: tuple[str, ...] = (),
        drop_first: str = "",
        echo_first: bool = False,
        hold: str = "",
        mute: bool = False,
        no_socket: bool = False,
    ) -> None:
        self.no_socket = no_socket
        self.drop_types, self.drop_first, self.hold, self.mute = drop_types, drop_first, hold, mute
        self.echo_first = echo_first
        self.held: list[str] = []
        self.acknowledgements: list[str] = []
        page.expose_function("release", self.release)

    def connect(self, socket: WebSocketRoute) -> None:
        if self.no_socket:
            socket.close()
            return
        self.server = socket.connect_to_server()
        server, mute, self.mute = self.server, self.mute, False
        server.on_message(lambda text: self._to_page(socket, str(text)))
        socket.on_message(lambda text: self._to_server(server, str(text), mute=mute))

    def _to_page(self, socket: WebSocketRoute, text: str) -> None:
        """Drops or reorders frames of some types."""
        type_ = json.loads(text)["type"]
        if type_ == self.drop_first:
            self.drop_first = ""
        elif type_ == "message.accepted" and self.echo_first:
            self.acknowledgements.append(text)
        elif type_ not in self.drop_types:
            socket.send(text)
        if type_ == "message.sent":
            self.echo_first = False
            while self.acknowledgements:
                socket.send(self.acknowledgements.pop(0))

    def _to_server(self, server: WebSocketRoute, text: str, *, mute: bool) -> None:
        type_ = json.loads(text)["type"]
        if type_ == self.hold:
            self.held.append(text)
        elif not (mute and type_ == "message.send"):
            server.send(text)

    def release(self) -> None:
        self.hold = ""
        for text in self.held:
            self.server.send(text)


def _record_console_error(entry: Any, errors: list[str], expected: int | None) -> None:
    if entry.type not in ("error", "warning"):
        return
    if expected and f"status of {expected}" in entry.text:
        return
    if any(text in entry.text for text in WITHOUT_NETWORK):
        return
    errors.append(entry.text)


def turn_into_phone(page: Page) -> None:
    """Applies PHONE without reloading the page."""
    size = {**PHONE["viewport"], "deviceScaleFactor": 1, "mobile": True}
    device = page.context.new_cdp_session(page)
    device.send("Emulation.setDeviceMetricsOverride", size)
    device.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 1})
    expect_coarse = "matchMedia('(pointer: coarse)').matches"
    page.wait_for_function(f"innerHeight && screen.width === {size['width']} && {expect_coarse}")


def wider_than_window(page: Page) -> int:
    """The overflow in pixels; innerWidth is not used: on a phone it grows with the content."""
    root = "document.documentElement"
    return int(page.evaluate(f"{root}.scrollWidth - {root}.clientWidth"))


def live(page: Page) -> Page:
    """Waits until the page is in sync and receives live events."""
    expect(page.locator("html")).to_have_attribute("data-live", "yes")
    return page


def write(page: Page, text: str) -> None:
    page.locator("#compose").fill(text)
    page.get_by_role("button", name="Send").click()


def texts(page: Page) -> list[str]:
    """The texts of the stored messages, in order."""
    return page.locator(".message:not(.sending) .prose").all_inner_texts()


def wait_for_events(page: Page) -> None:
    """Waits for a pong, which arrives after all events that the server sent before it."""
    page.evaluate(ROUND_TRIP)


def wait_for_frames(page: Page) -> None:
    """Waits for two frames, so that the page is laid out and its observers have run."""
    page.evaluate(FRAMES)


def wait_for_response(page: Page, path: str, text: str) -> None:
    """Waits until the response contains this text: search indexes with a delay."""
    until(page, RESPONSE_CONTAINS, [path, text], seconds=60)


def until(page: Page, check: str, arg: Any = None, *, seconds: int = 15) -> None:
    """Waits until a function that returns a promise yields a true value."""
    page.evaluate(UNTIL % check, [arg, seconds])
