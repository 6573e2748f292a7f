"""Serve the site. `python -m messaging_site.server --port 8000`"""

import argparse
import gc
import os
import sys
import threading
from functools import partial
from importlib import import_module
from typing import Any

from messaging_site.servers.drain import close_on_drain

APPLICATION = "messaging_site.asgi:application"


def serve(host: str, port: int, ready_fd: int | None) -> int:
    from django.conf import settings

    # First: daphne chooses the kind of event loop before anything else can.
    server = import_module(f"messaging_site.servers.{settings.SERVER}")
    application = close_on_drain(_load(APPLICATION))
    _limit_statements()
    _start_metrics()
    _start_relay(stop := threading.Event())
    _start_feeder(stop)
    _leave_alone_what_stays()
    ended: int = server.run(
        application,
        host=host,
        port=port,
        drain_seconds=settings.DRAIN_SECONDS,
        ready=partial(_tell, ready_fd),
    )
    stop.set()
    return ended


def _limit_statements() -> None:
    """A server answers people, so it does not wait for the database as long as a command may."""
    from django.conf import settings

    from messaging_site.postgresql.connection import BoundedConnection

    BoundedConnection.statement_seconds = settings.DATABASE_STATEMENT_SECONDS


def _leave_alone_what_stays() -> None:
    """Looking for garbage is for what comes and goes. What was loaded by now stays to the end, and
    going through all of it would hold everybody up again and again."""
    gc.collect()
    gc.freeze()


def _start_relay(stop: threading.Event) -> None:
    """What a crash or an outage left undone between the two stores is finished here, what nothing
    needs any more goes, what people asked to take along is put together, and pictures that they
    pinned by their address are fetched."""
    from core.outbox.relay import run_relay
    from privacy.export.worker import run_export_worker
    from projects.cards.deadline_worker import run_deadlines
    from projects.remote_pins import run_remote_pins
    from threads.cleanup import run_cleanup

    jobs = {
        "relay": run_relay,
        "sweeper": run_cleanup,
        "clock": run_deadlines,
        "exporter": run_export_worker,
        "fetcher": run_remote_pins,
    }
    for name, work in jobs.items():
        threading.Thread(target=work, args=[stop], name=name, daemon=True).start()


def _start_feeder(stop: threading.Event) -> None:
    """What was said becomes findable a moment later."""
    from inbox.search.indexer import run_indexer

    threading.Thread(target=run_indexer, args=[stop], name="search", daemon=True).start()


def _start_metrics() -> None:
    """At an address of their own: what is counted is not for everybody."""
    from django.conf import settings
    from prometheus_client import start_http_server

    if settings.METRICS:
        host, _, port = settings.METRICS.rpartition(":")
        start_http_server(int(port), addr=host or "127.0.0.1")


def _load(path: str) -> Any:
    module, name = path.split(":")
    return getattr(import_module(module), name)


def _tell(ready_fd: int | None, host: str, port: int) -> None:
    """Whoever started us waits for this line before sending people here."""
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
