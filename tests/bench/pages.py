"""Pages: how long a request takes, and what a browser makes of it."""

import asyncio
import os
import time
from statistics import median
from typing import Any

from tests.bench.deployment import World
from tests.bench.minimal_clients import open_http

BROWSER = ("PARLEY_TEST_CHROMIUM", "/usr/bin/chromium")
MEASURE = """() => {
    const page = performance.getEntriesByType("navigation")[0];
    const kinds = /\\.(js|css)$/;
    const files = performance.getEntriesByType("resource")
        .filter((one) => kinds.test(new URL(one.name).pathname));
    return {
        first_byte: page.responseStart - page.requestStart,
        interactive: page.domContentLoadedEventEnd,
        loaded: page.loadEventEnd,
        files: files.length,
        weight: files.reduce((sum, one) => sum + one.encodedBodySize, 0),
        foreign: files.filter((one) => new URL(one.name).host !== location.host).length,
    };
}"""


def compare(world: World, small: str, large: str, *, requests: int) -> dict[str, float]:
    """One after the other, turn about; the median of each, and of their ratios."""
    return asyncio.run(_compare(world, world.plot[small], world.plot[large], requests))


async def _compare(world: World, small: Any, large: Any, requests: int) -> dict[str, float]:
    line = await open_http(world.port)
    for one in (small, large):
        await _get(line, world.port, one)
    times: list[tuple[float, float]] = []
    for _ in range(requests):
        times.append((await _get(line, world.port, small), await _get(line, world.port, large)))
    return {
        "small": median(each[0] for each in times),
        "large": median(each[1] for each in times),
        "ratio": median(large_one / small_one for small_one, large_one in times),
        "small_size": small["size"],
        "large_size": large["size"],
    }


async def _get(line: Any, port: int, one: dict[str, str]) -> float:
    begun = time.perf_counter()
    status, _ = await line.send(
        f"GET {one['path']} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Cookie: sessionid={one['cookie']}\r\n\r\n".encode()
    )
    assert status == 200, status
    return time.perf_counter() - begun


def in_browser(world: World, *, visits: int) -> dict[str, float] | None:
    """The thread page in Chromium; None where there is none."""
    path = os.environ.get(BROWSER[0], BROWSER[1])
    if not os.path.exists(path):
        return None
    from playwright.sync_api import sync_playwright

    one, found = world.plot["short"], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for _ in range(visits):
            context = browser.new_context()
            cookie = {"name": "sessionid", "value": one["cookie"]}
            context.add_cookies([cookie | {"url": f"http://127.0.0.1:{world.port}"}])
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{world.port}{one['path']}", wait_until="load")
            # Until the socket is open and the thread caught up with.
            page.wait_for_selector("html[data-live=yes]", state="attached")
            live = page.evaluate("performance.now()")
            # Some of what it fetches by itself comes after that.
            page.wait_for_load_state("networkidle")
            found.append(page.evaluate(MEASURE) | {"live": live})
            context.close()
        browser.close()
    return {name: median(each[name] for each in found) for name in found[0]}
