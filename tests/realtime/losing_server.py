"""The service with shorter intervals. It loses the events of some messages: one on the bus, and one
by dying after the message is stored."""

import os
import sys
from typing import Any

LOST, LAST_WORDS = "Lost on the bus", "Last words"


def make_lossy() -> None:
    from realtime.broadcast import redis_bus
    from realtime.sockets import heartbeat
    from threads import events

    receive, publish = redis_bus.RedisBus._receive, events.publish

    def lose(bus: Any, data: bytes) -> None:
        if LOST.encode() not in data:
            receive(bus, data)

    def die(event: Any, *, to: list[str]) -> None:
        if event.get("body") == LAST_WORDS:
            os._exit(9)
        publish(event, to=to)

    redis_bus.BEAT_SECONDS, redis_bus.SILENCE_SECONDS = 0.5, 3.0
    heartbeat.FIRST_DELAY_SECONDS, heartbeat.INTERVAL_SECONDS = 0.0, 1.0
    redis_bus.RedisBus._receive = lose  # type: ignore[method-assign]
    events.publish = die


if __name__ == "__main__":
    # First, since the server chooses the event loop.
    import django

    from messaging_site.server.__main__ import main

    django.setup()
    make_lossy()
    sys.exit(main())
