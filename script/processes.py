"""Start programs so that none of them outlives us, and stop them again."""

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
# Loaded here and not in the child, where nothing but system calls is safe.
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def start(command: Command, *, on_our_death: int = signal.SIGKILL, **options: Any) -> Program:
    """Start in the background, in a session of its own: Ctrl-C reaches only us, and we tell it."""
    options.setdefault("stdin", subprocess.DEVNULL)
    return subprocess.Popen(
        command, start_new_session=True, preexec_fn=_dies_with_us(on_our_death), **options
    )


def _dies_with_us(number: int) -> Callable[[], None]:
    parent = os.getpid()

    def ask_the_kernel() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, number)
            if os.getppid() != parent:
                os._exit(1)

    return ask_the_kernel


def stop(program: Program, *, with_signal: int = signal.SIGTERM, patience: float = 10) -> None:
    if program.poll() is None:
        program.send_signal(with_signal)
        try:
            program.wait(patience)
        except subprocess.TimeoutExpired:
            program.kill()
    program.wait()


@contextmanager
def running(program: Program, **how_to_stop: Any) -> Iterator[Program]:
    try:
        yield program
    finally:
        stop(program, **how_to_stop)


def run_in_foreground(command: Command, env: dict[str, str]) -> int:
    """Give the terminal to a command. What Ctrl-C means is for the command to say."""
    program = subprocess.Popen(command, env=env, preexec_fn=_dies_with_us(signal.SIGTERM))
    asked_to_end = []

    def pass_on(number: int, frame: FrameType | None) -> None:
        asked_to_end.append(number)
        # On a terminal Ctrl-C has reached the command already.
        if number != signal.SIGINT or not sys.stdin.isatty():
            program.send_signal(number)

    before = {
        number: signal.signal(number, pass_on)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    code = program.wait()
    for number, handler in before.items():
        signal.signal(number, handler)
    if asked_to_end and code != 0:
        raise Stopped
    return code


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def start_on_free_port(
    what: str,
    command: Callable[[int], Command],
    is_ready: Callable[[int], bool],
    *,
    log: Path,
    **options: Any,
) -> tuple[Program, int]:
    """Between finding a port free and using it somebody else may take it, so try a few."""
    for _ in range(5):
        port = free_port()
        try:
            with log.open("wb") as output:
                program = start(command(port), stdout=output, stderr=subprocess.STDOUT, **options)
        except OSError as error:
            raise Problem(f"{what} does not start: {error.strerror}.") from None
        try:
            if _comes_up(program, lambda port=port: is_ready(port)):
                return program, port
        except BaseException:
            stop(program)
            raise
        stop(program)
    raise Problem(f"{what} does not start: {_last_line(log)}")


def _comes_up(program: Program, is_ready: Callable[[], bool], timeout: float = 20) -> bool:
    def has_ended() -> bool:
        return program.poll() is not None

    return polling.poll_until(lambda: has_ended() or is_ready(), timeout) and not has_ended()


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it says nothing")
