"""The tables of the comparison, printed and as Markdown."""

from dataclasses import dataclass
from statistics import median
from typing import Any

from tests.bench.peers.compare import Comparison

REFERENCE = "ejabberd"
Table = list[list[str]]


@dataclass(frozen=True)
class Figure:
    title: str
    scenario: str
    kind: str


MAIN = (
    Figure("msg/s, 8 in flight", "eight", "rate"),
    Figure("msg/s, 1 in flight", "one", "rate"),
    Figure("p50 ms, 8 in flight", "eight", "p50"),
    Figure("p50 ms, 1 in flight", "one", "p50"),
    Figure("p50 ms, one conversation", "single", "p50"),
    Figure("CPU s, 8 in flight", "eight", "cpu"),
    Figure("CPU s, 1 in flight", "one", "cpu"),
    Figure("CPU s, one conversation", "single", "cpu"),
)
RECEIPTS = (
    Figure("msg/s, 8 in flight", "eight, receipts", "rate"),
    Figure("msg/s, 1 in flight", "one, receipts", "rate"),
    Figure("CPU s, 8 in flight", "eight, receipts", "cpu"),
    Figure("CPU s, 1 in flight", "one, receipts", "cpu"),
)
DIGITS = (
    Figure("msg/s, 8 in flight", "eight, digits", "rate"),
    Figure("msg/s, 1 in flight", "one, digits", "rate"),
    Figure("CPU s, 8 in flight", "eight, digits", "cpu"),
    Figure("CPU s, 1 in flight", "one, digits", "cpu"),
)
TABLES = {"": MAIN, "with read receipts": RECEIPTS, "with digits in the bodies": DIGITS}
IS_COMPLETE = "Every message was delivered once, and all"
FORMATS = {"rate": "{:.0f}", "p50": "{:.1f}", "cpu": "{:.2f}"}


def as_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "machine": comparison.machine,
        "missing": comparison.missing,
        "servers": {
            name: {
                "rounds": {
                    scenario: [
                        vars(one) | {"rate": one.rate, "cpu_per_thousand": one.cpu_per_thousand}
                        for one in found
                    ]
                    for scenario, found in measured.sending.rounds.items()
                },
                "driver_shares": measured.driver_shares,
                "sent": measured.sent,
                "stored": measured.stored,
                "problems": measured.problems,
            }
            for name, measured in comparison.servers.items()
        },
    }


def is_comparison(run: dict[str, Any]) -> bool:
    return "servers" in run


def as_text(run: dict[str, Any]) -> str:
    parts = [_aligned(table) for table in _tables(run)]
    return "\n\n".join([*parts, "\n".join(_notes(run))])


def as_markdown(run: dict[str, Any]) -> str:
    """The tables of docs/speed.md from a file of `--json`."""
    parts = [_piped(table) for table in _tables(run)]
    return "\n\n".join([*parts, *(f"*{note}*" for note in _notes(run))])


def _tables(run: dict[str, Any]) -> list[Table]:
    return [_figures(run, title, figures) for title, figures in TABLES.items()] + [_parts(run)]


def _figures(run: dict[str, Any], title: str, figures: tuple[Figure, ...]) -> Table:
    """A row for each server; in brackets the median ratio to ejabberd by round."""
    rows = [[name, *(_cell(run, name, figure) for figure in figures)] for name in run["servers"]]
    return [[title, *(figure.title for figure in figures)], *rows]


def _cell(run: dict[str, Any], name: str, figure: Figure) -> str:
    values = _values(run, name, figure)
    text = FORMATS[figure.kind].format(median(values))
    if name == REFERENCE or REFERENCE not in run["servers"]:
        return text
    references = _values(run, REFERENCE, figure)
    ratio = median(one / other for one, other in zip(values, references, strict=True))
    return f"{text} ({ratio:.2f})"


def _values(run: dict[str, Any], name: str, figure: Figure) -> list[float]:
    rounds = run["servers"][name]["rounds"][figure.scenario]
    if figure.kind == "cpu":
        return [one["cpu_per_thousand"]["total"] for one in rounds]
    if figure.kind == "p50":
        return [1000 * one["p50"] for one in rounds]
    return [one["rate"] for one in rounds]


def _parts(run: dict[str, Any]) -> Table:
    """What the processor time consists of, and the driver's, which is not included."""
    head = ["CPU s by process", "8 in flight", "1 in flight", "driver's share of a core: 8, 1"]
    return [head, *(_parts_of(name, server) for name, server in run["servers"].items())]


def _parts_of(name: str, server: dict[str, Any]) -> list[str]:
    cells = []
    for scenario in ("eight", "one"):
        rounds = [one["cpu_per_thousand"] for one in server["rounds"][scenario]]
        each = {part: median(one[part] for one in rounds) for part in rounds[0] if part != "total"}
        cells.append(", ".join(f"{part} {value:.2f}" for part, value in each.items()))
    shares = [median(server["driver_shares"][scenario]) for scenario in ("eight", "one")]
    return [name, *cells, ", ".join(f"{share:.0%}" for share in shares)]


def _notes(run: dict[str, Any]) -> list[str]:
    machine = run["machine"]
    problems = [
        f"{name}: {problem}"
        for name, server in run["servers"].items()
        for problem in server["problems"]
    ]
    stored = sum(server["sent"] for server in run["servers"].values())
    return [
        f"{machine['rounds']} rounds of {machine['seconds']:g} s on {machine['cores']} cores, "
        f"Python {machine['python']}, all in {machine['took']:.0f} s; before: load "
        f"{machine['load_before']:.1f}, {machine['sync_ms']:.1f} ms to sync 4 KB to disk. CPU s "
        f"are for 1,000 messages; in brackets the ratio to {REFERENCE} in the same round.",
        *(problems or [f"{IS_COMPLETE} {stored:,} messages and stored receipts are archived."]),
        *run["missing"],
    ]


def _piped(table: Table) -> str:
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([lines[0], f"|{' --- |' * len(table[0])}", *lines[1:]])


def _aligned(table: Table) -> str:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )
