"""The settings of the service, on the stores that script/test started."""

import os
import secrets
import tempfile

# script/test names a folder; a check of types outside of it uses this one.
os.environ.setdefault("PARLEY_DATA", f"{tempfile.gettempdir()}/parley-checks-{os.getuid()}")

# Every worker of every run has its own table, database and Redis prefix.
WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
RUN = os.environ.setdefault("PARLEY_TEST_RUN", secrets.token_hex(4))
os.environ["PARLEY_TABLE"] = os.environ["PARLEY_REDIS_PREFIX"] = f"parley_{WORKER}_{RUN}"

from messaging_site.settings import *  # noqa: E402, F403
from messaging_site.settings import DATA_DIR, DATABASES, DYNAMODB, EMBEDDED, PACES  # noqa: E402

if EMBEDDED:
    # Without a sync only a crash of the machine loses data, a killed process does not.
    DATABASES["default"]["OPTIONS"]["init_command"] += "PRAGMA synchronous=OFF;"
    # Ten concurrent writers on a busy machine exceed the timeout of production.
    DATABASES["default"]["OPTIONS"]["timeout"] = 60
# SQLite uses a file, since threads started by a test must see its rows.
DATABASE_NAME = f"test_{WORKER}_{RUN}"
DATABASES["default"]["NAME"] = DATA_DIR / f"{DATABASE_NAME}.sqlite3" if EMBEDDED else DATABASE_NAME

# A busy machine must not look like a store that does not answer.
DYNAMODB |= {"connect_timeout": 10.0, "read_timeout": 30.0}

# Tests write and read faster than users do; tests of rate limits set their own.
PACES = dict.fromkeys(PACES, (1_000_000, 1_000_000))
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
# Otherwise every test client scans all static files, which takes a third of a second.
WHITENOISE_AUTOREFRESH = True
