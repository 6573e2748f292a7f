"""A large image delays only its sender."""

import threading
import time

import pytest
from PIL import Image

from core.refusals import Refusal
from files.file_types import JPEG, PNG
from files.scanners.builtin import BuiltInScanner, large_reencoder
from files.scanners.sample import Sample
from tests.files.conftest import change_file_settings, picture

LARGE = (7900, 7900)  # Just below the limit of 64 megapixels.


def sample(folder, content: bytes, kind=PNG) -> Sample:
    folder.mkdir()
    (folder / "upload").write_bytes(content)
    return Sample(folder / "upload", kind, folder)


@pytest.fixture(scope="module")
def large_png(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("large") / "large.png"
    Image.new("RGB", LARGE, "teal").save(path, compress_level=1)
    return path.read_bytes()


def test_a_small_image_does_not_wait_for_a_large_one(tmp_path, large_png, monkeypatch):
    change_file_settings(monkeypatch, seconds=120)
    BuiltInScanner().scan(sample(tmp_path / "first", picture("PNG")))  # Starts the worker.
    large = sample(tmp_path / "large", large_png)
    scan_thread = threading.Thread(target=BuiltInScanner().scan, args=[large])
    scan_thread.start()
    while scan_thread.is_alive() and not large_reencoder.is_busy:
        time.sleep(0.001)
    small = sample(tmp_path / "small", picture("PNG"))
    BuiltInScanner().scan(small)
    assert small.width == 640
    assert scan_thread.is_alive(), "The large image was finished first."
    scan_thread.join()
    assert large.width == 2560


def test_an_image_over_the_megapixel_limit_is_refused_before_decoding(tmp_path):
    bomb = tmp_path / "bomb.png"
    Image.new("1", (12_000, 12_000)).save(bomb)
    started = time.monotonic()
    with pytest.raises(Refusal, match="UPLOAD_TOO_LARGE") as refused:
        BuiltInScanner().scan(sample(tmp_path / "a", bomb.read_bytes()))
    assert "64 megapixels" in refused.value.message
    assert time.monotonic() - started < 5


def test_a_jpeg_is_decoded_at_reduced_size_and_may_be_larger(tmp_path, monkeypatch):
    change_file_settings(monkeypatch, most_megapixels=1)
    large = sample(tmp_path / "a", picture("JPEG", (2000, 1000)), JPEG)
    BuiltInScanner().scan(large)
    assert large.width == 2000
    with pytest.raises(Refusal, match="UPLOAD_TOO_LARGE"):
        BuiltInScanner().scan(sample(tmp_path / "b", picture("PNG", (2000, 1000))))


def test_an_upload_is_refused_with_retry_after_when_all_workers_are_busy(
    tmp_path, monkeypatch, large_png
):
    change_file_settings(monkeypatch, queue_seconds=0.1)
    with large_reencoder.reserved():
        with pytest.raises(Refusal, match="UPLOAD_QUARANTINED") as refused:
            BuiltInScanner().scan(sample(tmp_path / "a", large_png))
        BuiltInScanner().scan(sample(tmp_path / "b", picture("PNG")))
    assert refused.value.retry_after
