"""`python -m tests.bench.parts`: the cost of smaller components, compared with their alternatives.

Each line is one comparison of docs/decisions/: processor time of this process unless stated
otherwise, the median of interleaved rounds.
"""

import io
import os
import random
import socket
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable
from itertools import count
from pathlib import Path
from uuid import uuid4

import django

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "script"))

import services  # noqa: E402
import test_environment  # noqa: E402

ROUNDS = 7
Work = Callable[[], object]


def compare(title: str, *, times: int, wall: bool = False, **variants: Work) -> None:
    clock = time.perf_counter if wall else time.process_time
    micros: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(ROUNDS + 1):
        for name, work in variants.items():
            started_at = clock()
            for _ in range(times):
                work()
            # The first round opens connections and starts processes.
            if number:
                micros[name].append((clock() - started_at) / times * 1e6)
    shown = ", ".join(f"{name} {statistics.median(all_):.1f} µs" for name, all_ in micros.items())
    print(f"{title}: {shown}", flush=True)


def rate_limits(redis_url: str) -> None:
    from django.core.cache.backends.redis import RedisCache

    from core.rate_limits import check_rate_limit

    cache = RedisCache(redis_url, {})
    cache.set("limit", 0)
    compare(
        "check of a rate limit, CPU",
        times=1000,
        bucket=lambda: check_rate_limit("message", "usr_1"),
        django_cache_on_redis=lambda: cache.incr("limit"),
    )
    compare(
        "check of a rate limit, wall clock",
        times=1000,
        wall=True,
        bucket=lambda: check_rate_limit("message", "usr_1"),
        django_cache_on_redis=lambda: cache.incr("limit"),
    )


def recent_writes(redis_url: str) -> None:
    from threads.dynamodb.recent_writes import InMemoryRecentWrites, RedisRecentWrites

    memory, redis = InMemoryRecentWrites(), RedisRecentWrites(redis_url)
    rows, numbers = [("usr_1", "thrd_1"), ("usr_2", "thrd_1")], count()

    def new_rows() -> list[tuple[str, str]]:
        thread_id = f"thrd_{next(numbers)}"
        return [("usr_1", thread_id), ("usr_2", thread_id)]

    compare(
        "note of a write of two participants, CPU",
        times=500,
        in_memory=lambda: memory.record(rows),
        in_redis=lambda: redis.record(new_rows()),
        in_redis_again=lambda: redis.record(rows),
    )


def search() -> None:
    """Searches 100,000 messages of eight words for a word that five of them contain."""
    words = [uuid4().hex[: random.randint(3, 9)] for _ in range(20_000)]
    with tempfile.TemporaryDirectory() as folder:
        database = sqlite3.connect(Path(folder) / "search.sqlite3")
        database.execute("CREATE TABLE message (id INTEGER PRIMARY KEY, folded TEXT)")
        database.execute("CREATE VIRTUAL TABLE text USING fts5(folded, tokenize='trigram')")
        for number in range(100_000):
            text = " ".join(random.choices(words, k=8))
            text += " tanzanite" if number % 20_000 == 0 else ""
            database.execute("INSERT INTO message VALUES (?, ?)", (number, text))
            database.execute("INSERT INTO text (rowid, folded) VALUES (?, ?)", (number, text))
        by_trigram = "SELECT rowid FROM text WHERE text MATCH '\"tanzanite\"'"
        by_scan = "SELECT id FROM message WHERE folded LIKE '%tanzanite%'"
        assert len(database.execute(by_trigram).fetchall()) == 5
        compare(
            "a word in 100,000 messages on SQLite, CPU",
            times=3,
            trigram_index=lambda: database.execute(by_trigram).fetchall(),
            scan=lambda: database.execute(by_scan).fetchall(),
        )


def image_worker() -> None:
    from PIL import Image

    from files.images.worker import Worker

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "photo.jpg"
        Image.effect_noise((640, 480), 60).convert("RGB").save(path)
        request = {
            "path": str(path),
            "format": "JPEG",
            "folder": folder,
            "most_pixels": 20_000,
            "most_megapixels": 64,
            "small_megapixels": 12,
        }

        kept_worker = Worker("files.images.encode")

        def in_kept_worker() -> None:
            assert "width" in kept_worker.run(request, seconds=60), kept_worker.run(
                request, seconds=60
            )

        def in_new_worker() -> None:
            worker = Worker("files.images.encode")
            worker.run(request, seconds=60)
            worker._end()

        def in_this_process() -> None:
            from files.images.encode import handle

            handle(request)

        compare(
            "re-encoding a photo of 640 by 480, wall clock",
            times=3,
            wall=True,
            kept_worker=in_kept_worker,
            new_process=in_new_worker,
            this_process=in_this_process,
        )
        kept_worker._end()


def database_connections(url: str) -> None:
    import psycopg

    from messaging_site.postgresql.connection import BoundedConnection

    class Bounded(BoundedConnection):
        statement_seconds = 10.0

    plain = psycopg.connect(url, autocommit=True)
    bounded = Bounded.connect(url, autocommit=True)
    compare(
        "SELECT 1 on PostgreSQL, CPU",
        times=300,
        psycopg=lambda: plain.execute("SELECT 1").fetchone(),
        with_time_limit=lambda: bounded.execute("SELECT 1").fetchone(),
    )
    plain.close()
    bounded.close()


def outbox() -> None:
    """The cost of writing and processing an entry with an empty handler, on SQLite."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    from core.outbox import handlers
    from core.outbox.models import OutboxEntry
    from core.outbox.processing import process_now

    with connection.schema_editor() as editor:
        editor.create_model(OutboxEntry)
    handlers.register("bench", lambda entry: None)

    def write_and_process() -> None:
        payload = {"thread": f"thrd_{uuid4().hex[:10]}"}
        process_now([OutboxEntry.objects.create(kind="bench", payload=payload)])

    with CaptureQueriesContext(connection) as queries:
        write_and_process()
    assert not OutboxEntry.objects.filter(done_at=None).exists()
    print(f"an outbox entry: {len(queries)} SQL statements")
    compare("an outbox entry on SQLite, CPU", times=100, written_and_processed=write_and_process)
    connection.close()
    Path(connection.settings_dict["NAME"]).unlink()


def slow_server() -> None:
    """A server that sends one byte a second: a read timeout does not limit the whole request."""
    server = socket.create_server(("127.0.0.1", 0))

    def send_slowly() -> None:
        client, _ = server.accept()
        client.recv(4096)
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
        for _ in range(10):
            time.sleep(1)
            client.sendall(b"x")

    threading.Thread(target=send_slowly, daemon=True).start()
    started_at = time.monotonic()
    address = f"http://127.0.0.1:{server.getsockname()[1]}/"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(address, timeout=2) as answer:
        io.BytesIO(answer.read())
    print(
        f"urllib with a timeout of 2 s, 10 bytes at 1 a second: "
        f"{time.monotonic() - started_at:.1f} s"
    )


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
    with tempfile.TemporaryDirectory(dir=test_environment.base_folder()) as folder:
        redis, postgres = services.start_valkey(Path(folder)), services.start_postgres(Path(folder))
        with redis.running(), postgres.running():
            rate_limits(redis.url)
            recent_writes(redis.url)
            database_connections(postgres.url)
    outbox()
    search()
    image_worker()
    slow_server()


if __name__ == "__main__":
    main()
