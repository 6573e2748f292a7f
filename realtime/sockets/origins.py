"""Allows only our own pages to open a socket, since browsers send cookies for any page."""

from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import validate_host


class SameOrigin:
    """Rejects handshakes unless their Origin is the requested host or a trusted one."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        app = self.application if is_allowed(dict(scope["headers"])) else WebsocketDenier()
        await app(scope, receive, send)


def is_allowed(headers: dict[bytes, bytes]) -> bool:
    origin = headers.get(b"origin", b"").decode("latin1").lower()
    host = headers.get(b"host", b"").decode("latin1").lower()
    parts = urlsplit(origin)
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    if not parts.hostname or parts.scheme not in ("http", "https") or parts.netloc != host:
        return False
    return validate_host(_without_port(host), settings.ALLOWED_HOSTS)


def _without_port(host: str) -> str:
    name, _, port = host.rpartition(":")
    return name if name and port.isdigit() else host
