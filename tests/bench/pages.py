"""The response times of pages, and their loading times in a browser."""

import asyncio
import os
import time
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from typing import Any

from tests.bench.deployment import Deployment
from tests.bench.minimal_clients import open_http
from tests.bench.slow_network import SlowNetwork

# A phone on 3G: a processor four times slower, 1.6 Mbit/s and 150 ms for a round trip.
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
CPU_SLOWDOWN = 4
ROUND_TRIP_3G = 0.15
DOWNLOAD_3G, UPLOAD_3G = 1.6 * 1024 * 1024 / 8, 750 * 1024 / 8
BROWSER = ("PARLEY_TEST_CHROMIUM", "/usr/bin/chromium")
MEASURE = """() => {
    const page = performance.getEntriesByType("navigation")[0];
    const kinds = /\\.(js|css)$/;
    const files = performance.getEntriesByType("resource")
        .filter((one) => kinds.test(new URL(one.name).pathname));
    return {
        first_byte: page.responseStart,
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
        "cpu": await _cpu_of(deployment, connection, large, requests),
    }


async def _cpu_of(deployment: Deployment, connection: Any, target: Any, requests: int) -> float:
    """The processor time of the service for one request, in seconds."""
    before = deployment.cpu()["service"]
    for _ in range(requests):
        await _get(connection, deployment.port, target)
    return (deployment.cpu()["service"] - before) / requests


async def _get(connection: Any, port: int, target: dict[str, str]) -> float:
    started_at = time.perf_counter()
    status, _ = await connection.send(
        f"GET {target['path']} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
        f"Cookie: sessionid={target['cookie']}\r\n\r\n".encode()
    )
    assert status == 200, status
    return time.perf_counter() - started_at


def in_browser(
    deployment: Deployment, *, visits: int, is_slow: bool = False
) -> dict[str, float] | None:
    """Measures the thread page in Chromium; None if Chromium is missing. `is_slow` emulates a
    phone with a slow processor and network."""
    path = os.environ.get(BROWSER[0], BROWSER[1])
    if not os.path.exists(path):
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, _network(deployment, is_slow) as port:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        found = [_visit(browser, deployment, port, is_slow) for _ in range(visits)]
        browser.close()
    return {name: median(each[name] for each in found) for name in found[0]}


def _network(deployment: Deployment, is_slow: bool) -> AbstractContextManager[int]:
    """The port under which the browser reaches the service."""
    if not is_slow:
        return nullcontext(deployment.port)
    return SlowNetwork(ROUND_TRIP_3G, DOWNLOAD_3G, UPLOAD_3G).to(deployment.port)


def _visit(browser: Any, deployment: Deployment, port: int, is_slow: bool) -> dict[str, float]:
    """The first visit of a user: nothing is cached."""
    target = deployment.seed_data["short"]
    url = f"http://127.0.0.1:{port}"
    context = browser.new_context(**(PHONE if is_slow else {}))
    context.add_cookies([{"name": "sessionid", "value": target["cookie"], "url": url}])
    page = context.new_page()
    if is_slow:
        device = context.new_cdp_session(page)
        device.send("Emulation.setCPUThrottlingRate", {"rate": CPU_SLOWDOWN})
    page.goto(f"{url}{target['path']}", wait_until="load")
    # Wait until the socket is open and the thread synced.
    page.wait_for_selector("html[data-live=yes]", state="attached")
    live = page.evaluate("performance.now()")
    # Some files are fetched after that.
    page.wait_for_load_state("networkidle")
    found = page.evaluate(MEASURE) | {"live": live}
    context.close()
    # To connect takes a round trip, and so does the request.
    assert not is_slow or found["first_byte"] >= 2000 * ROUND_TRIP_3G, found
    return found
