"""Two users make bookings while processes are killed: offer, acceptance, both signatures, sometimes
a change, payments, then the next booking; meanwhile both edit the panel. A step is retried with the
same key until it is confirmed, and every confirmed step must be stored at the end."""

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
# Limits per thread, which keep the panel at a realistic size.
MAX_BOOKINGS = 12
MAX_SHOTS = 40
# The shares of bookings that are changed after signing, and of edits that add a shot.
CHANGE_PROBABILITY = 0.3
SHOT_PROBABILITY = 0.3


@dataclass
class Response:
    status: int
    location: str
    body: str


@dataclass
class BookingFlow:
    thread: str
    # Role -> session cookie.
    cookies: dict[str, str]
    ports: list[int]
    rng: random.Random
    pause_seconds: float
    # Days from now; every booking has its own day, since a seller cannot be booked twice.
    slots: Iterator[int]
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    # Confirmed so far: the number of receipts, the last text of each part, every shot.
    receipts: int = 0
    confirmed_texts: dict[str, str] = field(default_factory=dict)
    shots: set[str] = field(default_factory=set)
    _seen_contracts: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Makes one booking after the other while both users edit the panel."""
        await self._pause()
        await self._book()
        await asyncio.gather(
            self._book_repeatedly(),
            self._edit_repeatedly("buyer", "goals"),
            self._edit_repeatedly("seller", "limits"),
        )

    async def _book_repeatedly(self) -> None:
        await self._fulfil(1)
        for number in range(2, MAX_BOOKINGS + 1):
            await self._pause()
            await self._book()
            await self._fulfil(number)

    async def _book(self) -> None:
        await self._offer_and_accept("seller", "buyer", f"/threads/{self.thread}/offer/")
        self.counts["deals accepted"] += 1

    async def _offer_and_accept(self, proposer: str, other: str, path: str, **changed: str) -> None:
        fields = await self._review(proposer, path, _offer(next(self.slots)) | changed)
        await self._post(proposer, path, fields)
        self.counts["deals offered"] += 1
        await self._pause()
        page = await self._poll_page(other, f"/threads/{self.thread}/", "/accept/")
        found = re.findall(r"/cards/card_\w+/accept/", page)
        await self._post(other, found[-1], {"version": "1", "key": "accept-1"})

    async def _review(self, role: str, path: str, fields: dict[str, str]) -> dict[str, str]:
        """Returns the fields with the digest of the reviewed form, which confirms them."""
        response = await self._post(role, path, fields, status=200)
        found = re.search(r'name="reviewed" value="(\w+)"', response.body)
        return fields | {"reviewed": found[1] if found else ""}

    async def _fulfil(self, number: int) -> None:
        document, leg = await self._find_contract()
        await self._sign(document, 1)
        if self.rng.random() < CHANGE_PROBABILITY:
            path = f"/threads/{self.thread}/offer/?changes={leg}"
            await self._offer_and_accept("buyer", "seller", path, **{"form-0-place": "Inside"})
            self.counts["deals changed"] += 1
            await self._sign(document, 2)
        await self._pay(leg, "400.00", 120_000)
        await self._pay(leg, "800.00", 80_000)

    async def _find_contract(self) -> tuple[str, str]:
        """The new contract, after it has been copied to the table."""
        while True:
            page = await self._poll_page("seller", self._tab("docs"), "/contracts/ctr_")
            for found in re.finditer(r"changes=(leg_\w+).*?(/contracts/ctr_\w+/)\"", page, re.S):
                if found[2] not in self._seen_contracts:
                    self._seen_contracts.add(found[2])
                    return found[2], found[1]
            await asyncio.sleep(0.5)

    async def _sign(self, document: str, version: int) -> None:
        for role in self.rng.sample(["buyer", "seller"], 2):
            await self._pause()
            await self._poll_page(role, self._tab("docs"), f"{document}{version}.pdf")
            name = {"number": str(version), "has_read": "on", "legal_name": f"{role.title()} Soak"}
            await self._post(role, f"{document}sign/", name)
            self.counts["deals signed"] += 1

    async def _pay(self, leg: str, amount: str, outstanding: int) -> None:
        await self._pause()
        await self._poll_page("seller", self._tab("expenses"), f"/bookings/{leg}/payment/")
        fields = {"key": f"{leg}-{outstanding}", "amount": amount, "method": "cash"}
        fields |= {"paid_on": f"{date.today() - timedelta(days=1)}"}
        fields |= {"outstanding": str(outstanding)}
        await self._post("seller", f"/bookings/{leg}/payment/", fields)
        self.receipts += 1
        self.counts["deals paid"] += 1

    async def _edit_repeatedly(self, role: str, part: str) -> None:
        number = 0
        while True:
            await self._pause()
            number += 1
            if len(self.shots) < MAX_SHOTS and self.rng.random() < SHOT_PROBABILITY:
                await self._add_shot(role, f"{role}{number}")
            else:
                await self._edit_brief(role, part, f"{part} {number}")
            self.counts["tabs edited"] += 1

    async def _edit_brief(self, role: str, part: str, text: str) -> None:
        page = await self._poll_page(role, self._tab("brief"), 'data-tab="brief"')
        version = re.search(r'data-tab="brief" data-version="(\d+)"', page)[1]  # type: ignore[index]
        fields = {"op": "edit", "part": part, "version": version, "text": text}
        await self._post(role, self._tab("brief"), fields)
        self.confirmed_texts[part] = text

    async def _add_shot(self, role: str, part: str) -> None:
        fields = {"op": "add", "part": part, "version": "0", "text": f"The shot {part}"}
        await self._poll_page(role, self._tab("shotlist"), 'data-tab="shotlist"')
        await self._post(role, self._tab("shotlist"), fields)
        self.shots.add(part)

    def _tab(self, name: str) -> str:
        return f"/threads/{self.thread}/panel/{name}/"

    async def _pause(self) -> None:
        await asyncio.sleep(self.rng.expovariate(1 / self.pause_seconds))

    async def _poll_page(self, role: str, path: str, expected: str) -> str:
        """Polls until the page has the text, since the relay copies records with a delay."""
        while True:
            response = await self._try_request(role, "GET", path, None)
            if response is not None and response.status == 200 and expected in response.body:
                return response.body
            await asyncio.sleep(0.5)

    async def _post(
        self, role: str, path: str, fields: dict[str, str], status: int = 302
    ) -> Response:
        while True:
            response = await self._try_request(role, "POST", path, fields)
            if (
                response is not None
                and response.status == status
                and "/login/" not in response.location
            ):
                return response
            if response is not None and response.status in (400, 403, 404, 409):
                heading = re.search(r"<b>([^<]*)</b>|<h1>([^<]*)</h1>", response.body)
                self.problems.append(f"{path}: {response.status} {heading[0] if heading else ''}")
                raise asyncio.CancelledError
            self.counts["deals tried again"] += 1
            await asyncio.sleep(0.5)

    async def _try_request(
        self, role: str, method: str, path: str, fields: dict[str, str] | None
    ) -> Response | None:
        port = self.rng.choice(self.ports)
        try:
            return await asyncio.to_thread(_request, port, self.cookies[role], method, path, fields)
        except (OSError, http.client.HTTPException):
            return None


def _request(
    port: int, cookie: str, method: str, path: str, fields: dict[str, str] | None
) -> Response:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS)
    headers = {
        "Cookie": f"sessionid={cookie}; csrftoken={TOKEN}",
        "X-CSRFToken": TOKEN,
        "Content-Type": "application/x-www-form-urlencoded",
    }
    try:
        body = urlencode(fields) if fields is not None else None
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return Response(
            response.status, response.getheader("Location", ""), response.read().decode()
        )
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
