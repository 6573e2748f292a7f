"""script/test tells the truth about what it ran."""

import tempfile
from pathlib import Path

import pytest
import unsteady
from outcome import Outcome

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
    outcome = Outcome()
    outcome.add_pass("tests", report, code=5)
    assert outcome.tell() == 1
    assert capsys.readouterr().out == "Not in order: tests\n0 passed, 0 failed\n"


def test_pytest_alone_says_what_to_run_instead():
    done = run(ROOT / ".venv/bin/python", "-m", "pytest", "tests/script", cwd=ROOT)
    assert done.returncode == 4
    assert "The tests need real stores: run them with script/test" in done.stderr


def test_a_failed_check_fails_the_run_and_is_named(capsys):
    outcome = Outcome()
    outcome.passed = 3
    outcome.add_check("lint", ok=True)
    assert outcome.tell() == 0
    outcome.add_check("types", ok=False)
    assert outcome.tell() == 1
    assert "Not in order: types" in capsys.readouterr().out


def test_a_run_that_crashed_before_its_report_fails(tmp_path):
    outcome = Outcome()
    outcome.passed = 3
    outcome.add_pass("tests", tmp_path / "none.xml", 3)
    assert outcome.tell() == 1


def report_of(path: Path, *failed: str, error: bool = False) -> Path:
    what = "error" if error else "failure"
    cases = "".join(
        f'<testcase classname="{name}" name="test_x[1]"><{what}/></testcase>' for name in failed
    )
    counts = f'tests="9" {what}s="{len(failed)}" skipped="0"'
    path.write_text(f"<testsuites><testsuite {counts}>{cases}</testsuite></testsuites>")
    return path


@pytest.mark.parametrize("error", [False, True])
def test_what_waits_for_other_programs_is_tried_again_alone(tmp_path, error):
    report = report_of(tmp_path / "a.xml", "tests.browser.test_a", error=error)
    assert unsteady.worth_another_try(report) == ["tests/browser/test_a.py::test_x[1]"]


def test_what_waits_for_nobody_or_is_many_is_not_tried_again(tmp_path):
    both = report_of(tmp_path / "a.xml", "tests.browser.test_a", "tests.threads.test_send")
    assert unsteady.worth_another_try(both) == []
    many = report_of(tmp_path / "b.xml", *(f"tests.browser.test_{n}" for n in range(4)))
    assert unsteady.worth_another_try(many) == []
    assert unsteady.worth_another_try(tmp_path / "none.xml") == []


def test_what_passed_alone_is_named_and_counted(tmp_path, capsys):
    outcome = Outcome()
    report = report_of(tmp_path / "a.xml", "tests.browser.test_a")
    outcome.add_pass("tests", report, 1, unsteady=["tests/browser/test_a.py::test_x[1]"])
    assert outcome.tell() == 0
    said = capsys.readouterr().out
    assert "Unsteady: tests/browser/test_a.py::test_x[1] failed among the others" in said
    assert said.endswith("9 passed, 0 failed\n")


def test_what_failed_alone_as_well_has_failed(tmp_path, capsys):
    outcome = Outcome()
    outcome.add_pass("tests", report_of(tmp_path / "a.xml", "tests.browser.test_a"), 1)
    assert outcome.tell() == 1
    assert capsys.readouterr().out == "8 passed, 1 failed\n"
