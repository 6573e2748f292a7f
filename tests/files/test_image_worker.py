"""The image worker process may crash or hang without affecting the next file."""

import os
import signal
import sys

import pytest

from core.refusals import Refusal
from files.images.worker import Worker, WorkerFailed
from files.models import File
from files.scanners.builtin import reencoder
from tests.files.conftest import bring, picture


def test_a_killed_worker_is_restarted(buyer, thread):
    bring(buyer, thread)
    killed = reencoder.pid
    os.kill(killed, signal.SIGKILL)
    os.waitid(os.P_PID, killed, os.WEXITED | os.WNOWAIT)
    assert bring(buyer, thread).state == File.State.READY
    assert reencoder.pid != killed


def test_a_worker_crash_affects_only_its_file(buyer, thread, monkeypatch):
    """Simulates a decoder crash: the process dies while it handles a file."""
    bring(buyer, thread)
    exchange = Worker._exchange

    def crash(self, process, request, deadline):
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        return exchange(self, process, request, deadline)

    with monkeypatch.context() as patched:
        patched.setattr(Worker, "_exchange", crash)
        with pytest.raises(Refusal, match="UPLOAD_QUARANTINED"):
            bring(buyer, thread)
    assert File.objects.count() == 1
    assert bring(buyer, thread).state == File.State.READY


def test_a_hanging_worker_is_killed(tmp_path):
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


def test_the_worker_environment_has_no_secrets(tmp_path, buyer, thread):
    bring(buyer, thread)
    if sys.platform == "linux":
        with open(f"/proc/{reencoder.pid}/environ") as environ:
            assert {line.partition("=")[0] for line in environ.read().split("\0")} <= {
                "PYTHONDONTWRITEBYTECODE",
                "LC_CTYPE",
                "",
            }


def test_an_image_over_the_pixel_limit_is_refused(tmp_path):
    worker = Worker("files.images.encode")
    (tmp_path / "a").write_bytes(picture())
    request = {"path": str(tmp_path / "a"), "folder": str(tmp_path), "format": "JPEG"}
    request |= {"most_megapixels": 64, "small_megapixels": 16}
    assert worker.run({**request, "most_pixels": 100}, seconds=20) == {"refused": "too_large"}
    assert worker.run({**request, "most_pixels": 1000}, seconds=20)["width"] == 640
