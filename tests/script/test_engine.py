"""The embedded engine: the right binary, one on a file, and never alone."""

import signal
import socket
import subprocess
import sys

import engine
import engine_binary
import processes
import pytest
import second_engine
from terminal import Problem

from tests.script.conftest import ROOT, answers
from tests.wait import wait_until

START_AND_WAIT = """
import sys, time, pathlib
sys.path.insert(0, sys.argv[1])
import engine
print(engine.start(log=pathlib.Path(sys.argv[2])).endpoint, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_engine_dies_with_whoever_started_it(tmp_path, number):
    command = [sys.executable, "-c", START_AND_WAIT, str(ROOT / "script"), str(tmp_path / "log")]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    endpoint = parent.stdout.readline().strip()
    assert answers(endpoint)
    parent.send_signal(number)
    parent.wait()
    wait_until(lambda: not answers(endpoint))


def test_an_engine_takes_another_port_when_one_is_taken(tmp_path, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as other:
        ports = iter([other.getsockname()[1], processes.free_port()])
        monkeypatch.setattr(processes, "free_port", lambda: next(ports))
        started = engine.start(log=tmp_path / "log")
        with started.running():
            assert started.port != other.getsockname()[1]
            assert answers(started.endpoint)


def test_an_engine_that_does_not_start_says_why(tmp_path):
    with pytest.raises(Problem, match="The embedded DynamoDB engine does not start: .+"):
        engine.start(log=tmp_path / "log", database=tmp_path / "no" / "such" / "folder" / "db")


@pytest.mark.parametrize("package", [engine_binary.DYNOXIDE, engine_binary.EXTENDDB])
def test_a_binary_that_is_not_the_expected_one_is_refused(tmp_path, package):
    tarball = tmp_path / "engine.tgz"
    tarball.write_bytes(b"something else")
    with pytest.raises(Problem, match="unexpected checksum"):
        engine_binary._check(package, tarball, "linux-x64")


def test_the_second_engine_starts_whatever_keys_the_environment_has(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "theirs")
    started = second_engine.start(tmp_path / "engine", log=tmp_path / "log")
    with started.running():
        assert answers(started.endpoint)
    env = engine.environment({}, started.endpoint, started.credentials)
    assert env["AWS_ACCESS_KEY_ID"] == second_engine.CREDENTIALS["AWS_ACCESS_KEY_ID"]


def test_a_named_engine_has_to_be_a_program(monkeypatch, tmp_path):
    monkeypatch.setenv("PARLEY_ENGINE", str(tmp_path / "none"))
    with pytest.raises(Problem, match="PARLEY_ENGINE names .*, which is not a program"):
        engine_binary.find_or_install()


def test_a_named_engine_is_used(monkeypatch):
    monkeypatch.setenv("PARLEY_ENGINE", "/bin/true")
    assert engine_binary.find_or_install().samefile("/bin/true")


def test_people_with_an_aws_account_do_not_use_it_by_accident():
    theirs = {"AWS_PROFILE": "work", "AWS_ACCESS_KEY_ID": "theirs", "HTTP_PROXY": "http://proxy"}
    env = engine.environment(theirs | {"NO_PROXY": "intranet"}, "http://127.0.0.1:1")
    assert "AWS_PROFILE" not in env
    assert env["AWS_ACCESS_KEY_ID"] == "embedded"
    assert env["NO_PROXY"] == "intranet,127.0.0.1"
