"""Two people who agree on something while everything around them is killed: an offer, its
acceptance, both signatures, now and then a change, payments, and the next one; and meanwhile both
write in the panel. A step is asked for, under the same key, until it is answered; what was answered
has to be there in the end."""

import asyncio
import http.client
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode
from uuid import uuid4

TOKEN = "soak" * 8
TIMEOUT_SECONDS = 20
# In one conversation: more, and its panel would be larger than anybody's.
MOST_DEALS = 12
MOST_SHOTS = 40
# How many bookings are changed after they were signed; how many edits add a shot.
CHANGED = 0.3
SHOTS = 0.3


@dataclass
class Answer:
    status: int
    location: str
    body: str


@dataclass
class Deal:
    thread: str
    # By role: the cookie of one of their sessions.
    cookies: dict[str, str]
    ports: list[int]
    rng: random.Random
    pace: float
    # Days from now: no two deals of a run are on the same day, as a seller can do one at a time.
    slots: Iterator[int]
    counts: Counter[str] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)
    # What was answered: how many receipts, the last text of each part, every shot.
    receipts: int = 0
    written: dict[str, str] = field(default_factory=dict)
    shots: set[str] = field(default_factory=set)
    _known: set[str] = field(default_factory=set)

    async def live(self) -> None:
        """They agree again and again, and meanwhile both write in the panel."""
        await self._pause()
        await self._book()
        await asyncio.gather(
            self._deal_on(), self._write_on("buyer", "goals"), self._write_on("seller", "limits")
        )

    async def _deal_on(self) -> None:
        await self._fulfil(1)
        for number in range(2, MOST_DEALS + 1):
            await self._pause()
            await self._book()
            await self._fulfil(number)

    async def _book(self) -> None:
        await self._agree("seller", "buyer", f"/threads/{self.thread}/offer/")
        self.counts["deals accepted"] += 1

    async def _agree(self, proposer: str, other: str, path: str, **changed: str) -> None:
        fields = await self._review(proposer, path, _offer(next(self.slots)) | changed)
        offer = (await self._ask(proposer, path, fields)).location
        self.counts["deals offered"] += 1
        await self._pause()
        await self._ask(other, f"{offer}accept/", {})

    async def _review(self, role: str, path: str, fields: dict[str, str]) -> dict[str, str]:
        """What the form shows for review is confirmed with the digest that it names."""
        answer = await self._ask(role, path, fields, status=200)
        found = re.search(r'name="reviewed" value="(\w+)"', answer.body)
        return fields | {"reviewed": found[1] if found else ""}

    async def _fulfil(self, number: int) -> None:
        document, leg = await self._find_contract()
        await self._sign(document, 1)
        if self.rng.random() < CHANGED:
            path = f"/threads/{self.thread}/offer/?changes={leg}"
            await self._agree("buyer", "seller", path, **{"form-0-place": "Inside"})
            self.counts["deals changed"] += 1
            await self._sign(document, 2)
        await self._pay(leg, "400.00", 120_000)
        await self._pay(leg, "800.00", 80_000)

    async def _find_contract(self) -> tuple[str, str]:
        """The one that was not there before, once it has come to the table."""
        while True:
            page = await self._look("seller", self._tab("docs"), "/contracts/ctr_")
            for found in re.finditer(r"(/contracts/ctr_\w+/)\".*?changes=(leg_\w+)", page, re.S):
                if found[1] not in self._known:
                    self._known.add(found[1])
                    return found[1], found[2]
            await asyncio.sleep(0.5)

    async def _sign(self, document: str, version: int) -> None:
        for role in self.rng.sample(["buyer", "seller"], 2):
            await self._pause()
            await self._look(role, self._tab("docs"), f"{document}{version}.pdf")
            name = {"number": str(version), "has_read": "on", "legal_name": f"{role.title()} Soak"}
            await self._ask(role, f"{document}sign/", name)
            self.counts["deals signed"] += 1

    async def _pay(self, leg: str, amount: str, outstanding: int) -> None:
        await self._pause()
        await self._look("seller", self._tab("expenses"), f"/bookings/{leg}/payment/")
        asked = {"key": f"{leg}-{outstanding}", "amount": amount, "method": "cash"}
        asked |= {"paid_on": f"{date.today() - timedelta(days=1)}"}
        asked |= {"outstanding": str(outstanding)}
        await self._ask("seller", f"/bookings/{leg}/payment/", asked)
        self.receipts += 1
        self.counts["deals paid"] += 1

    async def _write_on(self, role: str, part: str) -> None:
        number = 0
        while True:
            await self._pause()
            number += 1
            if len(self.shots) < MOST_SHOTS and self.rng.random() < SHOTS:
                await self._add_shot(role, f"{role}{number}")
            else:
                await self._write(role, part, f"{part} {number}")
            self.counts["tabs edited"] += 1

    async def _write(self, role: str, part: str, text: str) -> None:
        page = await self._look(role, self._tab("brief"), 'data-tab="brief"')
        version = re.search(r'data-tab="brief" data-version="(\d+)"', page)[1]  # type: ignore[index]
        asked = {"op": "edit", "part": part, "version": version, "text": text}
        await self._ask(role, self._tab("brief"), asked)
        self.written[part] = text

    async def _add_shot(self, role: str, part: str) -> None:
        asked = {"op": "add", "part": part, "version": "0", "text": f"The shot {part}"}
        await self._look(role, self._tab("shotlist"), 'data-tab="shotlist"')
        await self._ask(role, self._tab("shotlist"), asked)
        self.shots.add(part)

    def _tab(self, name: str) -> str:
        return f"/threads/{self.thread}/panel/{name}/"

    async def _pause(self) -> None:
        await asyncio.sleep(self.rng.expovariate(1 / self.pace))

    async def _look(self, role: str, path: str, wanted: str) -> str:
        """Until the page has it: what was recorded may still be on its way to the table."""
        while True:
            answer = await self._once(role, "GET", path, None)
            if answer is not None and answer.status == 200 and wanted in answer.body:
                return answer.body
            await asyncio.sleep(0.5)

    async def _ask(self, role: str, path: str, fields: dict[str, str], status: int = 302) -> Answer:
        while True:
            answer = await self._once(role, "POST", path, fields)
            if answer is not None and answer.status == status and "/login/" not in answer.location:
                return answer
            if answer is not None and answer.status in (400, 403, 404, 409):
                said = re.search(r"<b>([^<]*)</b>|<h1>([^<]*)</h1>", answer.body)
                self.surprises.append(f"{path}: {answer.status} {said[0] if said else ''}")
                raise asyncio.CancelledError
            self.counts["deals tried again"] += 1
            await asyncio.sleep(0.5)

    async def _once(
        self, role: str, method: str, path: str, fields: dict[str, str] | None
    ) -> Answer | None:
        port = self.rng.choice(self.ports)
        try:
            return await asyncio.to_thread(_request, port, self.cookies[role], method, path, fields)
        except (OSError, http.client.HTTPException):
            return None


def _request(
    port: int, cookie: str, method: str, path: str, fields: dict[str, str] | None
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    headers = {
        "Cookie": f"sessionid={cookie}; csrftoken={TOKEN}",
        "X-CSRFToken": TOKEN,
        "Content-Type": "application/x-www-form-urlencoded",
    }
    try:
        body = urlencode(fields) if fields is not None else None
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheader("Location", ""), answer.read().decode())
    finally:
        connection.close()


def _offer(slot: int) -> dict[str, str]:
    day = f"{datetime.now(UTC) + timedelta(days=slot):%Y-%m-%d}"
    return {
        "key": str(uuid4()),
        "title": "Soak",
        "currency": "EUR",
        "form-TOTAL_FORMS": "1",
        "form-INITIAL_FORMS": "0",
        "form-0-service": "A day in the rain",
        "form-0-starts_at": f"{day}T10:00",
        "form-0-ends_at": f"{day}T16:00",
        "form-0-place": "Outside",
        "form-0-price": "1200",
        "form-0-deposit": "400",
        "form-0-cancellation": "moderate",
    }
