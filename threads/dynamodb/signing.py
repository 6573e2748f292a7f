"""Signs requests to DynamoDB with AWS Signature Version 4."""

import datetime
import hashlib
import hmac
import threading
from typing import Any

from botocore.exceptions import NoCredentialsError
from botocore.session import get_session

TARGET = "DynamoDB_20120810"
SIGNED_HEADERS = "content-type;host;x-amz-date;x-amz-target"


def current_time() -> datetime.datetime:
    """AWS rejects signatures that are more than five minutes off."""
    return datetime.datetime.now(datetime.UTC)


class Signer:
    def __init__(self, region: str, host: str) -> None:
        self.region, self.host = region, host
        self._session = get_session()
        self._credentials_lock = threading.Lock()
        self._credentials: Any = None
        # The secret and day of the signing key, and the key.
        self._key: tuple[tuple[str, str], bytes] = ("", ""), b""

    def sign(self, operation: str, body: bytes, credentials: Any) -> bytes:
        """The complete HTTP request."""
        now = current_time().strftime("%Y%m%dT%H%M%SZ")
        scope = f"{now[:8]}/{self.region}/dynamodb/aws4_request"
        headers = (
            "content-type:application/x-amz-json-1.0\n"
            f"host:{self.host}\nx-amz-date:{now}\nx-amz-target:{TARGET}.{operation}\n"
        )
        names = SIGNED_HEADERS
        if credentials.token:
            headers = headers.replace(
                "x-amz-target", f"x-amz-security-token:{credentials.token}\nx-amz-target"
            )
            names = names.replace("x-amz-target", "x-amz-security-token;x-amz-target")
        canonical = f"POST\n/\n\n{headers}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        to_sign = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{digest}"
        key = self._signing_key(credentials.secret_key, now[:8])
        signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
        return (
            f"POST / HTTP/1.1\r\n{headers.replace(chr(10), chr(13) + chr(10))}"
            f"authorization:AWS4-HMAC-SHA256 Credential={credentials.access_key}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}\r\n"
            f"content-length:{len(body)}\r\n\r\n"
        ).encode() + body

    def needs_provider(self) -> bool:
        """Whether `get_credentials` would call a provider, which may be slow."""
        refresh_needed = getattr(self._credentials, "refresh_needed", None)
        return self._credentials is None or bool(refresh_needed and refresh_needed())

    def get_credentials(self) -> Any:
        """Current credentials; botocore refreshes those of a role."""
        if self._credentials is None:
            with self._credentials_lock:
                self._credentials = self._session.get_credentials()
        if self._credentials is None:
            raise NoCredentialsError
        return self._credentials.get_frozen_credentials()

    def _signing_key(self, secret: str, day: str) -> bytes:
        valid_for, key = self._key
        if valid_for != (secret, day):
            key = f"AWS4{secret}".encode()
            for part in (day, self.region, "dynamodb", "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._key = (secret, day), key
        return key
