"""One run of the soak test."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.soak.background import Background
from tests.soak.bookings import make_bookings
from tests.soak.chaos import Chaos
from tests.soak.checker import check
from tests.soak.deployment import ENGINES, TABLE, Deployment, running_deployment
from tests.soak.device import PENDING_PROTOCOL, Device
from tests.soak.report import Report
from tests.soak.simulated_users import SimulatedUsers, make_users
from tests.soak.stored import Reader, Stored
from tests.soak.thread_view import ThreadView

# Time for a heartbeat and its response, with tolerance for a busy machine. Seconds are counted one
# by one, so that time in which this process was suspended does not count.
SETTLE_SECONDS = 75
# Time for entries that are retried after a back-off.
OUTBOX_SECONDS = 150


@dataclass
class Options:
    minutes: float
    seed: int
    pairs: int = 16
    groups: int = 5
    bookings: int = 12
    pause_seconds: float = 4.0
    keep: Path | None = None
    engine: str = ENGINES[0]


def soak(options: Options, log_progress: Callable[[str], None]) -> Report:
    started_at = time.monotonic()
    log_progress("Starting two services, the engine, Redis and PostgreSQL ...")
    with (
        Background() as background,
        running_deployment(
            background,
            pairs=options.pairs,
            groups=options.groups,
            seed=options.seed,
            keep=options.keep,
            engine_name=options.engine,
        ) as deployment,
    ):
        return _Run(options, deployment, background, log_progress).run(started_at)


class _Run:
    def __init__(
        self,
        options: Options,
        deployment: Deployment,
        background: Background,
        log_progress: Callable[[str], None],
    ) -> None:
        self.options, self.deployment, self.background, self.log_progress = (
            options,
            deployment,
            background,
            log_progress,
        )
        self.reader = Reader(deployment.engine_endpoint, TABLE, deployment.credentials)
        ports = [service.port for service in deployment.services]
        self.users: SimulatedUsers = make_users(
            deployment.seed_data,
            self._read(),
            ports,
            seed=options.seed,
            pause_seconds=options.pause_seconds,
        )
        self.bookings = make_bookings(
            deployment.seed_data,
            ports,
            seed=options.seed,
            pause_seconds=options.pause_seconds / 3,
            limit=options.bookings,
        )
        self.problems: list[str] = []

    def run(self, started_at: float) -> Report:
        chaos = Chaos(self.deployment, self.options.seed)
        self.log_progress(f"{len(self.users.devices)} devices talk. Seed {self.options.seed}")
        self.background.run(self.users.start())
        self.background.run(self.bookings.start())
        chaos.run(self.options.minutes * 60, self._report_progress)
        self.log_progress("No more chaos: everybody comes back and catches up ...")
        chaos.stop()
        self.background.run(self.bookings.stop())
        settled_in = self._settle()
        self.background.run(self.users.stop())
        self.fresh = self.background.run(self.users.fresh_pages())
        return self._report(chaos, time.monotonic() - started_at, settled_in)

    def _report_progress(self, what: str) -> None:
        self.users.raise_if_broken()
        self.bookings.raise_if_broken()
        self.log_progress(what)

    def _read(self) -> Stored:
        return self.reader.read(
            self.deployment.seed_data.threads, self.deployment.seed_data.cookies
        )

    # --- Wait until all is delivered

    def _settle(self) -> float:
        """First waits for what heartbeats and `pending` deliver without user actions. Then opens
        every thread once and waits for the cursors."""
        started_at = time.monotonic()
        self._wait_for_outbox()
        self.background.run(self.users.stop_actions())
        self._wait("what is open on the screen is not up to date", self._list_automatic_views)
        self.background.run(self.users.open_all_threads())
        self._wait("not everything has arrived", lambda device: list(device.views.values()))
        self._wait_for_cursors()
        return time.monotonic() - started_at

    def _wait_for_outbox(self) -> None:
        """Delayed entries append messages, which must arrive before the devices stop."""
        if not self._supervise_until(
            lambda: not count_pending(self.deployment.env["DATABASE_URL"]), OUTBOX_SECONDS
        ):
            self.problems.append("outbox entries are still pending")

    def _list_automatic_views(self, device: Device) -> list[ThreadView]:
        is_only_device = sum(other.user == device.user for other in self.users.devices) == 1
        if is_only_device and device.protocol >= PENDING_PROTOCOL:
            return list(device.views.values())
        return [device.views[device.visible]]

    def _wait(self, problem: str, which: Callable[[Device], list[ThreadView]]) -> None:
        behind: list[str] = []

        def has_settled() -> bool:
            last = {thread: items[-1]["seq"] for thread, items in self._read().messages.items()}
            behind[:] = [
                f"{device.name} {view.thread} {view.last_seq} of {last[view.thread]}"
                for device in self.users.devices
                for view in which(device)
                if view.outbox or not device.socket or view.last_seq != last[view.thread]
            ]
            return not behind

        if not self._supervise_until(has_settled, SETTLE_SECONDS):
            self.problems.append(f"{problem}: {len(behind)}, such as {behind[0]}")

    def _wait_for_cursors(self) -> None:
        """Waits until nothing is pending or changing, since cursors may still be in transit."""
        snapshots = [self._read()]

        def is_at_rest() -> bool:
            snapshots.append(self._read())
            return snapshots[-2] == snapshots[-1] and not _has_pending(snapshots[-1])

        if not self._supervise_until(is_at_rest, SETTLE_SECONDS):
            self.problems.append("the store did not come to rest")

    def _supervise_until(self, condition: Callable[[], bool], times: int) -> bool:
        """Counts checks instead of seconds, since a check may read the whole store."""
        for _ in range(times):
            self._supervise()
            if condition():
                return True
        return False

    def _supervise(self) -> None:
        self.users.raise_if_broken()
        for program in self.deployment.programs:
            program.supervise()
        time.sleep(1)

    # --- Report

    def _report(self, chaos: Chaos, took: float, settled_in: float) -> Report:
        logs = [device.log for device in self.users.devices]
        if self.options.keep:
            self.options.keep.mkdir(parents=True, exist_ok=True)
            for log in logs:
                log.save(self.options.keep)
        counts = dict(sorted((self.users.counts + self.bookings.counts).items()))
        self.problems += self.bookings.find_problems(self.deployment.env, self._read())
        if counts.get("signed out"):
            self.problems.append(f"{counts['signed out']} unexpected sign-outs")
        return Report(
            verdict=check(self._read(), logs, self.fresh),
            seed=self.options.seed,
            minutes=self.options.minutes,
            took=took,
            people=len(self.deployment.seed_data.cookies),
            devices=len(self.users.devices),
            reconnects=self.users.reconnects,
            settled_in=settled_in,
            done=dict(sorted(chaos.done.items())),
            injected=dict(sorted(self.deployment.proxy.happened.items())),
            counts=counts,
            problems=self.problems + self.deployment.problems,
        )


def count_pending(database: str) -> int:
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT count(*) FROM accounts_outboxentry WHERE done_at IS NULL AND dead_at IS NULL"
        ).fetchone()
    return int(found[0]) if found else 0


def _has_pending(stored: Stored) -> bool:
    return any("firstUndeliveredSeq" in participant for participant in stored.participants.values())
