"""Two people who agree on something while everything around them is killed: an offer, its
acceptance, both signatures, payments, edits of the brief. A step is asked for, under the same key,
until it is answered; what was answered has to be there in the end."""

import asyncio
import http.client
import random
import re
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlencode
from uuid import uuid4

TOKEN = "soak" * 8
PATIENCE = 20


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
    counts: Counter[str] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)
    receipts: int = 0
    written: dict[str, str] = field(default_factory=dict)

    async def live(self) -> None:
        await self._pause()
        offer = (await self._ask("seller", f"/threads/{self.thread}/offer/", _offer())).location
        self.counts["deals offered"] += 1
        await self._pause()
        await self._ask("buyer", f"{offer}accept/", {})
        self.counts["deals accepted"] += 1
        for role in self.rng.sample(["buyer", "seller"], 2):
            await self._pause()
            await self._sign(role)
        await self._pay("deposit", 120_000)
        await self._pay("balance", 80_000)
        number = 0
        while True:
            await self._pause()
            number += 1
            await self._write(self.rng.choice([("buyer", "goals"), ("seller", "limits")]), number)

    async def _sign(self, role: str) -> None:
        page = await self._look(role, f"/threads/{self.thread}/panel/docs/", "/contracts/ctr_")
        document = re.search(r"/contracts/ctr_\w+/", page)[0]  # type: ignore[index]
        name = {"number": "1", "has_read": "on", "legal_name": f"{role.title()} Soak"}
        await self._ask(role, f"{document}sign/", name)
        self.counts["deals signed"] += 1

    async def _pay(self, what: str, shown: int) -> None:
        await self._pause()
        path = f"/threads/{self.thread}/panel/expenses/"
        leg = re.search(r"/bookings/(leg_\w+)/payment/", await self._look("seller", path, "leg_"))
        asked = {"key": f"soak-{what}", "what": what, "shown": str(shown)}
        await self._ask("seller", leg[0], asked)  # type: ignore[index]
        self.receipts += 1
        self.counts["deals paid"] += 1

    async def _write(self, who: tuple[str, str], number: int) -> None:
        role, part = who
        text = f"{part} {number}"
        page = await self._look(role, f"/threads/{self.thread}/panel/brief/", 'data-tab="brief"')
        version = re.search(r'data-tab="brief" data-version="(\d+)"', page)[1]  # type: ignore[index]
        asked = {"op": "edit", "part": part, "version": version, "text": text}
        await self._ask(role, f"/threads/{self.thread}/panel/brief/", asked)
        self.written[part] = text
        self.counts["tabs edited"] += 1

    async def _pause(self) -> None:
        await asyncio.sleep(self.rng.expovariate(1 / self.pace))

    async def _look(self, role: str, path: str, wanted: str) -> str:
        """Until the page has it: what was recorded may still be on its way to the table."""
        while True:
            answer = await self._once(role, "GET", path, None)
            if answer is not None and answer.status == 200 and wanted in answer.body:
                return answer.body
            await asyncio.sleep(0.5)

    async def _ask(self, role: str, path: str, fields: dict[str, str]) -> Answer:
        while True:
            answer = await self._once(role, "POST", path, fields)
            if answer is not None and answer.status == 302 and "/login/" not in answer.location:
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
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
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


def _offer() -> dict[str, str]:
    return {
        "key": str(uuid4()),
        "title": "Soak",
        "currency": "EUR",
        "form-TOTAL_FORMS": "1",
        "form-INITIAL_FORMS": "0",
        "form-0-service": "A day in the rain",
        "form-0-starts_at": "2031-05-01T10:00",
        "form-0-ends_at": "2031-05-01T16:00",
        "form-0-place": "Outside",
        "form-0-price": "1200",
        "form-0-deposit": "400",
        "form-0-cancellation": "moderate",
    }
