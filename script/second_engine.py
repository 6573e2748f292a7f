"""Runs ExtendDB, another DynamoDB engine, whose indexes lag behind the table as on AWS."""

import os
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import engine
import engine_binary
import processes
from terminal import Problem

# The delay until an index shows a write.
INDEX_DELAY_MS = 50
# This engine checks signatures and their time.
CREDENTIALS = engine.CREDENTIALS | {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
}


def start(folder: Path, *, log: Path, delay_ms: int = INDEX_DELAY_MS) -> engine.Engine:
    """Stores tables and the setting of the delay in one file in the folder."""
    folder.mkdir(exist_ok=True)
    binary = engine_binary.find_or_install(engine_binary.EXTENDDB)
    (folder / "extenddb.toml").touch()
    env = environment(folder)
    program, port = processes.start_on_free_port(
        "The second DynamoDB engine",
        lambda port: [binary, "serve", "--foreground", "--port", str(port)],
        lambda port: b"listening" in log.read_bytes() and _is_healthy(port),
        log=log,
        cwd=folder,
        env=env,
    )
    started = engine.Engine(program, port, CREDENTIALS)
    try:
        _set_delay(binary, folder, env, delay_ms)
    except BaseException:
        processes.stop(program)
        raise
    return started


def environment(folder: Path) -> dict[str, str]:
    """The engine takes the access keys that it accepts from the environment."""
    prefixes = ("AWS_", "EXTENDDB_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    path = {"EXTENDDB__STORAGE__SQLITE__PATH": str(folder / "extenddb.sqlite")}
    return kept | CREDENTIALS | path


def _is_healthy(port: int) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"http://127.0.0.1:{port}/health", timeout=1) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def _set_delay(binary: Path, folder: Path, env: dict[str, str], delay_ms: int) -> None:
    command = [binary, "settings", "set", "index_propagation_delay_ms", str(delay_ms)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise Problem(f"The index delay cannot be set: {done.stderr.strip()}")
