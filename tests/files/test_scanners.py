"""Scanners: the clamd protocol on a real socket, and the ratings of NudeNet."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.refusals import Refusal
from files.images.nudity_detector import band_of
from files.models import File
from tests.files.conftest import bring, change_file_settings

EICAR = b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


@contextmanager
def clamd(path: Path, answers: dict[bytes, bytes]) -> Iterator[str]:
    """Serves INSTREAM as clamd does and replies with the answer for a known part of the content."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                assert stream.read(10) == b"zINSTREAM\0"
                content = b""
                while size := struct.unpack("!L", stream.read(4))[0]:
                    content += stream.read(size)
                found = [answer for part, answer in answers.items() if part in content]
                stream.write((found or [b"stream: OK"])[0] + b"\0")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"unix://{path}"
    # Ends accept() before the socket's file descriptor can be reused.
    server.shutdown(socket.SHUT_RDWR)
    thread.join()
    server.close()


@pytest.fixture
def answers() -> dict[bytes, bytes]:
    return {
        EICAR: b"stream: Eicar-Test-Signature FOUND",
        b"HUGE": b"INSTREAM size limit exceeded. ERROR",
    }


def test_clamd_accepts_only_clean_files(buyer, thread, tmp_path, monkeypatch, answers):
    with clamd(tmp_path / "clamd", answers) as address:
        change_file_settings(monkeypatch, clamd=address)
        assert bring(buyer, thread).state == File.State.READY
        with pytest.raises(Refusal, match="UPLOAD_QUARANTINED: This file contains malware"):
            bring(buyer, thread, EICAR, "a.txt")
        with pytest.raises(Refusal, match="UPLOAD_QUARANTINED: This file couldn't"):
            bring(buyer, thread, b"HUGE", "a.txt")
    assert File.objects.count() == 1


def test_a_file_that_cannot_be_scanned_is_refused(buyer, thread, tmp_path, monkeypatch):
    change_file_settings(monkeypatch, clamd=f"unix://{tmp_path}/nobody")
    with pytest.raises(Refusal, match="UPLOAD_QUARANTINED"):
        bring(buyer, thread)
    assert not File.objects.exists()


def test_a_detector_that_is_not_installed_refuses_every_image(buyer, thread, monkeypatch):
    change_file_settings(monkeypatch, nudenet=True)
    with pytest.raises(Refusal, match="UPLOAD_QUARANTINED"):
        bring(buyer, thread)


def test_bands_follow_from_detections_above_the_threshold():
    detections = [{"class": "FACE_FEMALE", "score": 0.9}]
    assert band_of(detections) == 0
    assert band_of([*detections, {"class": "BUTTOCKS_EXPOSED", "score": 0.6}]) == 1
    assert band_of([*detections, {"class": "MALE_GENITALIA_EXPOSED", "score": 0.6}]) == 2
    assert band_of([*detections, {"class": "MALE_GENITALIA_EXPOSED", "score": 0.2}]) == 0
