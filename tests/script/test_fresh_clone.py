"""A newcomer's machine: Python, git, an empty home, and nothing of ours."""

import os
import sys
import urllib.request

import pytest

from tests.script.conftest import ROOT, Server, run

pytestmark = pytest.mark.long


@pytest.fixture
def newcomer(tmp_path):
    """With Python and git on the PATH, and not even npm."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "python3").symlink_to(os.path.realpath(sys.executable))
    (tmp_path / "home").mkdir()
    return {"PATH": str(programs), "HOME": str(tmp_path / "home")}


def test_one_command_serves_from_a_fresh_clone_and_the_second_start_is_quick(tmp_path, newcomer):
    clone = tmp_path / "clone"
    assert run("git", "clone", "--quiet", ROOT, clone).returncode == 0
    script = clone / "script/server"

    server = Server(clone / ".parley", script=script, env=newcomer).wait_until_it_listens(600)
    with urllib.request.urlopen(server.state()["address"]) as answer:
        assert answer.status == 200
    assert server.end() == 0

    again = Server(clone / ".parley", script=script, env=newcomer).wait_until_it_listens(20)
    assert "Installing" not in again.said()
    assert again.end() == 0
