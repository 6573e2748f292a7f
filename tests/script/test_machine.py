"""What the commands find on a machine, and what they say when it is not there."""

import socket
import sys

import addresses
import chromium
import interpreter
import pytest
from addresses import Address
from terminal import Problem


def test_an_old_python_hands_over_to_a_newer_one(monkeypatch, tmp_path):
    newer = tmp_path / "python3.12"
    newer.symlink_to("/bin/true")
    (tmp_path / "python3.13").symlink_to("/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    monkeypatch.setattr(sys, "argv", ["script/server", "--port", "1"])
    started = []
    monkeypatch.setattr(interpreter.os, "execv", lambda *call: started.append(call) or sys.exit())
    with pytest.raises(SystemExit):
        interpreter.use_new_enough()
    assert started == [(str(newer), [str(newer), "script/server", "--port", "1"])]


def test_an_old_python_alone_is_named_in_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit, match=r"needs Python 3.11 or newer, and this is 3.9: install"):
        interpreter.use_new_enough()


def test_without_a_wish_the_next_free_port_is_taken_and_said(monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        monkeypatch.setattr(addresses, "DEFAULT_PORT", taken)
        chosen = addresses.choose_address("127.0.0.1", None)
    assert taken < chosen.port < taken + 100
    assert capsys.readouterr().out == f"Port {taken} is in use; using port {chosen.port} instead.\n"


@pytest.mark.parametrize(
    ("host", "port", "words"),
    [
        ("192.0.2.1", 8000, "Cannot listen on 192.0.2.1, port 8000"),
        ("no.such.host.invalid", 8000, "Cannot listen on no.such.host.invalid"),
        ("127.0.0.1", 70000, "70000 is not a port"),
    ],
)
def test_a_place_where_one_cannot_listen_is_named(host, port, words):
    with pytest.raises(Problem, match=words):
        addresses.choose_address(host, port)


def test_who_listens_everywhere_may_be_called_by_every_own_name(monkeypatch):
    monkeypatch.delenv("ALLOWED_HOSTS", raising=False)
    allowed = Address("0.0.0.0", 8000).environment()["ALLOWED_HOSTS"].split(",")
    assert {"127.0.0.1", "localhost", socket.gethostname()} <= set(allowed)
    assert "*" not in allowed


def test_names_that_somebody_set_are_kept(monkeypatch):
    monkeypatch.setenv("ALLOWED_HOSTS", "parley.example")
    assert Address("0.0.0.0", 8000).environment() == {}


def test_an_address_of_version_6_is_written_as_one():
    assert Address("::1", 8000).url == "http://[::1]:8000"


def test_a_missing_browser_is_named_with_the_command_that_brings_it(monkeypatch, tmp_path):
    monkeypatch.delenv("PARLEY_TEST_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(chromium, "MAC", ())
    with pytest.raises(Problem, match="The tests need Chromium: run `.+`, then start again."):
        chromium.find_or_install()
