"""The response times of pages, and their loading times in a browser."""

import asyncio
import os
import time
from statistics import median
from typing import Any

from tests.bench.deployment import Deployment
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


def compare(deployment: Deployment, small: str, large: str, *, requests: int) -> dict[str, float]:
    """Requests both pages alternately; returns the medians of the times and of their ratios."""
    return asyncio.run(
        _compare(deployment, deployment.seed_data[small], deployment.seed_data[large], requests)
    )


async def _compare(
    deployment: Deployment, small: Any, large: Any, requests: int
) -> dict[str, float]:
    connection = await open_http(deployment.port)
    for target in (small, large):
        await _get(connection, deployment.port, target)
    times: list[tuple[float, float]] = []
    for _ in range(requests):
        times.append(
            (
                await _get(connection, deployment.port, small),
                await _get(connection, deployment.port, large),
            )
        )
    return {
        "small": median(each[0] for each in times),
        "large": median(each[1] for each in times),
        "ratio": median(large_one / small_one for small_one, large_one in times),
        "small_size": small["size"],
        "large_size": large["size"],
    }


async def _get(connection: Any, port: int, target: dict[str, str]) -> float:
    started_at = time.perf_counter()
    status, _ = await connection.send(
        f"GET {target['path']} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Cookie: sessionid={target['cookie']}\r\n\r\n".encode()
    )
    assert status == 200, status
    return time.perf_counter() - started_at


def in_browser(deployment: Deployment, *, visits: int) -> dict[str, float] | None:
    """Measures the thread page in Chromium; None if Chromium is missing."""
    path = os.environ.get(BROWSER[0], BROWSER[1])
    if not os.path.exists(path):
        return None
    from playwright.sync_api import sync_playwright

    target, found = deployment.seed_data["short"], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for _ in range(visits):
            context = browser.new_context()
            cookie = {"name": "sessionid", "value": target["cookie"]}
            context.add_cookies([cookie | {"url": f"http://127.0.0.1:{deployment.port}"}])
            page = context.new_page()
            page.goto(f"http://127.0.0.1:{deployment.port}{target['path']}", wait_until="load")
            # Wait until the socket is open and the thread synced.
            page.wait_for_selector("html[data-live=yes]", state="attached")
            live = page.evaluate("performance.now()")
            # Some files are fetched after that.
            page.wait_for_load_state("networkidle")
            found.append(page.evaluate(MEASURE) | {"live": live})
            context.close()
        browser.close()
    return {name: median(each[name] for each in found) for name in found[0]}
