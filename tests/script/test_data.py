"""The data folder: ours alone, and deleted only where it is ours."""

import installation
import pytest
from installation import Data, InUse
from terminal import Problem

from tests.script.conftest import ROOT, run

SERVER = ROOT / "script/server"


@pytest.mark.parametrize("options", [[], ["--reset"]])
def test_leaves_a_folder_alone_that_holds_something_else(tmp_path, options):
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear Mara")
    refused = run(SERVER, "--data", tmp_path, *options)
    assert refused.returncode == 1
    assert refused.stderr == (
        f"{tmp_path} contains files that are not Parley's: "
        "name a new or empty folder with --data.\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_reset_deletes_what_is_ours_and_keeps_the_folder(tmp_path):
    data = Data(tmp_path / "data")
    with data.hold("script/server"):
        (data / "mail").mkdir()
        (data / "mail" / "one.log").touch()
        (data / "engine.db").touch()
        data.clear()
    assert {path.name for path in data.path.iterdir()} == {"parley-data.txt", "lock"}
    with data.hold("script/server"):
        assert data.state()["by"] == "script/server"


def test_reset_does_not_follow_a_link_out_of_the_folder(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "letter.txt").touch()
    data = Data(tmp_path / "data")
    with data.hold("script/server"):
        (data / "link").symlink_to(outside)
        data.clear()
    assert (outside / "letter.txt").exists()


def test_a_second_holder_is_told_who_is_there(tmp_path):
    data = Data(tmp_path / "data")
    with data.hold("script/manage"):
        with pytest.raises(InUse, match=r"in use by script/manage \(process \d+\)"):
            data.hold("script/server").__enter__()
        assert data.state()["by"] == "script/manage"


def test_what_a_killed_holder_left_behind_is_not_believed(tmp_path):
    data = Data(tmp_path / "data")
    with data.hold("script/server"):
        data.update_state(address="http://127.0.0.1:1")
        left_behind = (data / "state.json").read_text()
    (data / "state.json").write_text(left_behind)
    with data.hold("script/manage"):
        assert "address" not in data.state()


def test_a_folder_that_cannot_be_made_is_a_problem_in_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Problem, match="cannot be used for the data: Not a directory"):
        Data(tmp_path / "file" / "data").hold("script/server").__enter__()


def test_the_clones_own_folder_is_ours_by_its_name(monkeypatch, tmp_path):
    monkeypatch.setattr(installation.bootstrap, "ROOT", tmp_path)
    (tmp_path / ".parley").mkdir()
    (tmp_path / ".parley" / "secret_key").touch()
    with Data(tmp_path / ".parley").hold("script/server"):
        assert (tmp_path / ".parley" / "parley-data.txt").exists()
