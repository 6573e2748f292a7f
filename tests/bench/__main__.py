"""`python -m tests.bench`, which script/bench starts."""

import argparse
import json
import resource
from pathlib import Path
from typing import Any

from tests.bench import growth
from tests.bench.peers import compare
from tests.bench.peers import report as peers_report
from tests.bench.report import as_json, as_markdown, as_text, rows_of
from tests.bench.run import QUICK, WHOLE, bench

# Importable only after `deployment` has extended the path.
import terminal  # isort: skip


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    if options.markdown:
        terminal.say(_markdown(options.markdown))
        return 0
    _allow_many_sockets()
    if options.growth:
        return _measure_growth(options.growth)
    if options.peers:
        return _compare_with_peers(options)
    size = QUICK if options.quick else WHOLE
    result = bench(size, keep_profile=options.profile, log_progress=terminal.say)
    terminal.say(f"\nMeasured in {result.machine['took']:.0f} s\n")
    terminal.say(as_text(result))
    _write_json(options.json, as_json(result))
    return 0 if all(row.ok is not False for row in rows_of(result)) else 1


def _markdown(paths: list[Path]) -> str:
    runs = {path.stem: json.loads(path.read_text()) for path in paths}
    compared = [run for run in runs.values() if peers_report.is_comparison(run)]
    measured = {name: run for name, run in runs.items() if not peers_report.is_comparison(run)}
    tables = [as_markdown(measured)] if measured else []
    return "\n\n".join([*tables, *(peers_report.as_markdown(run) for run in compared)])


def _write_json(path: Path | None, found: dict[str, Any]) -> None:
    if path:
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")


def _compare_with_peers(options: argparse.Namespace) -> int:
    size = compare.QUICK if options.quick else compare.WHOLE
    comparison = compare.compare(size, log_progress=terminal.say)
    found = peers_report.as_json(comparison)
    terminal.say(f"\n{peers_report.as_text(found)}")
    _write_json(options.json, found)
    return 1 if comparison.has_problems else 0


def _measure_growth(minutes: float) -> int:
    found = growth.measure(minutes=minutes, log_progress=terminal.say)
    terminal.say(
        f"\n{found.messages:,} messages; since the first fifth of the time memory has "
        f"changed by {found.share:+.1%} (at most {growth.MAX_GROWTH:+.0%}: "
        f"{'ok' if found.is_none else 'NOT'})"
    )
    return 0 if found.is_none else 1


def _allow_many_sockets() -> None:
    """Raises the limit of open files for a thousand sockets with both ends on this machine."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="script/bench",
        description="Measures the service and compares it with the bare engine in the same run.",
    )
    parser.add_argument("--quick", action="store_true", help="a smaller run of two minutes")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the results to this file"
    )
    parser.add_argument(
        "--growth", type=float, metavar="MINUTES", help="measure only the growth of memory"
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="compare only with the other messaging servers that are installed",
    )
    parser.add_argument(
        "--profile", type=Path, metavar="FILE", help="keep the profile samples here"
    )
    parser.add_argument(
        "--markdown",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="print results of --json as the table of docs/speed.md, without a measurement",
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    terminal.run(main)
