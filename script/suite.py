"""script/test: what tests need, the checks, the tests, and how many passed."""

import argparse
import os
from contextlib import ExitStack
from pathlib import Path

import bootstrap
import checks
import chromium
import processes
import surroundings
from outcome import Outcome
from terminal import say

AS_DEPLOYED = "storage or live or indexes"
FAST = "not browser and not slow and not long"
EMBEDDED, SECOND = "dynoxide", "extenddb"


def main(arguments: list[str]) -> int:
    options, for_pytest = _parse(arguments)
    os.chdir(bootstrap.ROOT)
    _install_packages()
    browser = None if options.fast else chromium.find_or_install()
    outcome = Outcome()
    with ExitStack() as stack:
        env = surroundings.start(stack)
        if browser:
            env["PARLEY_TEST_CHROMIUM"] = browser
        if not for_pytest:
            checks.run_all(outcome, env)
        _run_tests(outcome, env, stack, options, for_pytest)
    return outcome.tell()


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="script/test",
        description="Check and test everything.",
        epilog="Anything else goes to pytest, which then runs alone: tests/threads -k send",
        allow_abbrev=False,
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--fast", action="store_true", help="what one runs while working: minutes")
    size.add_argument("--long", action="store_true", help="all combinations and the long runs, too")
    parser.add_argument(
        "--engine",
        choices=(EMBEDDED, SECOND),
        default=EMBEDDED,
        help="extenddb: a DynamoDB engine whose indexes lag",
    )
    return parser.parse_known_args(arguments)


def _install_packages() -> None:
    bootstrap.install(bootstrap.TESTS)


def _run_tests(
    outcome: Outcome,
    env: dict[str, str],
    stack: ExitStack,
    options: argparse.Namespace,
    for_pytest: list[str],
) -> None:
    if options.engine == SECOND:
        env = surroundings.on_second_engine(env, stack)
    if options.fast:
        _run_pass("tests", FAST, env, outcome, for_pytest)
        return
    short = "" if options.long else "not long"
    _run_pass("tests", short, env, outcome, for_pytest)
    if not for_pytest:
        deployed = surroundings.as_deployed(surroundings.on_second_engine(env, stack))
        marks = f"({AS_DEPLOYED}) and {short}" if short else AS_DEPLOYED
        name = "tests on PostgreSQL, Redis and a second DynamoDB engine"
        _run_pass(name, marks, deployed, outcome, [])


def _run_pass(
    name: str, marks: str, env: dict[str, str], outcome: Outcome, for_pytest: list[str]
) -> None:
    say(f"\n{name[0].upper()}{name[1:]}")
    # Half of the files each, as far as that is fair: what a module has started is started once.
    many = ["-n", "2", "--dist", "worksteal", "-m", marks, *for_pytest]
    report, code = _pytest(name, many, env)
    outcome.add_pass(name, report, code)


def _pytest(name: str, arguments: list[str], env: dict[str, str]) -> tuple[Path, int]:
    report = Path(env["PARLEY_DATA"]) / f"{name}.xml"
    command = [bootstrap.PYTHON, "-m", "pytest", "--tb", "short", "--junitxml", report]
    return report, processes.run_in_foreground([*command, *arguments], env)
