"""Static files are collected once for all data folders of a checkout."""

import pytest
import static_files


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    monkeypatch.setattr(static_files, "ROOT", tmp_path)
    monkeypatch.setattr(static_files, "CACHE", tmp_path / ".venv" / "collected")
    (tmp_path / "requirements.txt").write_text("Django==5.2\n")
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "site.css").write_text("a {}")
    return tmp_path


def provide(checkout, name: str) -> bool:
    """Whether files were collected for this data folder."""
    collected = []

    def collect() -> None:
        collected.append(name)
        (checkout / name / "static").mkdir(parents=True, exist_ok=True)
        (checkout / name / "static" / "site.123.css").write_text("a{}")

    static_files.provide(checkout / name, collect)
    assert (checkout / name / "static" / "site.123.css").read_text() == "a{}"
    return bool(collected)


def test_a_second_folder_gets_the_files_of_the_first(checkout):
    assert provide(checkout, ".parley")
    assert not provide(checkout, ".parley")
    assert not provide(checkout, "another")


def test_a_changed_file_is_collected_again(checkout):
    provide(checkout, ".parley")
    (checkout / "static" / "site.css").write_text("b {}")
    assert provide(checkout, ".parley")
    assert not provide(checkout, "another")
