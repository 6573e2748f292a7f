"""Migrates and seeds an installation's stores in one process, for the other scripts."""

import io
import os
import sys
from pathlib import Path

import static_files

ROOT = Path(__file__).resolve().parent.parent
# The modules of the service are here, not beside this file.
sys.path[0] = str(ROOT)
# An error is printed in one sentence at the end; the log would repeat it.
os.environ.setdefault("PARLEY_LOG_LEVEL", "CRITICAL")

import django  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.core.management import CommandError, call_command  # noqa: E402
from django.db import OperationalError  # noqa: E402

from core.refusals import Refusal  # noqa: E402


def main(steps: list[str]) -> None:
    try:
        # One connection is enough, and a pool has a long timeout if the database is unavailable.
        settings.DATABASES["default"].get("OPTIONS", {}).pop("pool", None)
        django.setup()
        call_command("migrate", verbosity=0, interactive=False)
        call_command("create_table", stdout=io.StringIO())
        if "static" in steps:
            collect_static()
        if "demo" in steps:
            print("Adding demo people and conversations ...", flush=True)
            # The server prints their sign-ins at the end of the start, with its address.
            call_command("seed_demo", stdout=io.StringIO())
            call_command("seed_bookings", stdout=io.StringIO())
    except (CommandError, ImproperlyConfigured) as error:
        sys.exit(str(error))
    except OperationalError as error:
        sys.exit(f"The database does not answer: {str(error).strip().splitlines()[0]}")
    except Refusal as refusal:
        sys.exit(
            f"DynamoDB at {settings.DYNAMODB['endpoint']} does not answer: {refusal.__cause__}"
        )


def collect_static() -> None:
    static_files.provide(
        settings.DATA_DIR, lambda: call_command("collectstatic", verbosity=0, interactive=False)
    )


if __name__ == "__main__":
    main(sys.argv[1:])
