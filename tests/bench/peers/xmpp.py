"""A minimal XMPP client: SASL PLAIN, messages, markers and pings."""

import asyncio
import base64
import itertools
from collections.abc import Callable, Hashable, Iterator
from typing import Any
from xml.etree.ElementTree import Element, XMLPullParser

from tests.bench.peers.client import Client

DOMAIN = "localhost"
# Every account of the comparison has it; the servers listen on this machine only.
PASSWORD = "comparison"
TIMEOUT_SECONDS = 60.0
HEADER = (
    f"<?xml version='1.0'?><stream:stream to='{DOMAIN}' version='1.0' xmlns='jabber:client' "
    "xmlns:stream='http://etherx.jabber.org/streams'>"
)
MESSAGE, BODY = "{jabber:client}message", "{jabber:client}body"
SASL = "urn:ietf:params:xml:ns:xmpp-sasl"


class StanzaParser:
    """Splits a stream into its stanzas, which are the children of its first element."""

    def __init__(self) -> None:
        self._parser = XMLPullParser(("start", "end"))
        self._root: Element | None = None
        self._depth = 0

    def feed(self, data: bytes) -> Iterator[Element]:
        self._parser.feed(data)
        for event, element in self._parser.read_events():
            if event == "start":
                self._root = element if self._root is None else self._root
                self._depth += 1
                continue
            self._depth -= 1
            if self._depth == 1:
                assert self._root is not None
                self._root.clear()
                yield element


class Stream(asyncio.Protocol):
    """Stanzas are queued during the negotiation; afterwards a handler gets them."""

    def __init__(self) -> None:
        self._parser = StanzaParser()
        self._queue: asyncio.Queue[Element | None] = asyncio.Queue()
        self.on_stanza: Callable[[Element], None] = self._queue.put_nowait

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.WriteTransport = transport  # type: ignore[assignment]

    def connection_lost(self, error: Exception | None) -> None:
        self._queue.put_nowait(None)

    def data_received(self, data: bytes) -> None:
        for stanza in self._parser.feed(data):
            self.on_stanza(stanza)

    def write(self, text: str) -> None:
        self.transport.write(text.encode())

    async def request(self, text: str) -> Element:
        """Sends something and waits for the next stanza."""
        self.write(text)
        stanza = await asyncio.wait_for(self._queue.get(), TIMEOUT_SECONDS)
        if stanza is None:
            raise ConnectionError("The server has closed the stream.")
        return stanza

    async def open(self) -> None:
        """Opens the stream, also again after signing in, and waits for its features."""
        self._parser = StanzaParser()
        await self.request(HEADER)

    async def sign_in(self, user: str) -> None:
        credentials = base64.b64encode(f"\0{user}\0{PASSWORD}".encode()).decode()
        answer = await self.request(f"<auth xmlns='{SASL}' mechanism='PLAIN'>{credentials}</auth>")
        if answer.tag != f"{{{SASL}}}success":
            raise ConnectionError(f"{user} cannot sign in: {answer.tag}")
        await self.open()
        bind = "<bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'><resource>bench</resource></bind>"
        check_result(await self.request(f"<iq type='set' id='bind'>{bind}</iq>"))

    def close(self) -> None:
        self.write("</stream:stream>")
        self.transport.close()


def check_result(answer: Element) -> Element:
    if answer.get("type") != "result":
        raise ConnectionError(f"The server refused {answer.get('id')}: {error_of(answer)}")
    return answer


def error_of(stanza: Element) -> str:
    return ", ".join(element.tag.rpartition("}")[2] for element in stanza.iter())


async def open_stream(port: int) -> Stream:
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(Stream, "127.0.0.1", port)
    await stream.open()
    return stream


class XmppClient(Client):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.other = f"{self.account['other']}@{DOMAIN}"
        self.keys = itertools.count(1)
        self.newest = ""

    async def connect(self) -> None:
        self.stream = await open_stream(self.account["port"])
        await self.stream.sign_in(self.account["user"])
        self.stream.on_stanza = self.on_stanza
        # Messages to an account are delivered to its available connections.
        self.stream.write("<presence/>")

    def on_stanza(self, stanza: Element) -> None:
        if stanza.get("type") == "error":
            self.on_error(error_of(stanza))
        elif stanza.tag == MESSAGE and stanza.find(BODY) is not None:
            self.newest = stanza.get("id", "")
            self.on_delivery(self.newest)

    def send_message(self, body: str) -> Hashable:
        key = f"m{next(self.keys)}"
        self.stream.write(
            f"<message to='{self.other}' type='chat' id='{key}'><body>{body}</body>"
            "<markable xmlns='urn:xmpp:chat-markers:0'/></message>"
        )
        return key

    def mark_read(self) -> None:
        # Stored, as XEP-0333 recommends, and as Parley's read cursors are.
        self.stream.write(
            f"<message to='{self.other}' type='chat' id='r{next(self.keys)}'>"
            f"<displayed xmlns='urn:xmpp:chat-markers:0' id='{self.newest}'/>"
            "<store xmlns='urn:xmpp:hints'/></message>"
        )

    def ping(self) -> None:
        ping = "<ping xmlns='urn:xmpp:ping'/>"
        self.stream.write(f"<iq type='get' id='p{next(self.keys)}' to='{DOMAIN}'>{ping}</iq>")

    def close(self) -> None:
        self.stream.close()
