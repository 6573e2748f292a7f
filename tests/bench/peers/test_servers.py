"""The configuration of the servers, and what a run says about missing ones."""

import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.peers import compare, ejabberd, parley, private_chat, prosody
from tests.bench.peers.server import cpu_of_tree, unprivileged

import apt  # isort: skip

# Uses half a second of processor time in a child process that ends, then waits.
BUSY_CHILD = """
import subprocess, sys
loop = "import time\\nwhile time.process_time() < 0.5: pass"
subprocess.run([sys.executable, "-c", loop])
print("done", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("peer", "packages"),
    [(ejabberd, "ejabberd erlang-p1-pgsql"), (prosody, "prosody lua-dbi-sqlite3")],
)
def test_a_missing_package_is_named_in_one_line(monkeypatch, peer, packages):
    monkeypatch.setattr(apt, "is_installed", lambda package: package == packages.split()[0])
    line = peer.what_to_install()
    assert line is not None
    assert line.endswith(f"apt-get install -y {packages}")
    assert "\n" not in line
    monkeypatch.setattr(apt, "is_installed", lambda package: True)
    assert peer.what_to_install() is None


def test_a_missing_virtual_environment_is_named_in_one_line(tmp_path):
    line = private_chat.what_to_install(tmp_path / ".venv-private-chat")
    assert line is not None
    requirements = line.rpartition(" -r ")[2]
    assert "django-private-chat2==" in (private_chat.ROOT / requirements).read_text()
    (tmp_path / "lib/python3.11/site-packages/django_private_chat2").mkdir(parents=True)
    assert private_chat.what_to_install(tmp_path) is None


def test_a_package_that_does_not_exist_is_not_installed():
    assert not apt.is_installed("parley-no-such-package")


def test_the_rest_is_compared_without_a_missing_peer(monkeypatch):
    @contextmanager
    def installed():
        raise AssertionError("not started here")
        yield

    monkeypatch.setattr(
        compare, "PEERS", ((lambda: "Install it.", None), (lambda: None, installed))
    )
    started, said = [], []
    monkeypatch.setattr(
        compare, "compare_servers", lambda starts, size, log: started.extend(starts) or {}
    )
    found = compare.compare(compare.QUICK, log_progress=said.append)
    assert started == [parley.one_process, parley.two_processes, installed]
    assert said == found.missing == ["Install it."]


def test_ejabberd_listens_locally_and_archives_everything_in_postgresql():
    config = ejabberd.configuration(5300, 5400)
    assert 'port: 5300, ip: "127.0.0.1", module: ejabberd_c2s' in config
    assert "sql_port: 5400\n" in config
    assert "  mod_mam: {db_type: sql, default: always" in config
    assert "/etc/" not in config
    assert "/var/" not in config


def test_prosody_listens_locally_and_archives_everything_in_sqlite():
    home = Path("/tmp/somewhere")
    config = prosody.configuration(home, 5300)
    assert 'interfaces = { "127.0.0.1" }\nc2s_ports = { 5300 }\n' in config
    assert 'storage = { archive = "sql" }' in config
    assert f'database = "{home}/archive.sqlite"' in config
    assert '"mam"' in config
    assert config.count("{") == config.count("}")


def test_a_peer_can_write_its_folder(tmp_path):
    folder = tmp_path / "home"
    options = unprivileged(folder)
    assert options["env"]["HOME"] == str(folder)
    assert folder.stat().st_uid == options.get("user", folder.stat().st_uid)


def test_half_of_the_conversations_are_between_two_processes():
    thread = {"thread": "thrd_1", "cookies": ["a", "b"]}
    pairs = [parley._accounts(number, thread, [1, 2]) for number in range(20)]
    ports = [(sender["port"], recipient["port"]) for sender, recipient in pairs]
    assert {pair: ports.count(pair) for pair in ports} == dict.fromkeys(
        [(1, 1), (1, 2), (2, 1), (2, 2)], 5
    )
    assert ports[0] == (1, 2)
    assert parley._accounts(3, thread, [1])[1] == {"port": 1, "cookie": "b", "thread": "thrd_1"}


def test_processor_time_includes_processes_that_have_ended():
    program = subprocess.Popen(
        [sys.executable, "-c", BUSY_CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert program.stdout.readline() == b"done\n"
        assert cpu_of_tree(program.pid) >= 0.5
    finally:
        program.kill()
        program.wait()
