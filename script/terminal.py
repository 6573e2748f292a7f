"""Output and exit of the commands: a problem is one sentence, never a traceback."""

import signal
import sys
from collections.abc import Callable
from types import FrameType


class Problem(Exception):
    """An error for the user; the text is one sentence that says what to do."""


class Stopped(BaseException):
    """The user pressed Ctrl-C, or the process received a signal to stop."""


def say(text: str = "", *, end: str = "\n") -> None:
    print(text, end=end, flush=True)


def run(main: Callable[[list[str]], int]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        sys.exit(main(sys.argv[1:]))
    except Problem as problem:
        print(problem, file=sys.stderr)
        sys.exit(1)
    except Stopped:
        sys.exit(130)


def _stop(number: int, frame: FrameType | None) -> None:
    # A second Ctrl-C must not interrupt the shutdown, which takes seconds at most.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Stopped


class Progress:
    """One line that is updated on a terminal, and some lines in a log file."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.live = sys.stdout.isatty()
        say(f"{title} ...", end="" if self.live else "\n")

    def show(self, text: str, *, in_log: bool = False) -> None:
        if self.live:
            say(f"\r\033[K{self.title} ... {text}", end="")
        elif in_log:
            say(f"  {text}")

    def done(self) -> None:
        if self.live:
            say(f"\r\033[K{self.title} ... done")
