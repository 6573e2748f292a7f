"""`python -m tests.soak`, which script/soak starts."""

import argparse
import json
import secrets
from pathlib import Path

from tests.soak.deployment import ENGINES
from tests.soak.run import Options, soak

# Found by name once `programs` has been imported.
import terminal  # isort: skip


def main(arguments: list[str]) -> int:
    options = _parse(arguments)
    report = soak(
        Options(
            minutes=options.minutes,
            seed=options.seed,
            pairs=options.pairs,
            pace=options.pace,
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
        description="People talk while everything is killed and broken in turn; then counts.",
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="of chaos; 5 unless told")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="of the dice")
    parser.add_argument("--pairs", type=int, default=16, help="half as many as there are people")
    parser.add_argument("--pace", type=float, default=4.0, help="seconds between two things done")
    parser.add_argument(
        "--engine",
        choices=ENGINES,
        default=ENGINES[0],
        help="extenddb: a DynamoDB engine whose indexes lag",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave logs and diaries there")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    terminal.run(main)
