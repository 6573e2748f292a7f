"""Uploads: which files are accepted or refused, and what is stored of them."""

import io
import unicodedata

import pillow_heif
import pytest
from PIL import Image

from core.refusals import Refusal
from files import storage
from files.actions import MAX_UNSENT
from files.models import BLUR, FULL, THUMB, File
from tests.files.conftest import bring, change_file_settings, picture
from tests.files.corpus import ACCEPTED, CORPUS, jpeg_with_location


def read(file: File, variant: str = FULL) -> bytes:
    with storage.open_file(file, variant) as stored:
        return stored.read()


@pytest.mark.parametrize("what", CORPUS)
def test_every_bad_file_has_the_expected_result(what, buyer, thread, kept):
    bad = CORPUS[what]
    if bad.expected != ACCEPTED:
        with pytest.raises(Refusal) as refused:
            bring(buyer, thread, bad.content(), bad.name)
        assert refused.value.code == bad.expected
        assert refused.value.message
        assert refused.value.hint
        assert not File.objects.exists()
        assert not [path for path in kept.rglob("*") if path.is_file()]
        return
    file = bring(buyer, thread, bad.content(), bad.name)
    assert file.state == File.State.READY
    check_name(file.name)
    for variant in file.variants:
        bytes_ = read(file, variant)
        assert b"<script" not in bytes_
        assert b"PK\x05\x06" not in bytes_
        assert b"serial number" not in bytes_


def check_name(name: str) -> None:
    assert 0 < len(name) <= 120
    assert not set("/\\\r\n") & set(name)
    assert name == name.strip(". ")
    assert all(unicodedata.category(char) not in {"Cc", "Cf"} for char in name)
    assert name.endswith((".jpg", ".webp"))


def test_the_corpus_is_counted():
    results = [bad.expected for bad in CORPUS.values()]
    assert len(results) == 44
    assert {result: results.count(result) for result in sorted(set(results))} == {
        "UPLOAD_TOO_LARGE": 4,
        "UPLOAD_TYPE": 29,
        ACCEPTED: 11,
    }


def test_location_and_other_metadata_are_removed_from_photos(buyer, thread):
    file = bring(buyer, thread, jpeg_with_location())
    assert Image.open(io.BytesIO(jpeg_with_location())).getexif()
    for variant in (FULL, THUMB, BLUR):
        image = Image.open(io.BytesIO(read(file, variant)))
        assert not image.getexif()
        assert not {"exif", "comment", "xmp", "icc_profile"} & image.info.keys()


def test_a_rotated_photo_is_stored_upright(buyer, thread):
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (60, 40)).save(out, "JPEG", exif=exif)
    file = bring(buyer, thread, out.getvalue())
    assert (file.width, file.height) == (40, 60)


def test_heic_photos_are_converted_to_jpeg(buyer, thread):
    pillow_heif.register_heif_opener()
    file = bring(buyer, thread, picture("HEIF", (320, 200)), "IMG_0001.HEIC")
    assert (file.content_type, file.name) == ("image/jpeg", "IMG_0001.jpg")
    assert Image.open(io.BytesIO(read(file))).size == (320, 200)


def test_transparency_is_kept(buyer, thread):
    file = bring(buyer, thread, picture("PNG", alpha=True), "logo.png")
    image = Image.open(io.BytesIO(read(file)))
    assert (image.format, image.mode, file.name) == ("WEBP", "RGBA", "logo.webp")


def test_a_large_photo_is_stored_in_three_sizes(buyer, thread):
    file = bring(buyer, thread, picture(size=(5000, 2500)))
    sizes = {v: Image.open(io.BytesIO(read(file, v))).size for v in file.variants}
    assert sizes == {FULL: (2560, 1280), THUMB: (720, 360), BLUR: (24, 12)}
    assert (file.width, file.height) == (2560, 1280)
    assert file.size == len(read(file))


@pytest.mark.storage
def test_text_is_stored_unchanged(buyer, thread):
    content = "Grüße,\nMara\n".encode()
    file = bring(buyer, thread, content, "notes.md")
    assert (file.kind, file.content_type, file.name) == ("text", "text/plain", "notes.md")
    assert read(file) == content


@pytest.mark.storage
def test_the_number_of_unsent_files_is_limited(buyer, thread, monkeypatch):
    monkeypatch.setattr("files.actions.MAX_UNSENT", 2)
    assert MAX_UNSENT == 200
    for _ in range(2):
        bring(buyer, thread, b"Words", "a.txt")
    with pytest.raises(Refusal, match="RATE_LIMITED"):
        bring(buyer, thread, b"Words", "a.txt")


def test_a_file_that_takes_too_long_is_refused(buyer, thread, monkeypatch):
    change_file_settings(monkeypatch, seconds=0.0)
    with pytest.raises(Refusal, match="UPLOAD_QUARANTINED"):
        bring(buyer, thread)
    assert not File.objects.exists()
