"""Somebody who clicks and fills in forms, without a browser."""

import http.client
import re
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

from tests.site import Account, Site
from tests.threads.botocore_client import botocore_client

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
TIMEOUT_SECONDS = 30


@dataclass
class Visitor:
    site: Site
    cookies: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, site: Site, account: Account) -> "Visitor":
        """In the session that the account came with."""
        return cls(site, {"sessionid": account.cookie})

    @classmethod
    def signed_in(cls, site: Site, account: Account) -> "Visitor":
        """On another device, by the sign-in page."""
        visitor = cls(site)
        fields = {"login": account.email, "password": account.password}
        status, _ = visitor.post("/accounts/login/", **fields)
        assert status == 302
        return visitor

    def account(self, account: Account) -> Account:
        """The same person in this session."""
        return Account(account.id, account.email, account.password, self.cookies["sessionid"])

    def get(self, path: str) -> tuple[int, str]:
        return self._ask("GET", path)

    def post(self, path: str, *, form_at: str = "", **fields: Any) -> tuple[int, str]:
        """As the form at that page would."""
        _, page = self.get(form_at or path)
        token = TOKEN.search(page) or TOKEN.search(self.get("/inbox/")[1])
        assert token, "There is no form."
        return self._ask("POST", path, {"csrfmiddlewaretoken": token[1], **fields})

    def _ask(self, method: str, path: str, fields: dict | None = None) -> tuple[int, str]:
        peer = http.client.HTTPConnection(self.site.address, timeout=TIMEOUT_SECONDS)
        headers = {"Cookie": "; ".join(f"{n}={v}" for n, v in self.cookies.items())}
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        peer.request(method, path, urlencode(fields or {}), headers)
        answer = peer.getresponse()
        for header in answer.headers.get_all("Set-Cookie", []):
            self.cookies |= {name: one.value for name, one in SimpleCookie(header).items()}
        body = answer.read().decode()
        peer.close()
        return answer.status, body


def handle_of(account: Account) -> str:
    return account.email.partition("@")[0]


def items_of(site: Site, pk: str, prefix: str = "") -> list[dict[str, Any]]:
    """What the site has in its table under a key."""
    answer = botocore_client().query(
        TableName=site.env["PARLEY_TABLE"],
        KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)" if prefix else "pk = :pk",
        ExpressionAttributeValues={":pk": {"S": pk}} | ({":sk": {"S": prefix}} if prefix else {}),
    )
    return answer["Items"]
