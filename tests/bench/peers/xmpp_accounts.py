"""Accounts of an XMPP server, and the sizes of their archives."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from xml.etree.ElementTree import Element

from tests.bench.peers.server import CONVERSATIONS, Server
from tests.bench.peers.xmpp import PASSWORD, check_result, open_stream

ARCHIVE, RESULT_SET = "urn:xmpp:mam:2", "http://jabber.org/protocol/rsm"


def build_server(name: str, port: int, programs: dict[str, int]) -> Server:
    """Registers the users of a server that has just started."""
    pairs = [(f"sender{number}", f"recipient{number}") for number in range(CONVERSATIONS)]
    users = [user for pair in pairs for user in pair]
    asyncio.run(_for_each(users, lambda user: _register(port, user)))
    return Server(
        name=name,
        protocol="xmpp",
        conversations=[
            [{"port": port, "user": user, "other": other} for user, other in (pair, pair[::-1])]
            for pair in pairs
        ],
        programs=programs,
        # Every message is in the archives of both users.
        count_stored=lambda: count_archived(port, users) / 2,
        archives_marks=True,
    )


def count_archived(port: int, users: Iterable[str]) -> int:
    """The number of stanzas in the archives of these users."""
    return sum(asyncio.run(_for_each(users, lambda user: _count(port, user))))


async def _for_each(users: Iterable[str], run: Callable[[str], Awaitable[int]]) -> list[int]:
    return [await run(user) for user in users]


async def _register(port: int, user: str) -> int:
    stream = await open_stream(port)
    fields = f"<username>{user}</username><password>{PASSWORD}</password>"
    query = f"<query xmlns='jabber:iq:register'>{fields}</query>"
    check_result(await stream.request(f"<iq type='set' id='register'>{query}</iq>"))
    stream.close()
    return 1


async def _count(port: int, user: str) -> int:
    stream = await open_stream(port)
    await stream.sign_in(user)
    page = f"<set xmlns='{RESULT_SET}'><max>0</max></set>"
    query = f"<query xmlns='{ARCHIVE}'>{page}</query>"
    answer = check_result(await stream.request(f"<iq type='set' id='count'>{query}</iq>"))
    stream.close()
    return archived_count(answer)


def archived_count(answer: Element) -> int:
    count = answer.find(f"{{{ARCHIVE}}}fin/{{{RESULT_SET}}}set/{{{RESULT_SET}}}count")
    if count is None or count.text is None:
        raise ConnectionError("The server does not count its archive.")
    return int(count.text)
