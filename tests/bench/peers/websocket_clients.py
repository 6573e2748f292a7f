"""Clients of Parley and of django-private-chat2."""

import asyncio
import itertools
from collections.abc import Hashable
from typing import Any
from uuid import uuid4

import orjson

from tests.bench import minimal_clients
from tests.bench.peers.client import Client

TIMEOUT_SECONDS = 60.0


class WebsocketClient(Client):
    path: str
    socket: minimal_clients.Socket

    async def connect(self) -> None:
        self.socket = await minimal_clients.connect(
            self.account["port"], self.account["cookie"], self.on_payload, path=self.path
        )

    def on_payload(self, payload: bytes) -> None:
        raise NotImplementedError

    def send_frame(self, **fields: Any) -> None:
        self.socket.send_text(orjson.dumps(fields))

    def close(self) -> None:
        self.socket.transport.close()


class ParleyClient(WebsocketClient):
    path = "/ws/"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.thread = self.account["thread"]
        self.newest: dict[str, Any] = {}
        self.has_opened = asyncio.Event()

    async def connect(self) -> None:
        await super().connect()
        self.send_frame(type="thread.open", thread=self.thread)
        await asyncio.wait_for(self.has_opened.wait(), TIMEOUT_SECONDS)

    def on_payload(self, payload: bytes) -> None:
        # Most other frames are not needed, so only their type is read.
        if payload.startswith(b'{"type":"message.sent"'):
            self.newest = orjson.loads(payload)
            self.on_delivery(self.newest["client_id"])
        elif payload.startswith(b'{"type":"thread.synced"'):
            self.has_opened.set()
        elif payload.startswith(b'{"type":"error"'):
            self.on_error(payload.decode())

    def send_message(self, body: str) -> Hashable:
        client_id = str(uuid4())
        self.send_frame(
            type="message.send",
            thread=self.thread,
            client_id=client_id,
            body=body,
            seen_seq=self.newest.get("seq", 0),
            after_seq=self.newest.get("seq"),
        )
        return client_id

    def mark_read(self) -> None:
        fields = {name: self.newest[name] for name in ("thread", "message", "seq", "tally")}
        self.send_frame(type="thread.mark_read", **fields)

    def ping(self) -> None:
        self.send_frame(type="ping")


class PrivateChatClient(WebsocketClient):
    """Text is published before it is stored; a message counts when the recipient gets its id in
    the database, which follows."""

    path = "/chat_ws"
    TEXT, READ, ERROR, STORED = 3, 6, 7, 8

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        # Its clients choose negative numbers.
        self.keys = itertools.count(-1, -1)
        self.newest = 0

    def on_payload(self, payload: bytes) -> None:
        event = orjson.loads(payload)
        if event["msg_type"] == self.STORED:
            self.newest = event["db_id"]
            self.on_delivery(event["random_id"])
        elif event["msg_type"] == self.ERROR:
            self.on_error(payload.decode())

    def send_message(self, body: str) -> Hashable:
        key = next(self.keys)
        self.send_frame(msg_type=self.TEXT, text=body, user_pk=self.account["other"], random_id=key)
        return key

    def mark_read(self) -> None:
        self.send_frame(msg_type=self.READ, user_pk=self.account["other"], message_id=self.newest)

    def ping(self) -> None:
        # It has no command for this.
        self.socket.send_ping()
