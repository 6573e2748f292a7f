"""What a test run finds around it: real stores, a folder, and settings that are nobody's own."""

import os
import secrets
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path

import bootstrap
import engine
import second_engine
import services
from terminal import Problem, say

# A developer's own settings must not decide how the tests end.
SETTINGS = (
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "DATABASE_URL",
    "DEBUG",
    "EMAIL_URL",
    "REDIS_URL",
    "SECRET_KEY",
)
KEPT = ("PARLEY_ENGINE", "PARLEY_SECOND_ENGINE")


def start(stack: ExitStack) -> dict[str, str]:
    """All of it ends with the stack."""
    say("Starting the DynamoDB engine, Valkey and PostgreSQL ...")
    temporary = tempfile.TemporaryDirectory(prefix="parley-test-", dir=_place_for_folder())
    folder = Path(stack.enter_context(temporary))
    dynamodb = engine.start(log=folder / "engine.log")
    stack.enter_context(dynamodb.running())
    valkey = services.start_valkey(folder)
    stack.enter_context(valkey.running())
    postgres = services.start_postgres(folder)
    stack.enter_context(postgres.running())
    env = engine.environment(_neutral(), dynamodb.endpoint) | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "PARLEY_DATA": str(folder / "data"),
        "PARLEY_TEST_REDIS_URL": valkey.url,
        "PARLEY_TEST_POSTGRES_URL": postgres.url,
    }
    _collect_static(env)
    return env


def _place_for_folder() -> Path:
    """Where root's PostgreSQL, which runs as nobody, can get at its files."""
    place = Path(tempfile.gettempdir()).resolve()
    may_pass = all(folder.stat().st_mode & 0o001 for folder in [place, *place.parents])
    return place if may_pass or os.geteuid() != 0 else Path("/tmp")


def _neutral() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name in KEPT or not (name in SETTINGS or name.startswith("PARLEY_"))
    }


def _collect_static(env: dict[str, str]) -> None:
    """Pages name static files by hash, as in production, so the tests need them collected."""
    command = [bootstrap.PYTHON, "manage.py", "collectstatic", "--no-input", "-v", "0"]
    done = subprocess.run(command, env=env, cwd=bootstrap.ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        say(done.stderr)
        raise Problem("The static files could not be collected; the reason is above.")


def on_second_engine(env: dict[str, str], stack: ExitStack) -> dict[str, str]:
    """The same run on a DynamoDB engine whose indexes lag; it ends with the stack."""
    folder = Path(tempfile.mkdtemp(prefix="second-engine-", dir=Path(env["PARLEY_DATA"]).parent))
    started = second_engine.start(folder, log=folder.with_suffix(".log"))
    stack.enter_context(started.running())
    return engine.environment(env, started.endpoint, started.credentials)


def as_deployed(env: dict[str, str]) -> dict[str, str]:
    """The same run on PostgreSQL and Redis."""
    return env | {
        "DATABASE_URL": env["PARLEY_TEST_POSTGRES_URL"],
        "REDIS_URL": env["PARLEY_TEST_REDIS_URL"],
        "SECRET_KEY": secrets.token_urlsafe(64),
        "PARLEY_HTTPS": "0",
    }
