"""Command line of the server: `python -m messaging_site.server --port 8000`"""

import argparse
import gc
import os
import sys
import threading
from functools import partial

from messaging_site.server import daphne_server


def serve(host: str, port: int, ready_fd: int | None) -> int:
    from django.conf import settings

    # Importing the application sets up Django, which the other modules need.
    from messaging_site.asgi import application
    from messaging_site.server.background_threads import start_background_threads

    _limit_statements()
    _start_metrics()
    _load_pdf_library()
    start_background_threads(stop := threading.Event())
    _freeze_loaded_objects()
    exit_code = daphne_server.run(
        application,
        host=host,
        port=port,
        drain_seconds=settings.DRAIN_SECONDS,
        on_ready=partial(_report_ready, ready_fd),
    )
    stop.set()
    return exit_code


def _limit_statements() -> None:
    """Statements of a server time out sooner than those of management commands."""
    from django.conf import settings

    from messaging_site.postgresql.connection import BoundedConnection

    BoundedConnection.statement_seconds = settings.DATABASE_STATEMENT_SECONDS


def _start_metrics() -> None:
    """Metrics have their own address, because they are not public."""
    from django.conf import settings
    from prometheus_client import start_http_server

    if settings.METRICS:
        host, _, port = settings.METRICS.rpartition(":")
        start_http_server(int(port), addr=host or "127.0.0.1")


def _load_pdf_library() -> None:
    """Otherwise the first contract after a start would wait for it."""
    import contracts.documents.pdf  # noqa: F401


def _freeze_loaded_objects() -> None:
    """Modules stay until the end: excluding them makes every garbage collection shorter."""
    gc.collect()
    gc.freeze()


def _report_ready(ready_fd: int | None, host: str, port: int) -> None:
    """The parent process waits for this line before it directs users here."""
    if ready_fd is not None:
        with os.fdopen(ready_fd, "w") as ready:
            ready.write(f"{host} {port}\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m messaging_site.server")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0 selects a free port")
    parser.add_argument(
        "--ready-fd", type=int, help="file descriptor for host and port once listening"
    )
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "messaging_site.settings")
    return serve(options.host, options.port, options.ready_fd)


if __name__ == "__main__":
    sys.exit(main())
