"""script/server: sets up an installation and serves it."""

import argparse
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import addresses
import bootstrap
import engine
import installation
import processes
import stores
from addresses import Address
from installation import Data
from terminal import Problem, Stopped, say

SHOWN_SIGN_INS = 4


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    data = Data(options.data)
    with ExitStack() as stack:
        lock = stack.enter_context(data.hold("script/server"))
        address = addresses.choose_address(options.host, options.port)
        if options.reset:
            data.clear()
        bootstrap.install(bootstrap.SERVER)
        env, started = stores.start(data, lock, stack)
        first_run = _prepare(data, env, demo=not options.no_demo)
        # From here on script/manage may use the engine, too.
        data.update_state(endpoint=started.endpoint if started else None)
        server, address = stack.enter_context(_serving(address, env))
        data.update_state(address=address.url)
        _welcome(data, address, first_run=first_run)
        return _watch(server, started, data)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="script/server", description="Set up Parley and serve it. Press Ctrl-C to stop."
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (8000, or the next free one)")
    parser.add_argument("--data", default=installation.default_data(), help="folder for the data")
    parser.add_argument(
        "--reset", action="store_true", help="delete the data first, without asking"
    )
    parser.add_argument("--no-demo", action="store_true", help="no demo people on the first run")
    return parser.parse_args(arguments)


def _prepare(data: Data, env: dict[str, str], *, demo: bool) -> bool:
    """Returns whether this was the first run."""
    first_run = not (data / installation.FIRST_RUN_DONE).exists()
    steps = ["static"]
    if first_run:
        say(f"Preparing the data in {data} ...")
        if demo and stores.are_embedded():
            steps.append("demo")
    stores.prepare(data, env, steps)
    (data / installation.FIRST_RUN_DONE).touch()
    return first_run


@contextmanager
def _serving(address: Address, env: dict[str, str]) -> Iterator[tuple[processes.Program, Address]]:
    """Yields once the server listens, with its real port: port 0 takes any free one."""
    reading, writing = os.pipe()
    where = ["--host", address.host, "--port", str(address.port), "--ready-fd", str(writing)]
    server = processes.start(
        [bootstrap.PYTHON, "-m", "messaging_site.server", *where],
        env=env | address.environment(),
        cwd=bootstrap.ROOT,
        pass_fds=[writing],
        parent_death_signal=signal.SIGTERM,
    )
    os.close(writing)
    with processes.running(server, timeout=15), os.fdopen(reading) as ready:
        line = ready.readline()
        if not line:
            # The server has printed the reason.
            raise SystemExit(server.wait() or 1)
        yield server, address._replace(port=int(line.split()[1]))


def _welcome(data: Data, address: Address, *, first_run: bool) -> None:
    say(f"\nParley is running at {address.url}\n")
    accounts = data.sign_ins()
    shown = accounts if first_run else accounts[:SHOWN_SIGN_INS]
    if shown:
        say("Sign in as")
        for account in shown:
            say("  {email:<32} {password:<24} {name}, {role}".format_map(account))
    if len(shown) < len(accounts):
        say(f"  and {len(accounts) - len(shown)} more, in {data}/{installation.DEMO}")
    say("Press Ctrl-C to stop.")


def _watch(server: processes.Program, started: engine.Engine | None, data: Data) -> int:
    try:
        while server.poll() is None:
            if started and started.program.poll() is not None:
                raise Problem(f"The DynamoDB engine has stopped; see {data}/engine.log.")
            time.sleep(0.5)
    except Stopped:
        say("\nStopping ...")
        return 0
    raise Problem(f"The server has stopped unexpectedly, with code {server.returncode}.")
