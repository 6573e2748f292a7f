"""All the deals of a run, and whether both stores say of them what the people were answered."""

import asyncio
import itertools
import random
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field

import psycopg

from tests.soak.booking_flow import Deal
from tests.soak.deployment import Plot
from tests.soak.programs import ROOT
from tests.soak.stored import Stored
from tests.wait import poll_until

# For the relay to finish what the last kill left.
AGREEMENT_SECONDS = 60
# Days from now of the first deal: far enough for no notice to be due.
FIRST_SLOT = 30


@dataclass
class Deals:
    deals: list[Deal]
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    async def begin(self) -> None:
        self._tasks = [asyncio.create_task(deal.live()) for deal in self.deals]

    async def end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def raise_if_broken(self) -> None:
        for task in self._tasks:
            if task.done() and not task.cancelled():
                task.result()

    @property
    def counts(self) -> Counter[str]:
        return sum((deal.counts for deal in self.deals), Counter())

    def judge(self, env: dict[str, str], stored: Stored) -> list[str]:
        """In sentences, what is not as it was answered."""
        found = [surprise for deal in self.deals for surprise in deal.surprises]
        found += _agree(env)
        found += [problem for deal in self.deals for problem in _kept(deal, stored)]
        return found + _receipts(env["DATABASE_URL"], self.deals)


def make_deals(plot: Plot, ports: list[int], *, seed: int, pace: float, most: int) -> Deals:
    """In the threads of two: who asked, and who was asked."""
    slots = itertools.count(FIRST_SLOT)
    pairs = [(thread, people) for thread, people in plot.threads.items() if len(people) == 2]
    return Deals(
        [
            Deal(
                thread,
                {"buyer": plot.cookies[buyer][0], "seller": plot.cookies[seller][0]},
                ports,
                random.Random(f"{seed} deal {number}"),
                pace,
                slots,
            )
            for number, (thread, (buyer, seller)) in enumerate(pairs[:most])
        ]
    )


def _agree(env: dict[str, str]) -> list[str]:
    problems: list[str] = []

    def has_none() -> bool:
        found = [_command(env, name) for name in ("check_stores", "verify_documents")]
        problems[:] = filter(None, found)
        return not problems

    poll_until(has_none, AGREEMENT_SECONDS, interval=2)
    return problems


def _command(env: dict[str, str], name: str) -> str:
    done = subprocess.run(
        [sys.executable, "manage.py", name], cwd=ROOT, env=env, capture_output=True, text=True
    )
    waits = "entries are pending" in done.stdout
    if done.returncode or waits:
        return f"{name}: {done.stdout[-300:]} {done.stderr[-300:]}"
    return ""


def _kept(deal: Deal, stored: Stored) -> list[str]:
    tabs = stored.tabs.get(deal.thread, {})
    fields = tabs.get("brief", {}).get("snapshot", {}).get("fields", {})
    lost = [
        f"{deal.thread}: {part} is {fields.get(part, {}).get('text')}, answered was {text}"
        for part, text in deal.written.items()
        # The last attempt may have been stored without an answer.
        if _number(fields.get(part, {}).get("text", "")) < _number(text)
    ]
    there = {item["id"] for item in tabs.get("shotlist", {}).get("snapshot", {}).get("items", [])}
    lost += [f"{deal.thread}: the shot {part} is gone" for part in deal.shots - there]
    if deal.counts["deals accepted"] and stored.threads[deal.thread]["kind"] != "project":
        lost.append(f"{deal.thread}: was booked, and is no project")
    return lost


def _number(text: str) -> int:
    return int(text.split()[-1]) if text else 0


def _receipts(url: str, deals: list[Deal]) -> list[str]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT l.thread_id, r.seller_id, r.number FROM contracts_receipt r "
            "JOIN contracts_leg l ON l.id = r.leg_id ORDER BY r.seller_id, r.number"
        ).fetchall()
    issued = Counter(thread for thread, _, _ in rows)
    lost = [f"{d.thread}: a receipt is gone" for d in deals if issued[d.thread] < d.receipts]
    numbers: dict[str, list[int]] = {}
    for _, seller, number in rows:
        numbers.setdefault(seller, []).append(number)
    gaps = [s for s, found in numbers.items() if found != list(range(1, len(found) + 1))]
    return lost + [f"{seller}: the receipts have a gap" for seller in gaps]
