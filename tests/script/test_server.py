"""script/server and script/manage, started for real."""

import json
import re
import secrets
import signal
import socket
import urllib.request

import pytest
import serve
from addresses import Address
from installation import Data
from serve import SHOWN_SIGN_INS

from tests.script.conftest import ROOT, Server, answers, run
from tests.wait import wait_until

pytestmark = pytest.mark.slow

SERVER = ROOT / "script/server"
MANAGE = ROOT / "script/manage"
ENDPOINT = "from django.conf import settings; print(settings.DYNAMODB['endpoint'])"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for all that only look at it, on its first run."""
    server = Server(tmp_path_factory.mktemp("parley") / "data")
    yield server.wait_until_it_listens()
    server.end()


def test_serves_at_the_address_that_it_prints(server):
    address = server.state()["address"]
    assert f"Parley is running at {address}\n" in server.said()
    with urllib.request.urlopen(f"{address}/accounts/login/") as answer:
        assert answer.status == 200


def test_the_first_run_brings_demo_people_and_says_how_to_sign_in(server):
    people = json.loads((server.data / "demo.json").read_text())
    assert len(people) > SHOWN_SIGN_INS
    assert all(person["password"] in server.said() for person in people)


@pytest.mark.parametrize("options", [[], ["--reset"]])
def test_refuses_data_that_a_server_is_running_on(server, options):
    second = run(SERVER, "--data", server.data, *options)
    address, pid = server.state()["address"], server.process.pid
    assert second.returncode == 1
    assert second.stdout == ""
    assert second.stderr == (
        f"Parley is already running on {server.data}: {address} (process {pid}).\n"
    )
    assert (server.data / "engine.db").exists()


def test_a_command_uses_the_engine_of_the_running_server(server):
    done = run(MANAGE, "--data", server.data, "shell", "-v", "0", "-c", ENDPOINT)
    assert done.stdout.strip() == server.state()["endpoint"]


def test_a_command_gives_back_the_exit_code(server):
    done = run(MANAGE, "--data", server.data, "no_such_command")
    assert done.returncode == 1
    assert "Unknown command" in done.stderr


def test_ctrl_c_ends_all_that_was_started_and_the_next_start_finds_the_data(start_server):
    server = start_server("--no-demo").wait_until_it_listens()
    state, key = server.state(), (server.data / "secret_key").read_text()
    assert server.end(signal.SIGINT) == 0
    assert "Traceback" not in server.said()
    assert not answers(state["address"])
    assert not answers(state["endpoint"])

    made = run(MANAGE, "--data", server.data, "shell", "-v", "0", "-c", MAKE_MARA)
    assert made.returncode == 0, made.stderr
    again = start_server().wait_until_it_listens()
    assert "Preparing" not in again.said()
    assert "Sign in as" not in again.said(), "What began without demo people stays without them."
    assert (again.data / "secret_key").read_text() == key
    found = run(MANAGE, "--data", again.data, "shell", "-v", "0", "-c", FIND_MARA)
    assert found.stdout == "Mara\n"


MAKE_MARA = """
from accounts.models import User
User.objects.create_user("mara@example.com", "x", handle="mara", display_name="Mara")
"""
FIND_MARA = 'from accounts.models import User; print(User.objects.get(handle="mara").display_name)'


def test_nothing_outlives_a_server_that_was_killed_and_a_reset_begins_anew(start_server):
    server = start_server("--no-demo").wait_until_it_listens()
    state, key = server.state(), (server.data / "secret_key").read_text()
    server.process.kill()
    wait_until(lambda: not answers(state["endpoint"]))
    wait_until(lambda: not answers(state["address"]))

    again = start_server("--no-demo", "--reset").wait_until_it_listens()
    assert "Preparing the data" in again.said()
    assert (again.data / "secret_key").read_text() != key


def test_a_command_without_a_server_has_an_engine_for_its_own_time(tmp_path):
    data = tmp_path / "data"
    done = run(MANAGE, f"--data={data}", "shell", "-v", "0", "-c", ENDPOINT)
    assert done.returncode == 0, done.stderr
    # The whole of it: what the script says is not mixed with what the command prints.
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+\n", done.stdout)
    assert not answers(done.stdout.strip())
    assert (data / "engine.db").exists()


def test_a_later_start_names_the_first_few_people_and_where_the_others_are(tmp_path, capsys):
    people = [
        {"name": f"P{n}", "email": f"p{n}@example.com", "password": f"word-{n}", "role": "buyer"}
        for n in range(9)
    ]
    (tmp_path / "demo.json").write_text(json.dumps(people))
    serve._welcome(Data(tmp_path), Address("127.0.0.1", 8000), first_run=False)
    said = capsys.readouterr().out
    assert f"word-{SHOWN_SIGN_INS - 1}" in said
    assert f"word-{SHOWN_SIGN_INS}" not in said
    assert f"and {9 - SHOWN_SIGN_INS} more, in {tmp_path}/demo.json" in said


def test_starts_no_engine_where_the_environment_names_one(start_server, own_engine):
    server = start_server("--no-demo", env=own_engine).wait_until_it_listens()
    assert "engine" not in server.state()
    assert not (server.data / "engine.db").exists()


def test_a_port_that_was_asked_for_and_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        refused = run(SERVER, "--data", tmp_path / "data", "--port", port)
    assert refused.returncode == 1
    assert refused.stderr == f"Port {port} on 127.0.0.1 is in use: choose another with --port.\n"


def test_an_unknown_option_is_named(tmp_path):
    refused = run(SERVER, "--data", tmp_path / "data", "--colour", "red")
    assert refused.returncode == 2
    assert "unrecognized arguments: --colour red" in refused.stderr


def test_a_deployment_without_a_secret_is_told_so_in_one_sentence(tmp_path, own_engine):
    env = own_engine | {"DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
    refused = run(SERVER, "--data", tmp_path / "data", "--port", "0", env=env)
    assert refused.returncode == 1
    assert refused.stderr.startswith("Set SECRET_KEY to at least 50 random characters")
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"PARLEY_DYNAMODB_ENDPOINT": "http://127.0.0.1:1"}, "DynamoDB at http://127.0.0.1:1"),
        ({"DATABASE_URL": "postgres://mara@127.0.0.1:1/none"}, "The database does not answer: "),
    ],
)
def test_a_store_that_does_not_answer_is_named_in_one_sentence(tmp_path, own_engine, named, words):
    env = own_engine | {"SECRET_KEY": secrets.token_urlsafe(64)} | named
    refused = run(SERVER, "--data", tmp_path / "data", "--port", "0", env=env)
    assert refused.returncode == 1
    assert refused.stderr.startswith(words)
    assert refused.stderr.count("\n") == 1
