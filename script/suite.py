"""script/test: sets up the stores, runs the checks and the tests, and prints the results."""

import argparse
import os
from contextlib import ExitStack, nullcontext
from pathlib import Path

import bootstrap
import checks
import chromium
import processes
import test_environment
from results import RunResults
from terminal import say

FAST = "not browser and not slow and not long"
# Tests wait for the stores, servers and browsers that they use, so two leave a core idle at times.
WORKERS = (os.cpu_count() or 1) + 2
EMBEDDED, SECOND = "dynoxide", "extenddb"


def main(arguments: list[str]) -> int:
    options, for_pytest = _parse(arguments)
    os.chdir(bootstrap.ROOT)
    _install_packages()
    browser = None if options.fast else chromium.find_or_install()
    results = RunResults()
    with ExitStack() as stack:
        env = test_environment.start(stack)
        if browser:
            env["PARLEY_TEST_CHROMIUM"] = browser
        if options.long:
            env["PARLEY_TEST_LONG"] = "1"
        with nullcontext() if for_pytest else checks.in_background(env, results):
            _run_tests(results, env, stack, options, for_pytest)
    return results.print_summary()


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(
        prog="script/test",
        description="Check and test everything.",
        epilog="Other arguments are passed to pytest, without the checks: tests/threads -k send",
        allow_abbrev=False,
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--fast", action="store_true", help="without browser and slow tests")
    size.add_argument("--long", action="store_true", help="with all combinations and long runs")
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
    results: RunResults,
    env: dict[str, str],
    stack: ExitStack,
    options: argparse.Namespace,
    for_pytest: list[str],
) -> None:
    if options.engine == SECOND:
        env = test_environment.with_second_engine(env, stack)
    if options.fast:
        _run_pass("tests", FAST, env, results, for_pytest)
        return
    is_short = "" if options.long else "not long"
    _run_pass("tests", is_short, env, results, for_pytest)
    if not for_pytest:
        deployed = test_environment.with_postgres_and_redis(env)
        _run_marked(
            "tests on PostgreSQL and Redis", ["storage", "live"], is_short, deployed, results
        )
        lagging = test_environment.with_second_engine(env, stack)
        _run_marked("tests on a second DynamoDB engine", ["indexes"], is_short, lagging, results)


def _run_marked(
    name: str, marks: list[str], is_short: str, env: dict[str, str], results: RunResults
) -> None:
    """Collects only files that contain one of the marks: to import the others takes longer."""
    texts = {path: path.read_text() for path in sorted(Path("tests").glob("**/test_*.py"))}
    files = [
        str(path) for path, text in texts.items() if any(f"mark.{mark}" in text for mark in marks)
    ]
    expression = " and ".join(filter(None, [f"({' or '.join(marks)})", is_short]))
    _run_pass(name, expression, env, results, files)


def _run_pass(
    name: str, marks: str, env: dict[str, str], results: RunResults, for_pytest: list[str]
) -> None:
    say(f"\n{name[0].upper()}{name[1:]}")
    arguments = ["-n", str(WORKERS), "--dist", "worksteal", "-m", marks, *for_pytest]
    report, code = _pytest(name, arguments, env)
    results.add_pass(name, report, code)


def _pytest(name: str, arguments: list[str], env: dict[str, str]) -> tuple[Path, int]:
    report = Path(env["PARLEY_DATA"]) / f"{name}.xml"
    command = [bootstrap.PYTHON, "-m", "pytest", "--tb", "short", "--junitxml", report]
    return report, processes.run_in_foreground([*command, *arguments], env)
