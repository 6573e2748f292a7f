"""Serve the site: daphne, with limits of our own. `python -m messaging_site.server --port 8000`"""

# First: daphne chooses the kind of event loop before anything else can.
from daphne.server import Server  # isort: skip

import argparse
import os
import sys
import threading
from functools import partial
from importlib import import_module
from typing import Any

from daphne.endpoints import build_endpoint_description_strings

APPLICATION = "messaging_site.asgi:application"
# A backstop: the consumer refuses from 64 KiB on, with an error that people can read.
MAX_FRAME = 128 * 1024
# Many sockets come back at the same moment when a server was away.
BACKLOG = 1024


class ParleyServer(Server):
    def listen_error(self, failure: Any) -> None:
        print(f"Cannot listen: {failure.getErrorMessage()}", file=sys.stderr)
        self.stop()


def serve(host: str, port: int, ready_fd: int | None) -> int:
    server = ParleyServer(
        application=_load(APPLICATION),
        endpoints=[
            f"{endpoint}:backlog={BACKLOG}"
            for endpoint in build_endpoint_description_strings(host=host, port=port)
        ],
        websocket_max_message_size=MAX_FRAME,
        websocket_max_frame_size=MAX_FRAME,
        application_close_timeout=10,
        server_name="parley",
        ready_callable=None,
    )
    server.ready_callable = partial(_tell, server, ready_fd)
    stop = _start_relay()
    server.run()
    stop.set()
    return 1 if server.abort_start else 0


def _start_relay() -> threading.Event:
    """What a crash or an outage left undone between the two stores is finished here."""
    from threads.relay import carry_forever

    stop = threading.Event()
    threading.Thread(target=carry_forever, args=[stop], name="relay", daemon=True).start()
    return stop


def _load(path: str) -> Any:
    module, name = path.split(":")
    return getattr(import_module(module), name)


def _tell(server: Server, ready_fd: int | None) -> None:
    """Whoever started us waits for this line before sending people here."""
    host, port = server.listening_addresses[0]
    if ready_fd is not None:
        with os.fdopen(ready_fd, "w") as ready:
            ready.write(f"{host} {port}\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m messaging_site.server")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 takes any free one")
    parser.add_argument("--ready-fd", type=int, help="where to write host and port once listening")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "messaging_site.settings")
    return serve(options.host, options.port, options.ready_fd)


if __name__ == "__main__":
    sys.exit(main())
