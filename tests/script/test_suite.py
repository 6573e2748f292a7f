"""script/test tells the truth about what it ran."""

import tempfile
from pathlib import Path

import pytest
from results import RunResults

from tests.script.conftest import ROOT, plain_environment, run

TEST = ROOT / "script/test"

SAMPLE = """
import pytest

def test_right(): pass
def test_wrong(): assert 1 == 2
@pytest.mark.skip(reason="to be counted")
def test_later(): pass
@pytest.mark.long
def test_long(): pass
"""


@pytest.fixture
def sample(tmp_path):
    path = tmp_path / "test_sample.py"
    path.write_text(SAMPLE)
    return path


@pytest.fixture
def temporary():
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)
        yield Path(folder)


def test_counts_what_passed_failed_and_was_skipped_and_leaves_nothing(sample, temporary):
    done = run(TEST, "--fast", sample, "-n0", env=plain_environment() | {"TMPDIR": str(temporary)})
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed, 1 skipped"
    assert done.returncode == 1
    assert "lint" not in done.stdout
    assert list(temporary.glob("parley-*")) == []


def test_a_run_without_a_test_is_not_a_success(tmp_path, capsys):
    report = tmp_path / "tests.xml"
    report.write_text(
        '<testsuites><testsuite tests="0" failures="0" errors="0" skipped="0"/></testsuites>'
    )
    results = RunResults()
    results.add_pass("tests", report, code=5)
    assert results.print_summary() == 1
    assert capsys.readouterr().out == "Failed: tests\n0 passed, 0 failed\n"


def test_pytest_alone_says_what_to_run_instead():
    done = run(ROOT / ".venv/bin/python", "-m", "pytest", "tests/script", cwd=ROOT)
    assert done.returncode == 4
    assert "The tests need real stores: run them with script/test" in done.stderr


def test_a_failed_check_fails_the_run_and_is_named(capsys):
    results = RunResults()
    results.passed = 3
    results.add_check("lint", ok=True)
    assert results.print_summary() == 0
    results.add_check("types", ok=False)
    assert results.print_summary() == 1
    assert "Failed: types" in capsys.readouterr().out


def test_a_run_that_crashed_before_its_report_fails(tmp_path):
    results = RunResults()
    results.passed = 3
    results.add_pass("tests", tmp_path / "none.xml", 3)
    assert results.print_summary() == 1


@pytest.mark.parametrize("kind", ["failures", "errors"])
def test_a_failed_test_fails_the_run(tmp_path, capsys, kind):
    report = tmp_path / "tests.xml"
    report.write_text(f'<testsuites><testsuite tests="9" {kind}="1" skipped="0"/></testsuites>')
    results = RunResults()
    results.add_pass("tests", report, 1)
    assert results.print_summary() == 1
    assert capsys.readouterr().out == "8 passed, 1 failed\n"
