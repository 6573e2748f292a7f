"""The environment of a test run: real stores, a temporary folder and neutral settings."""

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
import static_files
from terminal import Problem, say

# Settings of the developer's shell must not affect the tests.
SETTINGS = (
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "DATABASE_URL",
    "DEBUG",
    "EMAIL_URL",
    "REDIS_URL",
    "SECRET_KEY",
)
KEPT_VARIABLES = ("PARLEY_ENGINE", "PARLEY_SECOND_ENGINE")


def start(stack: ExitStack) -> dict[str, str]:
    """Starts everything; the stack stops it."""
    say("Starting the DynamoDB engine, Valkey and PostgreSQL ...")
    temporary = tempfile.TemporaryDirectory(prefix="parley-test-", dir=base_folder())
    folder = Path(stack.enter_context(temporary))
    dynamodb = engine.start(log=folder / "engine.log")
    stack.enter_context(dynamodb.running())
    valkey = services.start_valkey(folder)
    stack.enter_context(valkey.running())
    postgres = services.start_postgres(folder)
    stack.enter_context(postgres.running())
    env = engine.environment(_neutral_environment(), dynamodb.endpoint) | {
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "PARLEY_DATA": str(folder / "data"),
        "PARLEY_TEST_REDIS_URL": valkey.url,
        "PARLEY_TEST_POSTGRES_URL": postgres.url,
    }
    static_files.provide(Path(env["PARLEY_DATA"]), lambda: _collect_static(env))
    return env


def base_folder() -> Path:
    """A folder in which PostgreSQL, run by root as the user `nobody`, can reach its files."""
    folder = Path(tempfile.gettempdir()).resolve()
    may_pass = all(parent.stat().st_mode & 0o001 for parent in [folder, *folder.parents])
    return folder if may_pass or os.geteuid() != 0 else Path("/tmp")


def _neutral_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name in KEPT_VARIABLES or not (name in SETTINGS or name.startswith("PARLEY_"))
    }


def _collect_static(env: dict[str, str]) -> None:
    """Pages name static files by hash, as in production, which requires collected files."""
    command = [bootstrap.PYTHON, "manage.py", "collectstatic", "--no-input", "-v", "0"]
    done = subprocess.run(command, env=env, cwd=bootstrap.ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        say(done.stderr)
        raise Problem("The static files could not be collected: see the output above.")


def with_second_engine(env: dict[str, str], stack: ExitStack) -> dict[str, str]:
    """Replaces the DynamoDB engine by one whose indexes lag; the stack stops it."""
    folder = Path(tempfile.mkdtemp(prefix="second-engine-", dir=Path(env["PARLEY_DATA"]).parent))
    started = second_engine.start(folder, log=folder.with_suffix(".log"))
    stack.enter_context(started.running())
    return engine.environment(env, started.endpoint, started.credentials)


def with_postgres_and_redis(env: dict[str, str]) -> dict[str, str]:
    """Uses PostgreSQL and Redis, as a deployment does."""
    return env | {
        "DATABASE_URL": env["PARLEY_TEST_POSTGRES_URL"],
        "REDIS_URL": env["PARLEY_TEST_REDIS_URL"],
        "SECRET_KEY": secrets.token_urlsafe(64),
        "PARLEY_HTTPS": "0",
    }
