"""A handshake while the database does not answer: the page is told to come back later."""

from typing import Any

import structlog
from django.db import InterfaceError, OperationalError

from realtime.sockets.session_checks import NOT_NOW

log = structlog.get_logger(__name__)


class CloseWithoutDatabase:
    """Accepts and closes with 4503, since a browser is not told why a handshake failed."""

    def __init__(self, application: Any) -> None:
        self.application = application

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        is_accepted = False

        async def watched_send(message: Any) -> None:
            nonlocal is_accepted
            is_accepted = is_accepted or message["type"] == "websocket.accept"
            await send(message)

        try:
            await self.application(scope, receive, watched_send)
        except (OperationalError, InterfaceError) as error:
            if is_accepted:
                raise
            log.warning("socket_not_opened", why=str(error))
            await receive()
            await send({"type": "websocket.accept"})
            await send({"type": "websocket.close", "code": NOT_NOW})
