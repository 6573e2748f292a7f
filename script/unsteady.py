"""What fails among many others and not alone is named, and does not fail a run.

Only where a test waits for other programs on a busy machine, and only a few: a test that fails
twice, or many of them, or one that waits for nobody, is a failure like any other.
"""

import xml.etree.ElementTree as xml
from pathlib import Path

WAITS_FOR_OTHERS = ("tests.browser.", "tests.design.", "tests.realtime.", "tests.script.")
MOST = 3


def worth_another_try(report: Path) -> list[str]:
    """The tests to run again, alone; none if what failed is more than a busy machine explains."""
    cases = _failed(report)
    if len(cases) > MOST or not all(name.startswith(WAITS_FOR_OTHERS) for name, _ in cases):
        return []
    return [f"{name.replace('.', '/')}.py::{test}" for name, test in cases]


def _failed(report: Path) -> list[tuple[str, str]]:
    if not report.exists():
        return []
    found = [
        (case.get("classname", ""), case.get("name", ""))
        for case in xml.parse(report).iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    ]
    return list(dict.fromkeys(found))
