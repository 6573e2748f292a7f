"""Profile photos, with the real image worker and a real storage."""

import io
import threading

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from PIL import Image

from accounts.models import User
from core.outbox.processing import process_due
from core.refusals import Refusal
from files.cleanup import delete_unused_files
from files.models import SQUARES, File
from people.models import Photo
from people.photos import remove_photo, set_photo
from tests.people.conftest import picture, stored_files, two_halves, visit_as
from tests.threads.conftest import row, start
from threads.dynamodb import keys
from threads.models import Profile

pytestmark = pytest.mark.django_db


def upload(name="me.jpg", content=None):
    return SimpleUploadedFile(name, picture() if content is None else content)


def set_from(user, content=None, **options):
    set_photo(user, content=io.BytesIO(picture() if content is None else content), **options)
    user.refresh_from_db()
    return user.avatar


def opened(response) -> Image.Image:
    return Image.open(io.BytesIO(response.content))


@pytest.mark.storage
def test_an_uploaded_photo_is_stored_as_squares_and_shown_to_others(make_client, mara, tomas, kept):
    client = visit_as(make_client, mara)
    assert client.post("/settings/photo/", {"photo": upload(), "position": "centre"}).url
    mara.refresh_from_db()
    assert mara.avatar == f"/photos/{mara.photo.file_id}/"
    assert len(mara.avatar) < 50
    assert len(stored_files(kept)) == len(SQUARES)

    other = visit_as(make_client, tomas)
    for size in SQUARES:
        response = other.get(f"{mara.avatar}?size={size}")
        assert response["Content-Type"] == "image/jpeg"
        assert opened(response).size == (int(size), int(size))
    assert opened(other.get(mara.avatar)).size == opened(other.get(f"{mara.avatar}?size=x")).size
    page = other.get(f"/people/{mara.handle}/").content.decode()
    assert f'<img src="{mara.avatar}?size=320"' in page


@pytest.mark.parametrize("size", [(400, 200), (200, 400)], ids=["wide", "tall"])
def test_the_position_decides_which_part_is_kept(make_client, mara, size):
    client = visit_as(make_client, mara)
    halves = {}
    for position in ("start", "end", "centre"):
        square = opened(client.get(set_from(mara, two_halves(size), position=position)))
        corners = square.getpixel((4, 4)), square.getpixel((123, 123))
        halves[position] = ["red" if corner[0] > corner[2] else "blue" for corner in corners]
    assert halves == {"start": ["red", "red"], "end": ["blue", "blue"], "centre": ["red", "blue"]}


def test_metadata_is_removed_from_every_size(make_client, mara):
    exif = Image.Exif()
    exif[0x010E] = "At home, 1 Secret Street"
    content = picture(exif=exif, comment=b"secret comment")
    assert b"Secret Street" in content
    client = visit_as(make_client, mara)
    avatar = set_from(mara, content)
    for size in SQUARES:
        response = client.get(f"{avatar}?size={size}")
        assert b"ecret" not in response.content
        assert not opened(response).getexif()


@pytest.mark.storage
def test_another_photo_has_another_url_and_the_former_one_is_deleted(make_client, mara, kept):
    client = visit_as(make_client, mara)
    before = set_from(mara)
    after = set_from(mara, two_halves())
    assert before != after
    assert client.get(before).status_code == 404
    assert client.get(after).status_code == 200
    assert len(stored_files(kept)) == len(SQUARES)
    assert File.objects.filter(owner=mara).count() == 1


def test_a_removed_photo_is_deleted_and_initials_are_shown(make_client, mara, kept):
    client = visit_as(make_client, mara)
    before = set_from(mara)
    for _ in range(2):
        assert client.post("/settings/photo/remove/").status_code == 302
    mara.refresh_from_db()
    assert mara.avatar == ""
    assert stored_files(kept) == []
    assert not File.objects.filter(owner=mara).exists()
    assert client.get(before).status_code == 404
    assert ">ML<" in client.get(f"/people/{mara.handle}/").content.decode()


def test_browsers_cache_a_photo_without_asking_again(make_client, mara):
    response = visit_as(make_client, mara).get(set_from(mara))
    assert response["Cache-Control"] == "private, max-age=604800, immutable"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]


def test_a_photo_costs_one_query_besides_the_session(make_client, mara):
    client = visit_as(make_client, mara)
    avatar = set_from(mara)
    client.get(avatar)
    with CaptureQueriesContext(connection) as queries:
        client.get(avatar)
    assert len(queries) == 2


@pytest.mark.parametrize("change", [{"is_active": False}, {"avatar": ""}])
def test_only_photos_of_active_users_exist(make_client, mara, tomas, change):
    client = visit_as(make_client, tomas)
    avatar = set_from(mara)
    User.objects.filter(pk=mara.pk).update(**change)
    if "avatar" in change:
        Photo.objects.filter(user=mara).delete()
    missing = client.get("/photos/file_00000000000000000000000000/")
    response = client.get(avatar)
    assert response.status_code == missing.status_code == 404
    assert len(response.content) == len(missing.content)


def test_anonymous_visitors_see_no_photo(client, mara):
    assert client.get(set_from(mara)).url.startswith("/accounts/login/")


def test_a_photo_is_not_a_file_of_a_thread_and_cannot_be_attached(make_client, mara, tomas):
    file_id = set_from(mara).split("/")[2]
    assert visit_as(make_client, mara).get(f"/files/{file_id}/").status_code == 404
    assert visit_as(make_client, tomas).get(f"/files/{file_id}/").status_code == 404


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"%PDF-1.4\n%%EOF", "t a photo"),
        (b"just words", "t a photo"),
        (b"\xff\xd8\xff\xe0 not really", "read this photo"),
    ],
)
def test_a_refused_upload_keeps_the_photo_and_says_why(make_client, mara, kept, content, expected):
    client = visit_as(make_client, mara)
    before = set_from(mara)
    data = {"photo": upload(content=content), "position": "centre"}
    response = client.post("/settings/photo/", data)
    assert response.status_code in (400, 415)
    assert expected in response.content.decode()
    mara.refresh_from_db()
    assert mara.avatar == before
    assert len(stored_files(kept)) == len(SQUARES)
    assert File.objects.filter(owner=mara).count() == 1


def test_too_many_pixels_are_refused_before_decoding(make_client, mara):
    out = io.BytesIO()
    Image.new("1", (12_001, 10)).save(out, "PNG")
    with pytest.raises(Refusal, match="UPLOAD_TOO_LARGE"):
        set_from(mara, out.getvalue())


@pytest.mark.parametrize("band", [1, 2])
def test_suggestive_and_explicit_photos_are_refused(mara, kept, monkeypatch, band):
    from files.scanners import builtin

    scan = builtin.BuiltInScanner.scan

    def find_nudity(self, sample):
        scan(self, sample)
        sample.band = band

    monkeypatch.setattr(builtin.BuiltInScanner, "scan", find_nudity)
    with pytest.raises(Refusal, match="MSG_NSFW_BLOCKED"):
        set_from(mara)
    assert stored_files(kept) == []
    assert not File.objects.filter(owner=mara).exists()


def test_uploads_are_rate_limited_before_anything_is_decoded(mara, settings, monkeypatch):
    settings.UPLOAD_LIMIT = 1
    set_from(mara)
    monkeypatch.setattr("people.photos.accept_photo", None)
    with pytest.raises(Refusal, match="RATE_LIMITED"):
        set_from(mara)


def test_cleanup_keeps_photos_in_use(mara, kept, monkeypatch):
    set_from(mara)
    File.objects.update(created_at="2020-01-01T00:00:00Z")
    assert delete_unused_files() == 0
    assert len(stored_files(kept)) == len(SQUARES)


def test_photos_in_use_do_not_count_as_unsent_uploads(mara, monkeypatch):
    monkeypatch.setattr("files.actions.MAX_UNSENT", 1)
    set_from(mara)
    set_from(mara)


@pytest.mark.storage
def test_a_photo_that_could_not_be_deleted_is_left_to_cleanup(mara, kept, monkeypatch, settings):
    set_from(mara)

    def fail(file):
        raise OSError("the storage does not answer")

    with monkeypatch.context() as context:
        context.setattr("files.storage.delete", fail)
        remove_photo(mara)
    assert len(stored_files(kept)) == len(SQUARES)
    settings.FILES = settings.FILES | {"kept_days": 0}
    assert delete_unused_files() == 1
    assert stored_files(kept) == []


def test_participants_get_the_url_of_the_photo(mara, tomas):
    thread = start(mara, tomas)
    avatar = set_from(mara)
    while process_due():
        pass
    assert row(thread, mara).person["avatar"] == avatar
    assert row(thread, tomas).other_side["avatar"] == avatar
    assert Profile.find(keys.user_pk(mara.id), keys.PROFILE).avatar == avatar


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_concurrent_uploads_leave_one_photo_and_no_other_files(mara, kept):
    def run(content):
        try:
            set_photo(mara, content=io.BytesIO(content))
        finally:
            connection.close()

    workers = [threading.Thread(target=run, args=[two_halves((200 + n, 100))]) for n in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    mara.refresh_from_db()
    assert mara.avatar == f"/photos/{Photo.objects.get(user=mara).file_id}/"
    assert File.objects.filter(owner=mara).count() == 1
    assert len(stored_files(kept)) == len(SQUARES)


def test_a_suspended_user_cannot_set_a_photo(mara, kept):
    User.objects.filter(pk=mara.pk).update(is_active=False)
    with pytest.raises(Refusal, match="ACCOUNT_SUSPENDED"):
        set_photo(mara, content=io.BytesIO(picture()))
    assert stored_files(kept) == []
