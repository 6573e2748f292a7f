"""An HTTP client that requests pages and submits forms, without a browser."""

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
        """Uses the existing session of the account."""
        return cls(site, {"sessionid": account.cookie})

    @classmethod
    def signed_in(cls, site: Site, account: Account) -> "Visitor":
        """Signs in on the sign-in page, as on another device."""
        visitor = cls(site)
        fields = {"login": account.email, "password": account.password}
        status, _ = visitor.post("/accounts/login/", **fields)
        assert status == 302
        return visitor

    def account(self, account: Account) -> Account:
        """The same account with the cookie of this session."""
        return Account(account.id, account.email, account.password, self.cookies["sessionid"])

    def get(self, path: str) -> tuple[int, str]:
        return self._request("GET", path)

    def post(self, path: str, *, form_at: str = "", **fields: Any) -> tuple[int, str]:
        """Submits a form, with the token of the page that contains it."""
        _, page = self.get(form_at or path)
        token = TOKEN.search(page) or TOKEN.search(self.get("/inbox/")[1])
        assert token, "The page has no form."
        return self._request("POST", path, {"csrfmiddlewaretoken": token[1], **fields})

    def _request(self, method: str, path: str, fields: dict | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection(self.site.address, timeout=TIMEOUT_SECONDS)
        headers = {"Cookie": "; ".join(f"{n}={v}" for n, v in self.cookies.items())}
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, urlencode(fields or {}), headers)
        response = connection.getresponse()
        for header in response.headers.get_all("Set-Cookie", []):
            self.cookies |= {name: one.value for name, one in SimpleCookie(header).items()}
        body = response.read().decode()
        connection.close()
        return response.status, body


def handle_of(account: Account) -> str:
    return account.email.partition("@")[0]


def items_of(site: Site, pk: str, prefix: str = "") -> list[dict[str, Any]]:
    """The items of a partition in the table of the site."""
    response = botocore_client().query(
        TableName=site.env["PARLEY_TABLE"],
        KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)" if prefix else "pk = :pk",
        ExpressionAttributeValues={":pk": {"S": pk}} | ({":sk": {"S": prefix}} if prefix else {}),
    )
    return response["Items"]
