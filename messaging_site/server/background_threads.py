"""Background threads of a server process. Imported after Django is set up."""

import threading

from inbox.search.indexer import run_indexer
from privacy.export.worker import export_forever
from projects.cards.clock import tick_forever
from projects.remote_pins import fetch_forever
from threads.cleanup import sweep_files_forever
from threads.relay import run_relay

# Each function runs until the event that it is given is set.
BACKGROUND_THREADS = {
    "outbox-relay": run_relay,
    "search-indexer": run_indexer,
    "cleanup": sweep_files_forever,
    "card-deadlines": tick_forever,
    "data-export": export_forever,
    "remote-images": fetch_forever,
}


def start_background_threads(stop: threading.Event) -> None:
    for name, function in BACKGROUND_THREADS.items():
        threading.Thread(target=function, args=[stop], name=name, daemon=True).start()
