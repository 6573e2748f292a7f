"""script/manage: runs a management command on an installation's data."""

import sys
from contextlib import ExitStack, redirect_stdout

import bootstrap
import installation
import processes
import stores
from installation import Data
from terminal import Problem


def main(arguments: list[str]) -> int:
    data, command = _parse(arguments)
    with ExitStack() as stack:
        # Only the command itself writes to stdout, which another program may read.
        with redirect_stdout(sys.stderr):
            bootstrap.install(bootstrap.SERVER)
            env = stores.connect(data, stack)
            if not (data / installation.PREPARED).exists():
                stores.prepare(data, env, [])
        return processes.run_in_foreground(
            [bootstrap.PYTHON, bootstrap.ROOT / "manage.py", *command], env
        )


def _parse(arguments: list[str]) -> tuple[Data, list[str]]:
    """Only arguments before the command are ours; the rest belongs to the command."""
    match arguments:
        case ["--data", path, *command]:
            return Data(path), command
        case [first, *command] if first.startswith("--data="):
            return Data(first.removeprefix("--data=")), command
        case ["--data"]:
            raise Problem("--data needs a folder: script/manage [--data DIR] COMMAND ...")
        case _:
            return Data(installation.default_data()), arguments
