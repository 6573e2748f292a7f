"""`python -m tests.soak`, which script/soak starts."""

import argparse
import json
import secrets
from pathlib import Path

from tests.soak.deployment import ENGINES
from tests.soak.run import Options, soak

# Importable only after `programs` has extended the path.
import terminal  # isort: skip


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    report = soak(
        Options(
            minutes=options.minutes,
            seed=options.seed,
            pairs=options.pairs,
            pause_seconds=options.pause_seconds,
            keep=options.keep,
            engine=options.engine,
        ),
        terminal.say,
    )
    terminal.say(report.as_text())
    if options.json:
        options.json.write_text(json.dumps(report.as_json(), indent=2, ensure_ascii=False) + "\n")
    return 0 if report.is_clean else 1


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="script/soak",
        description="Users exchange messages while faults are injected; then checks the data.",
    )
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="duration of the faults; default 5"
    )
    parser.add_argument(
        "--seed", type=int, default=secrets.randbelow(10**6), help="seed of the random numbers"
    )
    parser.add_argument("--pairs", type=int, default=16, help="number of pairs of users")
    parser.add_argument("--pause-seconds", type=float, default=4.0, help="between actions")
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="extenddb: a DynamoDB engine whose indexes lag",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the report to this file"
    )
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs and device logs here")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    terminal.run(main)
