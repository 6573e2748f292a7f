"""Finds the user of a new socket by its session cookie, for many sockets at a time.

After a restart all pages reconnect at once. Handshakes that arrive during a lookup share the next
one, which takes two queries and one worker thread for all of them.
"""

import asyncio
from typing import Any

from channels.db import database_sync_to_async
from django.conf import settings
from django.http.cookie import parse_cookie

from accounts.models import User
from accounts.sign_in.sessions import find_users


class SessionUser:
    """Adds the session's key and its user, or None, to the scope."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self._lookups = SessionLookups()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        session_key = find_session_key(scope["headers"])
        user = await self._lookups.find_user(session_key) if session_key else None
        await self.application(scope | {"session_key": session_key, "user": user}, receive, send)


def find_session_key(headers: list[tuple[bytes, bytes]]) -> str:
    cookies = b"; ".join(value for name, value in headers if name == b"cookie")
    return parse_cookie(cookies.decode("latin1")).get(settings.SESSION_COOKIE_NAME, "")


class SessionLookups:
    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[User | None]] = {}
        self._task: asyncio.Task[None] | None = None

    async def find_user(self, session_key: str) -> User | None:
        loop = asyncio.get_running_loop()
        found = self._waiting.setdefault(session_key, loop.create_future())
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())
        # Other sockets of the same session may wait for it, too.
        return await asyncio.shield(found)

    async def _run(self) -> None:
        while self._waiting:
            waiting, self._waiting = self._waiting, {}
            try:
                users = await database_sync_to_async(find_users)(list(waiting))
            except Exception as error:
                for future in waiting.values():
                    future.set_exception(error)
            else:
                for session_key, future in waiting.items():
                    future.set_result(users.get(session_key))
