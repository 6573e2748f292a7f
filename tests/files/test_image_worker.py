"""The process that decodes: it may die or hang, and the next file is none the worse."""

import os
import signal
import sys

import pytest

from core.refusals import Refusal
from files.images.worker import Worker, WorkerFailed
from files.models import File
from files.scanners.builtin import reencoder
from tests.files.conftest import bring, picture


def test_a_worker_that_was_killed_comes_back(buyer, thread):
    bring(buyer, thread)
    killed = reencoder.pid
    os.kill(killed, signal.SIGKILL)
    os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
    assert bring(buyer, thread).state == File.State.READY
    assert reencoder.pid != killed


def test_a_worker_that_dies_of_a_file_takes_no_other_with_it(buyer, thread, monkeypatch):
    """As if a decoder had crashed: the process is gone in the middle of a file."""
    bring(buyer, thread)
    exchange = Worker._exchange

    def dies(self, process, question, deadline):
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return exchange(self, process, question, deadline)

    with monkeypatch.context() as patched:
        patched.setattr(Worker, "_exchange", dies)
        with pytest.raises(Refusal, match="UPLOAD_QUARANTINED"):
            bring(buyer, thread)
    assert File.objects.count() == 1
    assert bring(buyer, thread).state == File.State.READY


def test_a_worker_that_hangs_is_ended(tmp_path):
    (tmp_path / "hanging.py").write_text("import time; time.sleep(600)")
    worker = Worker("hanging")
    import files.images.worker as module

    original, module.ROOT = module.ROOT, tmp_path
    try:
        with pytest.raises(WorkerFailed):
            worker.run({}, seconds=0.3)
    finally:
        module.ROOT = original
    assert worker.pid is None


def test_the_worker_knows_no_secret(tmp_path, buyer, thread):
    bring(buyer, thread)
    if sys.platform == "linux":
        with open(f"/proc/{reencoder.pid}/environ") as environ:
            assert {line.partition("=")[0] for line in environ.read().split("\0")} <= {
                "PYTHONDONTWRITEBYTECODE",
                "LC_CTYPE",
                "",
            }


def test_a_picture_that_fills_the_memory_is_refused(tmp_path):
    worker = Worker("files.images.encode")
    (tmp_path / "a").write_bytes(picture())
    question = {"path": str(tmp_path / "a"), "folder": str(tmp_path), "format": "JPEG"}
    question |= {"most_megapixels": 64, "small_megapixels": 16}
    assert worker.run({**question, "most_pixels": 100}, seconds=20) == {"refused": "too_large"}
    assert worker.run({**question, "most_pixels": 1000}, seconds=20)["width"] == 640
