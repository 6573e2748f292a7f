"""The results of a run of script/test."""

import xml.etree.ElementTree as xml
from pathlib import Path

from terminal import say


class RunResults:
    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0
        self.broken: list[str] = []

    def add_check(self, name: str, *, ok: bool) -> None:
        if not ok:
            self.broken.append(name)

    def add_pass(self, name: str, report: Path, code: int) -> None:
        """Counts pytest's report; an exit code without a failed test fails the pass, too."""
        before = self.failed
        if report.exists():
            for suite in xml.parse(report).iter("testsuite"):
                self._count({key: int(suite.get(key, 0)) for key in COUNTED})
        if code != 0 and self.failed == before:
            self.broken.append(name)

    def _count(self, suite: dict[str, int]) -> None:
        failed = suite["failures"] + suite["errors"]
        self.failed += failed
        self.skipped += suite["skipped"]
        self.passed += suite["tests"] - failed - suite["skipped"]

    def print_summary(self) -> int:
        """Returns the exit code."""
        if self.broken:
            say(f"Failed: {', '.join(self.broken)}")
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        say(f"{self.passed} passed, {self.failed} failed{skipped}")
        return 1 if self.failed or self.broken or not self.passed else 0


COUNTED = ("tests", "failures", "errors", "skipped")
