"""What is taken, what is refused, and what is left of it."""

import io
import unicodedata

import pillow_heif
import pytest
from PIL import Image

from core.refusals import Refusal
from files import storage
from files.actions import MAX_UNSENT
from files.models import BLUR, FULL, THUMB, File
from tests.files.conftest import bring, limit, picture
from tests.files.corpus import CORPUS, TAKEN, with_place


def read(file: File, variant: str = FULL) -> bytes:
    with storage.open_file(file, variant) as kept:
        return kept.read()


@pytest.mark.parametrize("what", CORPUS)
def test_every_bad_file_ends_as_it_should(what, buyer, thread, kept):
    bad = CORPUS[what]
    if bad.ends != TAKEN:
        with pytest.raises(Refusal) as refused:
            bring(buyer, thread, bad.content(), bad.name)
        assert refused.value.code == bad.ends
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
    ends = [bad.ends for bad in CORPUS.values()]
    assert len(ends) == 44
    assert {end: ends.count(end) for end in sorted(set(ends))} == {
        "UPLOAD_TOO_LARGE": 4,
        "UPLOAD_TYPE": 29,
        TAKEN: 11,
    }


def test_nothing_tells_where_a_photo_was_taken(buyer, thread):
    file = bring(buyer, thread, with_place())
    assert Image.open(io.BytesIO(with_place())).getexif()
    for variant in (FULL, THUMB, BLUR):
        image = Image.open(io.BytesIO(read(file, variant)))
        assert not image.getexif()
        assert not {"exif", "comment", "xmp", "icc_profile"} & image.info.keys()


def test_a_photo_taken_sideways_is_upright(buyer, thread):
    out, exif = io.BytesIO(), Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (60, 40)).save(out, "JPEG", exif=exif)
    file = bring(buyer, thread, out.getvalue())
    assert (file.width, file.height) == (40, 60)


def test_photos_of_phones_become_what_every_browser_shows(buyer, thread):
    pillow_heif.register_heif_opener()
    file = bring(buyer, thread, picture("HEIF", (320, 200)), "IMG_0001.HEIC")
    assert (file.content_type, file.name) == ("image/jpeg", "IMG_0001.jpg")
    assert Image.open(io.BytesIO(read(file))).size == (320, 200)


def test_what_is_see_through_stays_so(buyer, thread):
    file = bring(buyer, thread, picture("PNG", alpha=True), "logo.png")
    image = Image.open(io.BytesIO(read(file)))
    assert (image.format, image.mode, file.name) == ("WEBP", "RGBA", "logo.webp")


def test_a_large_photo_is_kept_in_three_sizes(buyer, thread):
    file = bring(buyer, thread, picture(size=(5000, 2500)))
    sizes = {v: Image.open(io.BytesIO(read(file, v))).size for v in file.variants}
    assert sizes == {FULL: (2560, 1280), THUMB: (720, 360), BLUR: (24, 12)}
    assert (file.width, file.height) == (2560, 1280)
    assert file.size == len(read(file))


@pytest.mark.storage
def test_pdf_and_text_are_kept_as_they_are(buyer, thread):
    words = "Grüße,\nMara\n".encode()
    file = bring(buyer, thread, words, "notes.md")
    assert (file.kind, file.content_type, file.name) == ("text", "text/plain", "notes.md")
    assert read(file) == words


@pytest.mark.storage
def test_nobody_brings_files_without_end(buyer, thread, monkeypatch):
    monkeypatch.setattr("files.actions.MAX_UNSENT", 2)
    assert MAX_UNSENT == 200
    for _ in range(2):
        bring(buyer, thread, b"Words", "a.txt")
    with pytest.raises(Refusal, match="RATE_LIMITED"):
        bring(buyer, thread, b"Words", "a.txt")


def test_what_takes_too_long_is_not_taken(buyer, thread, monkeypatch):
    limit(monkeypatch, seconds=0.0)
    with pytest.raises(Refusal, match="UPLOAD_QUARANTINED"):
        bring(buyer, thread)
    assert not File.objects.exists()
