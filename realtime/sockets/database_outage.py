"""Closes handshakes while the database is unavailable, so that pages reconnect later."""

from typing import Any

import structlog
from django.db import InterfaceError, OperationalError

from realtime.sockets.close_codes import UNAVAILABLE

log = structlog.get_logger(__name__)


class CloseWithoutDatabase:
    """Accepts and closes with 4503, since a browser does not see why a handshake failed."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_accepted = False

        async def tracking_send(message: Any) -> None:
            nonlocal is_accepted
            is_accepted = is_accepted or message["type"] == "websocket.accept"
            await send(message)

        try:
            await self.application(scope, receive, tracking_send)
        except (OperationalError, InterfaceError) as error:
            if is_accepted:
                raise
            log.warning("socket_open_failed", reason=str(error))
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": UNAVAILABLE})
