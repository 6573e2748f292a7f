"""One run from beginning to end."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.soak.background import Background
from tests.soak.bookings import make_deals
from tests.soak.chaos import Chaos
from tests.soak.checker import check
from tests.soak.deployment import ENGINES, TABLE, World, running_world
from tests.soak.device import NAMES_PENDING, Device
from tests.soak.report import Report
from tests.soak.simulated_users import Crowd, gather
from tests.soak.stored import Reader, Stored
from tests.soak.thread_view import View

# Seconds, for a heartbeat and its answer, and some more where the machine has much else to do. They
# are counted one by one: time in which nobody here could do anything is nobody's delay.
SETTLE_SECONDS = 75
# For entries whose next attempt comes after the back-off.
OUTBOX_SECONDS = 150


@dataclass
class Options:
    minutes: float
    seed: int
    pairs: int = 16
    groups: int = 5
    deals: int = 12
    pace: float = 4.0
    keep: Path | None = None
    engine: str = ENGINES[0]


def soak(options: Options, tell: Callable[[str], None]) -> Report:
    began = time.monotonic()
    tell("Starting two services, the engine, Redis and PostgreSQL ...")
    with (
        Background() as background,
        running_world(
            background,
            pairs=options.pairs,
            groups=options.groups,
            seed=options.seed,
            keep=options.keep,
            engine_name=options.engine,
        ) as world,
    ):
        return _Run(options, world, background, tell).go(began)


class _Run:
    def __init__(
        self, options: Options, world: World, background: Background, tell: Callable[[str], None]
    ) -> None:
        self.options, self.world, self.background, self.tell = options, world, background, tell
        self.reader = Reader(world.engine_endpoint, TABLE, world.credentials)
        ports = [service.port for service in world.services]
        self.crowd: Crowd = gather(
            world.plot, self._read(), ports, seed=options.seed, pace=options.pace
        )
        self.deals = make_deals(
            world.plot, ports, seed=options.seed, pace=options.pace / 3, most=options.deals
        )
        self.surprises: list[str] = []

    def go(self, began: float) -> Report:
        chaos = Chaos(self.world, self.options.seed)
        self.tell(f"{len(self.crowd.devices)} devices talk. Seed {self.options.seed}")
        self.background.run(self.crowd.begin())
        self.background.run(self.deals.begin())
        chaos.run(self.options.minutes * 60, self._follow)
        self.tell("No more chaos: everybody comes back and catches up ...")
        chaos.stop()
        self.background.run(self.deals.end())
        settled_in = self._settle()
        self.background.run(self.crowd.end())
        self.fresh = self.background.run(self.crowd.fresh_pages())
        return self._report(chaos, time.monotonic() - began, settled_in)

    def _follow(self, what: str) -> None:
        self.crowd.raise_if_broken()
        self.deals.raise_if_broken()
        self.tell(what)

    def _read(self) -> Stored:
        return self.reader.read(self.world.plot.threads, self.world.plot.cookies)

    # --- Until it is quiet

    def _settle(self) -> float:
        """First by themselves: what a heartbeat or `pending` must find. Then they look at every
        conversation once, and say what they have got."""
        began = time.monotonic()
        self._wait_for_outbox()
        self.background.run(self.crowd.rest())
        self._wait("what is open on the screen is not up to date", self._by_itself)
        self.background.run(self.crowd.look_everywhere())
        self._wait("not everything has arrived", lambda device: list(device.views.values()))
        self._wait_for_cursors()
        return time.monotonic() - began

    def _wait_for_outbox(self) -> None:
        """Entries that an outage delayed append messages, which nobody would be there to see."""
        if not self._tend_until(
            lambda: not count_pending(self.world.env["DATABASE_URL"]), OUTBOX_SECONDS
        ):
            self.surprises.append("outbox entries are still pending")

    def _by_itself(self, device: Device) -> list[View]:
        alone = sum(other.user == device.user for other in self.crowd.devices) == 1
        if alone and device.protocol >= NAMES_PENDING:
            return list(device.views.values())
        return [device.views[device.visible]]

    def _wait(self, problem: str, which: Callable[[Device], list[View]]) -> None:
        behind: list[str] = []

        def has_settled() -> bool:
            last = {thread: items[-1]["seq"] for thread, items in self._read().messages.items()}
            behind[:] = [
                f"{device.name} {view.thread} {view.last_seq} of {last[view.thread]}"
                for device in self.crowd.devices
                for view in which(device)
                if view.outbox or not device.socket or view.last_seq != last[view.thread]
            ]
            return not behind

        if not self._tend_until(has_settled, SETTLE_SECONDS):
            self.surprises.append(f"{problem}: {len(behind)}, such as {behind[0]}")

    def _wait_for_cursors(self) -> None:
        """Until nothing is pending and nothing moves: cursors may still be on their way."""
        reads = [self._read()]

        def is_at_rest() -> bool:
            reads.append(self._read())
            return reads[-2] == reads[-1] and not _has_pending(reads[-1])

        if not self._tend_until(is_at_rest, SETTLE_SECONDS):
            self.surprises.append("the store did not come to rest")

    def _tend_until(self, condition: Callable[[], bool], times: int) -> bool:
        """Counts checks and not seconds, since a check may read the whole store."""
        for _ in range(times):
            self._tend()
            if condition():
                return True
        return False

    def _tend(self) -> None:
        self.crowd.raise_if_broken()
        for program in self.world.programs:
            program.tend()
        time.sleep(1)

    # --- What came out

    def _report(self, chaos: Chaos, took: float, settled_in: float) -> Report:
        witnesses = [device.witness for device in self.crowd.devices]
        if self.options.keep:
            self.options.keep.mkdir(parents=True, exist_ok=True)
            for witness in witnesses:
                witness.save(self.options.keep)
        counts = dict(sorted((self.crowd.counts + self.deals.counts).items()))
        self.surprises += self.deals.judge(self.world.env, self._read())
        if counts.get("signed out"):
            self.surprises.append(f"{counts['signed out']} times somebody was signed out")
        return Report(
            verdict=check(self._read(), witnesses, self.fresh),
            seed=self.options.seed,
            minutes=self.options.minutes,
            took=took,
            people=len(self.world.plot.cookies),
            devices=len(self.crowd.devices),
            reconnects=self.crowd.reconnects,
            settled_in=settled_in,
            done=dict(sorted(chaos.done.items())),
            injected=dict(sorted(self.world.proxy.happened.items())),
            counts=counts,
            surprises=self.surprises + self.world.surprises,
        )


def count_pending(database: str) -> int:
    with psycopg.connect(database) as connection:
        found = connection.execute(
            "SELECT count(*) FROM accounts_outboxentry WHERE done_at IS NULL AND dead_at IS NULL"
        ).fetchone()
    return int(found[0]) if found else 0


def _has_pending(stored: Stored) -> bool:
    return any("firstUndeliveredSeq" in person for person in stored.participants.values())
