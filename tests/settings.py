"""The service's own settings, on the stores that script/test started."""

import os
import secrets
import tempfile

# script/test names a folder; who only checks types by hand needs none of their own.
os.environ.setdefault("PARLEY_DATA", f"{tempfile.gettempdir()}/parley-checks-{os.getuid()}")

# Every worker of every run has a table, a database and a corner of Redis of its own.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
RUN = os.environ.setdefault("PARLEY_TEST_RUN", secrets.token_hex(4))
os.environ["PARLEY_TABLE"] = os.environ["PARLEY_REDIS_PREFIX"] = f"parley_{WORKER}_{RUN}"

from messaging_site.settings import *  # noqa: E402, F403
from messaging_site.settings import DATA_DIR, DATABASES, DYNAMODB, EMBEDDED, PACES  # noqa: E402

if EMBEDDED:
    # A killed process loses nothing without a sync; only a machine would.
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
    # Ten threads that write at once, on a busy machine, wait for longer than people would.
    DATABASES["default"]["OPTIONS"]["timeout"] = 60
# A file on SQLite, since threads that a test starts have to see what it wrote.
DATABASE_NAME = f"test_{WORKER}_{RUN}"
DATABASES["default"]["NAME"] = DATA_DIR / f"{DATABASE_NAME}.sqlite3" if EMBEDDED else DATABASE_NAME

# A busy machine must not look like a store that does not answer.
DYNAMODB |= {"connect_timeout": 10.0, "read_timeout": 30.0}

# Tests write and ask faster than people; those about limits set them.
PACES = dict.fromkeys(PACES, (1_000_000, 1_000_000))
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
# Every client of a test would look through all static files, a third of a second each time.
WHITENOISE_AUTOREFRESH = True
