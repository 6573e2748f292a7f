"""The tables, and a very short comparison of Parley with itself."""

import os
import signal
import subprocess

import psutil
import pytest

from tests.bench.deployment import ROOT
from tests.bench.peers import compare, parley, report
from tests.bench.peers.compare import SCENARIOS, Comparison, Measured, Scenario, Size
from tests.bench.rounds import add_round
from tests.wait import wait_until

MACHINE = {
    "cores": 2,
    "python": "3.11",
    "load_before": 0.5,
    "sync_ms": 1.5,
    "rounds": 2,
    "seconds": 5.0,
    "took": 60.0,
}


def measured(*rates: float, stored: int | None = None) -> Measured:
    """Rounds of one second, with 1 ms of processor time and 2 ms until delivery a message."""
    found = Measured()
    for rate in rates:
        for scenario in SCENARIOS:
            result = {
                "messages": rate,
                "seconds": 1.0,
                "latencies": [0.002],
                "cpu": {"service": rate / 1000, "engine": rate / 1000},
            }
            add_round(found.sending, scenario.name, result)
            found.driver_shares[scenario.name].append(0.25)
            found.sent += int(rate)
    found.stored = found.sent if stored is None else stored
    return found


def run_of(**servers: Measured) -> dict:
    return report.as_json(Comparison(dict(servers), ["Prosody is not compared."], MACHINE))


def test_ratios_are_medians_of_the_ratios_by_round():
    run = run_of(Parley=measured(100, 400, 100), ejabberd=measured(200, 400, 1000))
    lines = report.as_markdown(run).splitlines()
    assert lines[2].startswith("| Parley | 100 (0.50) | 100 (0.50) | 2.0 (1.00) |")
    assert lines[3].startswith("| ejabberd | 400 | 400 | 2.0 |")
    assert "| Parley | service 1.00, engine 1.00 | service 1.00, engine 1.00 | 25%, 25% |" in lines
    assert "*Prosody is not compared.*" in lines


def test_there_are_no_ratios_without_ejabberd():
    text = report.as_text(run_of(Parley=measured(100)))
    assert "100" in text
    assert "(" not in text.split("\n\n")[0]


def test_a_server_that_did_not_store_a_message_fails_the_comparison():
    comparison = Comparison({"Parley": measured(100, stored=699)}, [], MACHINE)
    assert comparison.has_problems
    assert "Parley: 700 messages sent, 699 stored" in report.as_text(report.as_json(comparison))
    assert not Comparison({"Parley": measured(100)}, [], MACHINE).has_problems


@pytest.mark.parametrize("found", [{"missing": 1}, {"out_of_order": 1}, {"errors": ["refused"]}])
def test_a_server_that_lost_or_refused_a_message_fails_the_comparison(found):
    server = measured(100)
    clean = {"missing": 0, "out_of_order": 0, "errors": []}
    result = {"messages": 1, "seconds": 1.0, "latencies": [0.1], "cpu": {}}
    add_round(server.sending, "one", result | clean)
    assert not Comparison({"Parley": server}, [], MACHINE).has_problems
    add_round(server.sending, "one", result | clean | found)
    assert Comparison({"Parley": server}, [], MACHINE).has_problems


@pytest.mark.long
def test_parley_delivers_and_stores_every_message_of_the_comparison():
    scenarios = (
        Scenario("eight", 8, receipts=True, digits=True),
        Scenario("single", 1, is_single=True),
    )
    starts = [parley.one_process, parley.two_processes]
    found = compare.compare_servers(starts, Size(1, 1.0), lambda line: None, scenarios)
    assert set(found) == {"Parley", "Parley, two processes"}
    for server in found.values():
        assert server.problems == []
        assert server.sent == server.stored > 160
        for scenario in scenarios:
            (one,) = server.sending.rounds[scenario.name]
            assert one.rate > 0
            assert one.p50 > 0
            assert one.cpu["engine"] > 0


@pytest.mark.long
def test_all_processes_end_with_the_comparison():
    bench = subprocess.Popen(
        [ROOT / "script" / "bench", "--peers", "--quick"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert bench.stdout is not None
        assert any("Warming up" in line for line in bench.stdout)
        started = psutil.Process(bench.pid).children(recursive=True)
        assert len(started) > 5
        os.kill(bench.pid, signal.SIGKILL)
        bench.wait(30)
        wait_until(lambda: not any(_is_alive(process) for process in started), 60)
    finally:
        bench.kill()
        bench.wait()


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
