"""All bookings of a run, and whether both stores contain every confirmed step."""

import asyncio
import itertools
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

import psycopg

from tests.soak.booking_flow import BookingFlow
from tests.soak.deployment import SeedData
from tests.soak.programs import ROOT
from tests.soak.stored import Stored
from tests.wait import poll_until

# Time for the relay to process the remaining entries.
RELAY_SECONDS = 60
# Days until the first booking, so far ahead that no reminder is due.
FIRST_SLOT = 30


@dataclass
class Bookings:
    flows: list[BookingFlow]
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(flow.run()) for flow in self.flows]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def raise_if_broken(self) -> None:
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()

    @property
    def counts(self) -> Counter[str]:
        return sum((flow.counts for flow in self.flows), Counter())

    def find_problems(self, env: dict[str, str], stored: Stored) -> list[str]:
        """Describes every confirmed step that is not stored."""
        found = [problem for flow in self.flows for problem in flow.problems]
        found += _compare_stores(env)
        found += [problem for flow in self.flows for problem in _find_lost_edits(flow, stored)]
        return found + _find_receipt_problems(env["DATABASE_URL"], self.flows)


def make_bookings(
    seed_data: SeedData, ports: list[int], *, seed: int, pause_seconds: float, limit: int
) -> Bookings:
    """Creates booking flows in threads with two participants."""
    slots = itertools.count(FIRST_SLOT)
    pairs = [(thread, people) for thread, people in seed_data.threads.items() if len(people) == 2]
    return Bookings(
        [
            BookingFlow(
                thread,
                {"buyer": seed_data.cookies[buyer][0], "seller": seed_data.cookies[seller][0]},
                ports,
                random.Random(f"{seed} deal {number}"),
                pause_seconds,
                slots,
            )
            for number, (thread, (buyer, seller)) in enumerate(pairs[:limit])
        ]
    )


def _compare_stores(env: dict[str, str]) -> list[str]:
    problems: list[str] = []

    def has_none() -> bool:
        found = [_command(env, name) for name in ("check_stores", "verify_documents")]
        problems[:] = filter(None, found)
        return not problems

    poll_until(has_none, RELAY_SECONDS, interval=2)
    return problems


def _command(env: dict[str, str], name: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", name], cwd=ROOT, env=env, capture_output=True, text=True
    )
    is_pending = "entries are pending" in done.stdout
    if done.returncode or is_pending:
        return f"{name}: {done.stdout[-300:]} {done.stderr[-300:]}"
    return ""


def _find_lost_edits(flow: BookingFlow, stored: Stored) -> list[str]:
    tabs = stored.tabs.get(flow.thread, {})
    fields = tabs.get("brief", {}).get("snapshot", {}).get("fields", {})
    lost = [
        f"{flow.thread}: {part} is {fields.get(part, {}).get('text')}, answered was {text}"
        for part, text in flow.confirmed_texts.items()
        # The last attempt may have been stored without a confirmation.
        if _number(fields.get(part, {}).get("text", "")) < _number(text)
    ]
    stored_shots = {
        item["id"] for item in tabs.get("shotlist", {}).get("snapshot", {}).get("items", [])
    }
    lost += [f"{flow.thread}: the shot {part} is gone" for part in flow.shots - stored_shots]
    if flow.counts["deals accepted"] and stored.threads[flow.thread]["kind"] != "project":
        lost.append(f"{flow.thread}: was booked, and is no project")
    return lost


def _number(text: str) -> int:
    return int(text.split()[-1]) if text else 0


def _find_receipt_problems(url: str, flows: list[BookingFlow]) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT l.thread_id, r.seller_id, r.number FROM contracts_receipt r "
            "JOIN contracts_leg l ON l.id = r.leg_id ORDER BY r.seller_id, r.number"
        ).fetchall()
    issued = Counter(thread for thread, _, _ in rows)
    lost = [
        f"{flow.thread}: a receipt is gone" for flow in flows if issued[flow.thread] < flow.receipts
    ]
    numbers: dict[str, list[int]] = {}
    for _, seller, number in rows:
        numbers.setdefault(seller, []).append(number)
    gaps = [s for s, found in numbers.items() if found != list(range(1, len(found) + 1))]
    return lost + [f"{seller}: the receipts have a gap" for seller in gaps]
