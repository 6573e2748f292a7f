"""What the commands say, and how they end: one sentence for a problem, never a traceback."""

import signal
import sys
from collections.abc import Callable
from types import FrameType


class Problem(Exception):
    """Something is missing or in the way; the text is one sentence that says what to do."""


class Stopped(BaseException):
    """Somebody pressed Ctrl-C, or asked us to end."""


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
    # A second Ctrl-C must not interrupt the tidying up, which takes seconds at most.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Stopped


class Progress:
    """One line that changes where somebody looks at it; now and then a line in a log."""

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
