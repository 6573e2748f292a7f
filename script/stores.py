"""The stores of an installation, and the environment in which the service uses them."""

import os
import signal
import time
from contextlib import ExitStack

import bootstrap
import engine
import processes
from installation import PREPARED, Data, InUse
from terminal import Problem, say

ENDPOINT = "PARLEY_DYNAMODB_ENDPOINT"


def base_environment(data: Data) -> dict[str, str]:
    return os.environ | {
        "PARLEY_DATA": str(data.path),
        "DJANGO_SETTINGS_MODULE": "messaging_site.settings",
    }


def are_embedded() -> bool:
    return not os.environ.get(ENDPOINT) and not os.environ.get("DATABASE_URL")


def start(data: Data, lock: int, stack: ExitStack) -> tuple[dict[str, str], engine.Engine | None]:
    """Starts the engine on the locked data, unless the environment names another store."""
    env = base_environment(data)
    if os.environ.get(ENDPOINT):
        return env, None
    started = engine.start(log=data / "engine.log", database=data / "engine.db", held_lock=lock)
    stack.enter_context(started.running())
    data.update_state(engine=started.program.pid)
    return engine.environment(env, started.endpoint), started


def connect(data: Data, stack: ExitStack) -> dict[str, str]:
    """Uses the running server's engine, or starts one until the stack is closed."""
    if os.environ.get(ENDPOINT):
        data.open()
        return base_environment(data)
    is_waiting = False
    while True:
        try:
            lock = stack.enter_context(data.hold("script/manage"))
            return start(data, lock, stack)[0]
        except InUse as in_use:
            state = data.state()
            if state.get("by") == "script/server" and "endpoint" in state:
                return _server_environment(data, state["endpoint"])
            if not is_waiting:
                say(str(in_use))
                is_waiting = True
        time.sleep(0.2)


def _server_environment(data: Data, endpoint: str | None) -> dict[str, str]:
    if endpoint is None:
        raise Problem(
            f"The server on {data} uses the stores that its environment names: "
            "give this command the same environment."
        )
    return engine.environment(base_environment(data), endpoint)


def prepare(data: Data, env: dict[str, str], steps: list[str]) -> None:
    command = [bootstrap.PYTHON, bootstrap.ROOT / "script" / "prepare.py", *steps]
    program = processes.start(command, env=env, parent_death_signal=signal.SIGTERM)
    with processes.running(program):
        if code := program.wait():
            # The program has printed the reason.
            raise SystemExit(code)
    (data / PREPARED).touch()
