"""Interleaved rounds of the same load on every server that is installed."""

import io
import os
import platform
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tests.bench import load
from tests.bench.deployment import temporary_folder
from tests.bench.peers import ejabberd, parley, private_chat, prosody
from tests.bench.peers.server import Server
from tests.bench.rounds import SendResults, add_round

DRIVER = "tests.bench.peers.driver"
Start = Callable[[], AbstractContextManager[Server]]


@dataclass(frozen=True)
class Size:
    rounds: int
    seconds: float


WHOLE = Size(5, 5.0)
QUICK = Size(2, 3.0)


@dataclass(frozen=True)
class Scenario:
    name: str
    in_flight: int
    is_single: bool = False
    receipts: bool = False
    digits: bool = False


SCENARIOS = (
    Scenario("eight", 8),
    Scenario("one", 1),
    Scenario("single", 1, is_single=True),
    Scenario("eight, receipts", 8, receipts=True),
    Scenario("one, receipts", 1, receipts=True),
    Scenario("eight, digits", 8, digits=True),
    Scenario("one, digits", 1, digits=True),
)


@dataclass
class Measured:
    """Everything about one server."""

    sending: SendResults = field(default_factory=SendResults)
    # The share of a core that the driver used, which is not part of any figure.
    driver_shares: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    sent: int = 0
    stored: float = 0

    @property
    def problems(self) -> list[str]:
        if self.sent == self.stored:
            return self.sending.problems
        return [*self.sending.problems, f"{self.sent} messages sent, {self.stored:.10g} stored"]


@dataclass
class Comparison:
    servers: dict[str, Measured]
    missing: list[str]
    machine: dict[str, Any]

    @property
    def has_problems(self) -> bool:
        return any(measured.problems for measured in self.servers.values())


PEERS: tuple[tuple[Callable[[], str | None], Start], ...] = (
    (ejabberd.what_to_install, ejabberd.running),
    (prosody.what_to_install, prosody.running),
    (private_chat.what_to_install, private_chat.running),
)


def compare(size: Size, *, log_progress: Callable[[str], None]) -> Comparison:
    started_at, load_before = time.monotonic(), os.getloadavg()[0]
    sync_before = 1000 * seconds_per_sync()
    checked = [(what_to_install(), start) for what_to_install, start in PEERS]
    missing = [line for line, _ in checked if line]
    for line in missing:
        log_progress(line)
    installed = [start for line, start in checked if not line]
    starts = [parley.one_process, parley.two_processes, *installed]
    servers = compare_servers(starts, size, log_progress)
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": load_before,
        "sync_ms": sync_before,
        "rounds": size.rounds,
        "seconds": size.seconds,
        "took": time.monotonic() - started_at,
    }
    return Comparison(servers, missing, machine)


def seconds_per_sync() -> float:
    """The median time in which the disk stores 4 KB, for which every server waits."""
    with temporary_folder() as folder, (folder / "file").open("wb", buffering=0) as file:
        return median(_sync(file) for _ in range(50))


def _sync(file: io.FileIO) -> float:
    file.write(bytes(4096))
    started_at = time.perf_counter()
    os.fdatasync(file.fileno())
    return time.perf_counter() - started_at


def compare_servers(
    starts: list[Start],
    size: Size,
    log_progress: Callable[[str], None],
    scenarios: Sequence[Scenario] = SCENARIOS,
) -> dict[str, Measured]:
    with ExitStack() as stack:
        log_progress("Starting the servers; creating users ...")
        servers = [stack.enter_context(start()) for start in starts]
        found = {server.name: Measured() for server in servers}
        log_progress("Warming up ...")
        for server in servers:
            found[server.name].stored = -server.count_stored()
            # Not measured: connections to databases are opened, and code is compiled.
            _run(server, scenarios[0], 1.0, found[server.name])
            server.wait_until_idle()
        for number in range(1, size.rounds + 1):
            log_progress(f"Round {number} of {size.rounds} ...")
            _run_round(servers, scenarios, size.seconds, found)
        for server in servers:
            found[server.name].stored += server.count_stored()
    return found


def _run_round(
    servers: list[Server],
    scenarios: Sequence[Scenario],
    seconds: float,
    found: dict[str, Measured],
) -> None:
    for scenario in scenarios:
        for server in servers:
            measured = found[server.name]
            result = _run(server, scenario, seconds, measured)
            add_round(measured.sending, scenario.name, result)
            measured.driver_shares[scenario.name].append(result["driver_cpu"] / result["seconds"])
            server.wait_until_idle()


def _run(server: Server, scenario: Scenario, seconds: float, measured: Measured) -> dict[str, Any]:
    conversations = server.conversations[:1] if scenario.is_single else server.conversations
    spec = {
        "protocol": server.protocol,
        "conversations": conversations,
        "in_flight": scenario.in_flight,
        "receipts": scenario.receipts,
        "digits": scenario.digits,
        "seconds": seconds,
    }
    result = load.run(server, DRIVER, spec)
    measured.sent += result["messages"] + result["missing"]
    measured.sent += result["marks"] if server.archives_marks else 0
    return result
