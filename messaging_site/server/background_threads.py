"""Background threads of a server process. Imported after Django is set up."""

import threading

from availability.worker import run_calendar_feeds
from core.outbox.relay import run_relay
from inbox.search.indexer import run_indexer
from privacy.export.worker import run_export_worker
from projects.cards.deadline_worker import run_deadlines
from projects.remote_pins import run_remote_pins
from threads.cleanup import run_cleanup

# Each function runs until the event that it is given is set.
BACKGROUND_THREADS = {
    "outbox-relay": run_relay,
    "search-indexer": run_indexer,
    "cleanup": run_cleanup,
    "card-deadlines": run_deadlines,
    "data-export": run_export_worker,
    "remote-images": run_remote_pins,
    "calendar-feeds": run_calendar_feeds,
}


def start_background_threads(stop: threading.Event) -> None:
    for name, function in BACKGROUND_THREADS.items():
        threading.Thread(target=function, args=[stop], name=name, daemon=True).start()
