"""Starts and stops child processes, none of which outlives this one."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import polling
from terminal import Problem, Stopped

Command = Sequence[str | Path]
Program = subprocess.Popen[Any]

_PR_SET_PDEATHSIG = 1
# Loaded here: in the child, between fork and exec, only system calls are safe.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def start(
    command: Command, *, parent_death_signal: int = signal.SIGKILL, **options: Any
) -> Program:
    """Starts in the background in its own session, so that Ctrl-C reaches only this process."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen(
        command, start_new_session=True, preexec_fn=_die_with_parent(parent_death_signal), **options
    )


def _die_with_parent(number: int) -> Callable[[], None]:
    parent = os.getpid()

    def set_death_signal() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, number)
            if os.getppid() != parent:
                os._exit(1)

    return set_death_signal


def stop(program: Program, *, with_signal: int = signal.SIGTERM, timeout: float = 10) -> None:
    if program.poll() is None:
        program.send_signal(with_signal)
        try:
            program.wait(timeout)
        except subprocess.TimeoutExpired:
            program.kill()
    program.wait()


@contextmanager
def running(program: Program, **stop_options: Any) -> Iterator[Program]:
    try:
        yield program
    finally:
        stop(program, **stop_options)


def run_in_foreground(command: Command, env: dict[str, str]) -> int:
    """Gives the terminal to a command, which handles Ctrl-C itself."""
    program = subprocess.Popen(command, env=env, preexec_fn=_die_with_parent(signal.SIGTERM))
    signals = []

    def forward(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        # On a terminal Ctrl-C has already reached the command.
        if number != signal.SIGINT or not sys.stdin.isatty():
            program.send_signal(number)

    before = {
        number: signal.signal(number, forward)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    code = program.wait()
    for number, handler in before.items():
        signal.signal(number, handler)
    if signals and code != 0:
        raise Stopped
    return code


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def start_on_free_port(
    title: str,
    command: Callable[[int], Command],
    is_ready: Callable[[int], bool],
    *,
    log: Path,
    **options: Any,
) -> tuple[Program, int]:
    """Tries several ports, since another process may take a free one before the program does."""
    for _ in range(5):
        port = free_port()
        try:
            with log.open("wb") as output:
                program = start(command(port), stdout=output, stderr=subprocess.STDOUT, **options)
        except OSError as error:
            raise Problem(f"{title} does not start: {error.strerror}.") from None
        try:
            if _becomes_ready(program, lambda port=port: is_ready(port)):
                return program, port
        except BaseException:
            stop(program)
            raise
        stop(program)
    raise Problem(f"{title} does not start: {_last_line(log)}")


def _becomes_ready(program: Program, is_ready: Callable[[], bool], timeout: float = 20) -> bool:
    def has_ended() -> bool:
        return program.poll() is not None

    return polling.poll_until(lambda: has_ended() or is_ready(), timeout) and not has_ended()


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "its log is empty")
