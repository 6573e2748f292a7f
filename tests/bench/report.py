"""The table of results, with the limit and the reference of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from tests.bench.run import Result

# Seconds of processor time for 1,000 delivered messages.
MAX_CPU_SECONDS = 3.1
# Seconds that the bare engine took on the machine on which the limits were set.
REFERENCE_ENGINE_SECONDS = 1.3
# Of the service, for 2,000 sockets with pings.
MAX_CORES_OF_2000 = 0.02


@dataclass
class Row:
    what: str
    figure: str
    bar: str = ""
    # None if there is no limit.
    ok: bool | None = None


def rows_of(result: Result) -> list[Row]:
    return [*_sending(result), *_pages(result), *_costs(result), *_sockets(result)]


def _sending(result: Result) -> Iterator[Row]:
    sending = result.sending
    names = {
        "bare": "bare engine, 20 conversations, one transaction a message",
        "one": "send, 20 conversations, 1 in flight",
        "eight": "send, 20 conversations, 8 in flight",
        "hot": "one hot thread, 20 senders (deliveries)",
    }
    for name, title in names.items():
        yield Row(title, _speed(result, name))
    for name in ("one", "eight"):
        ratio = sending.ratio(name, "bare", lambda one: one.rate)
        yield Row(f"  {names[name]}: rate to bare", f"{ratio:.2f}", "at least 0.5", ratio >= 0.5)
    hot = sending.ratio("hot", "one", lambda one: one.rate)
    yield Row("  hot thread: deliveries to 20 conversations", f"{hot:.2f}", "at least 1", hot >= 1)
    late = sending.ratio("one", "bare", lambda one: one.p99)
    yield Row("  p99 with 1 in flight to bare p99", f"{late:.2f}", "at most 5", late <= 5)
    for name in names:
        parts = {
            part: sending.median(name, lambda one, part=part: one.cpu_per_thousand[part])
            for part in ("total", "service", "Redis", "engine")
        }
        figure = ", ".join(f"{part} {value:.2f}" for part, value in parts.items())
        yield Row(f"CPU s for 1,000 messages, {name}", figure)
    yield _normalised_cpu(result)
    shares = ", ".join(f"{part} {share:.0%}" for part, share in result.shares.items())
    yield Row("service's time by part", shares)
    for problem in sending.problems:
        yield Row("seq, order, errors", problem, "none", False)
    if not sending.problems:
        yield Row("seq, order, errors", "no gap, no double, no error", "none", True)


def _normalised_cpu(result: Result) -> Row:
    """Normalises processor time by that of the bare engine in the same round."""
    measured, references = result.sending.rounds["one"], result.sending.rounds["bare"]
    ratio = median(
        one.cpu_per_thousand["total"] / bare.cpu_per_thousand["engine"]
        for one, bare in zip(measured, references, strict=True)
    )
    figure = f"{ratio * REFERENCE_ENGINE_SECONDS:.2f} ({ratio:.2f} times the bare engine's)"
    what = f"  1 in flight, total, where the bare engine takes {REFERENCE_ENGINE_SECONDS}"
    return Row(
        what, figure, f"below {MAX_CPU_SECONDS}", ratio * REFERENCE_ENGINE_SECONDS < MAX_CPU_SECONDS
    )


def _speed(result: Result, name: str) -> str:
    sending = result.sending
    rate = sending.median(name, lambda one: one.rate)
    times = [
        1000 * sending.median(name, figure)
        for figure in (lambda one: one.p50, lambda one: one.p95, lambda one: one.p99)
    ]
    return f"{rate:.0f}/s, p50 {times[0]:.1f}, p95 {times[1]:.1f}, p99 {times[2]:.1f} ms"


def _pages(result: Result) -> Iterator[Row]:
    pairs = (("open a thread with", result.thread), ("inbox with", result.inbox))
    for what, found in pairs:
        title = f"{what} {found['small_size']:,} and {found['large_size']:,}"
        times = f"{1000 * found['small']:.1f} and {1000 * found['large']:.1f} ms"
        ratio = found["ratio"]
        yield Row(title, f"{times}, ratio {ratio:.2f}", "at most 1.2", ratio <= 1.2)
    for what, found, bar in (("thread", result.thread, 12), ("inbox", result.inbox, 6)):
        cpu = 1000 * found["cpu"]
        yield Row(f"{what} page, CPU of the service", f"{cpu:.1f} ms", f"at most {bar}", cpu <= bar)
    if result.browser is None or result.slow_browser is None:
        yield Row("thread page in Chromium", "no Chromium here")
        return
    seen = result.browser
    yield Row("thread page in Chromium", _loading_times(seen))
    title = "thread page in Chromium, processor 4 times slower, 3G"
    yield Row(title, _loading_times(result.slow_browser))
    weight = seen["weight"] / 1024
    is_light = weight <= 60 and not seen["foreign"]
    figure = f"{weight:.1f} KB in {seen['files']:.0f} files"
    yield Row("JavaScript and CSS of the thread page", figure, "at most 60 KB", is_light)


def _loading_times(seen: dict[str, float]) -> str:
    times = [f"{name} {seen[name]:.0f} ms" for name in ("first_byte", "interactive", "live")]
    return ", ".join(times).replace("_", " ")


def _costs(result: Result) -> Iterator[Row]:
    for what, cost in result.costs.items():
        count = int(cost["requests"])
        figure = f"{count} request{'s' if count > 1 else ''}, {cost['units']:g} units"
        yield Row(f"DynamoDB: {what}", figure)
    for kind, small, large in (
        ("open a thread", "short", "long"),
        ("page of the inbox", "small", "large"),
    ):
        both = [result.costs[f"{kind}, {size}"]["units"] for size in (small, large)]
        ratio = both[1] / both[0] if both[0] else 1.0
        yield Row(f"  {kind}: units, long to short", f"{ratio:.2f}", "at most 1.2", ratio <= 1.2)


def _sockets(result: Result) -> Iterator[Row]:
    each, count = result.idle["bytes_each"] / 1024, int(result.idle["sockets"])
    share = result.idle["cpu_share"]
    figure = f"{each:.0f} KB each, {share:.1%} of a core"
    yield Row(f"{count:,} idle sockets", figure, "at most 40 KB", each <= 40)
    yield from _heartbeats(result.heartbeats)
    storm = result.storm
    title = f"{storm['sockets']} sockets drop, {storm['missed']} missed each"
    figure = f"{storm['seconds']:.1f} s until all have all, {storm['lacking']} lack something"
    yield Row(title, figure, "nothing missing", not storm["lacking"])


def _heartbeats(found: dict[str, float]) -> Iterator[Row]:
    count, more = int(found["sockets"]), found["cores"] - found["cores_without_sockets"]
    limit = MAX_CORES_OF_2000 * count / 2000
    figure = f"{more:.3f} cores more than the {found['cores_without_sockets']:.3f} without sockets"
    title = f"{count:,} open pages, a ping of each every 25 s"
    yield Row(title, figure, f"below {limit:g}", more < limit)
    ping, opening, closing = found["ping_ms"], found["open_ms"], found["close_ms"]
    yield Row("  CPU of a ping", f"{ping:.3f} ms", "at most 0.1 ms", ping <= 0.1)
    figure = f"{opening:.1f} ms and {closing:.1f} ms, all closed in {found['close_seconds']:.0f} s"
    yield Row("  CPU of opening and closing a socket", figure, "at most 3 ms", opening <= 3)


def as_text(result: Result) -> str:
    rows = rows_of(result)
    width = max(len(row.what) for row in rows)
    return "\n".join(_line(row, width) for row in rows)


def _line(row: Row, width: int) -> str:
    verdict = "" if row.ok is None else ("  ok  " if row.ok else "  NOT ")
    return f"{row.what:<{width}}  {row.figure}{verdict and f'  [{row.bar}:{verdict.strip()}]'}"


def as_json(result: Result) -> dict[str, Any]:
    return {
        "machine": result.machine,
        "rows": [vars(row) for row in rows_of(result)],
        "rounds": {
            name: [vars(one) | {"rate": one.rate} for one in found]
            for name, found in result.sending.rounds.items()
        },
        "pages": {
            "thread": result.thread,
            "inbox": result.inbox,
            "browser": result.browser,
            "slow_browser": result.slow_browser,
        },
        "costs": result.costs,
        "idle": result.idle,
        "heartbeats": result.heartbeats,
        "storm": result.storm,
        "shares": result.shares,
    }


def as_markdown(runs: dict[str, dict[str, Any]]) -> str:
    """The table of docs/speed.md from files of `--json`, with a column for each."""
    lines = [
        f"| what | {' | '.join(runs)} | bar |",
        f"| --- | {' | '.join('---' for _ in runs)} | --- |",
    ]
    found = [{row["what"]: row for row in run["rows"]} for run in runs.values()]
    for what in found[0]:
        figures = [_cell(each.get(what)) for each in found]
        bars = dict.fromkeys(each[what]["bar"] for each in found if what in each)
        lines.append(f"| {what.strip()} | {' | '.join(figures)} | {', '.join(bars)} |")
    return "\n".join([*lines, "", *(_measured_on(name, run) for name, run in runs.items())])


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    return row["figure"] if row["ok"] is not False else f"**{row['figure']}** (not reached)"


def _measured_on(name: str, run: dict[str, Any]) -> str:
    machine = run["machine"]
    return (
        f"*{name}: {machine['rounds']} rounds of {machine['seconds']:g} s on "
        f"{machine['cores']} cores, Python {machine['python']}; load {machine['load_before']:.1f} "
        f"before, all in {machine['took']:.0f} s.*"
    )
