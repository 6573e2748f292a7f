"""Data of an earlier release opens in this one, and nothing is lost."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.script.conftest import ROOT, Server, run

pytestmark = pytest.mark.slow

UPGRADE = ROOT / "tests/script/upgrade"
# Counted by the release that wrote the data, and the card of its pending offer.
WRITTEN = {
    "users": 12,
    "threads": 27,
    "rows": 54,
    "messages": 2616,
    "archived": 1810,
    "characters": 207645,
    "legs": 4,
    "receipts": 2,
    "cards": 5,
}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("upgrade")
    shutil.unpack_archive(UPGRADE / "release_1_1.tar.xz", folder)
    server = Server(folder / "data").wait_until_it_listens()
    # As CHANGELOG.md tells operators.
    rebuilt = manage(folder / "data", "rebuild_snapshots")
    assert rebuilt.returncode == 0, rebuilt.stdout + rebuilt.stderr
    yield folder / "data"
    server.end()


def manage(data: Path, *arguments: str):
    return run(ROOT / "script/manage", "--data", data, *arguments)


def test_threads_archive_and_search_are_read_in_full(data):
    script = f"exec(open({str(UPGRADE / 'read_everything.py')!r}).read(), {{}})"
    read = manage(data, "shell", "-v", "0", "-c", script)
    assert read.returncode == 0, read.stderr
    figures = json.loads(read.stdout.splitlines()[-1])
    assert {name: figures[name] for name in WRITTEN} == WRITTEN
    assert figures["pages"] == figures["threads"]
    assert figures["found_in_archive"] == figures["archived_threads"] > 0


@pytest.mark.parametrize(
    "command", ["check_stores", "verify_documents", "verify_audit", "verify_archive"]
)
def test_the_records_are_consistent(data, command):
    checked = manage(data, command)
    assert checked.returncode == 0, checked.stdout + checked.stderr
