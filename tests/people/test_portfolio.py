"""Portfolios, with the real image worker and a real storage."""

import io
import threading

import pytest
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from PIL import Image

from accounts.models import User
from core.refusals import Refusal
from files.models import File
from people import portfolio
from people.models import PortfolioImage
from people.portfolio import add_image, list_portfolio, move_image, remove_image
from tests.people.conftest import picture, stored_files, visit_as

pytestmark = pytest.mark.django_db

VARIANTS = 3


def add(user, key="1", content=None, **options):
    content = io.BytesIO(picture() if content is None else content)
    return add_image(user, key=key, content=content, **options)


def order(user) -> list[str]:
    return [image.id for image in list_portfolio(user)]


@pytest.fixture
def three(mara):
    return [add(mara, str(number)).file_id for number in range(3)]


@pytest.mark.storage
def test_several_photos_are_added_at_once_and_shown_on_the_profile(make_client, mara, tomas, kept):
    photos = [SimpleUploadedFile(f"{n}.jpg", picture()) for n in range(2)]
    client = visit_as(make_client, mara)
    assert client.post("/settings/portfolio/", {"photos": photos, "key": "a"}).status_code == 302
    assert len(stored_files(kept)) == 2 * VARIANTS
    page = visit_as(make_client, tomas).get(f"/people/{mara.handle}/").content.decode()
    for file_id in order(mara):
        assert f'href="/portfolio/{file_id}/"' in page
    assert 'id="lightbox"' in page
    assert "Edit portfolio" not in page


def test_a_repeated_upload_adds_nothing(make_client, mara, kept):
    client = visit_as(make_client, mara)
    for _ in range(2):
        photos = [SimpleUploadedFile("a.jpg", picture())]
        client.post("/settings/portfolio/", {"photos": photos, "key": "same"})
    assert len(order(mara)) == 1
    assert len(stored_files(kept)) == VARIANTS


@pytest.mark.storage
@pytest.mark.django_db(transaction=True)
def test_concurrent_uploads_stay_below_the_maximum_and_leave_no_files(mara, kept, monkeypatch):
    monkeypatch.setattr(portfolio, "MAX_IMAGES", 2)
    refused = []

    def run(key):
        try:
            add(mara, key)
        except Refusal as refusal:
            refused.append(refusal.code)
        finally:
            connection.close()

    workers = [threading.Thread(target=run, args=[key]) for key in ("1", "1", "2", "3")]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(order(mara)) == 2
    assert set(refused) == {"ACTION_INVALID_STATE"}
    assert File.objects.filter(owner=mara).count() == 2
    assert len(stored_files(kept)) == 2 * VARIANTS


def test_the_25th_photo_is_refused_before_it_is_decoded(mara, monkeypatch):
    file = add(mara).file
    for number in range(23):
        copy = File.objects.create(owner=mara, kind=file.kind, digest=file.digest)
        PortfolioImage.objects.create(user=mara, file=copy, key=f"k{number}", position=number)
    monkeypatch.setattr(portfolio, "accept_file", None)
    with pytest.raises(Refusal, match="up to 24 photos"):
        add(mara, "25")


def test_the_order_changes_and_a_repeat_changes_nothing(make_client, mara, three):
    one, two, last = three
    client = visit_as(make_client, mara)
    for _ in range(2):
        assert client.post(f"/settings/portfolio/{last}/move/", {"to": 0}).status_code == 302
        assert order(mara) == [last, one, two]
    move_image(mara, file_id=last, to=99)
    assert order(mara) == [one, two, last]
    move_image(mara, file_id=two, to=-5)
    assert order(mara) == [two, one, last]
    remove_image(mara, file_id=one)
    assert add(mara, "4").file_id == order(mara)[-1]
    assert client.post(f"/settings/portfolio/{two}/move/", {"to": "up"}).status_code == 400


def test_a_removed_photo_is_deleted_from_the_storage(make_client, mara, three, kept):
    client = visit_as(make_client, mara)
    for _ in range(2):
        assert client.post(f"/settings/portfolio/{three[1]}/remove/").status_code == 302
    assert order(mara) == [three[0], three[2]]
    assert client.get(f"/portfolio/{three[1]}/").status_code == 404
    assert len(stored_files(kept)) == 2 * VARIANTS
    assert not File.objects.filter(pk=three[1]).exists()


@pytest.mark.parametrize("change", ["caption", "move", "remove"])
def test_others_cannot_change_a_portfolio(make_client, mara, tomas, three, change):
    client = visit_as(make_client, tomas)
    url = f"/settings/portfolio/{three[0]}/{change}/"
    client.post(url, {"caption": "Mine now", "to": 2})
    assert order(mara) == three
    assert not PortfolioImage.objects.exclude(caption="").exists()


def test_captions_are_saved_and_shown(make_client, mara, three):
    client = visit_as(make_client, mara)
    url = f"/settings/portfolio/{three[0]}/caption/"
    assert client.post(url, {"caption": "Boots, <b>Lisbon</b>"}).status_code == 302
    page = client.get(f"/people/{mara.handle}/").content.decode()
    assert "Boots, &lt;b&gt;Lisbon&lt;/b&gt;" in page


@pytest.mark.parametrize("caption", ["Call me on +49 151 23456789", "x" * 201])
def test_a_refused_caption_is_shown_again_with_the_reason(make_client, mara, three, caption):
    client = visit_as(make_client, mara)
    response = client.post(f"/settings/portfolio/{three[0]}/caption/", {"caption": caption})
    assert response.status_code == 400
    assert caption in response.content.decode()
    assert PortfolioImage.objects.get(pk=three[0]).caption == ""


def test_an_image_is_not_stored_with_a_refused_caption(mara, kept):
    with pytest.raises(ValidationError):
        add(mara, caption="Write to mara@example.org")
    assert stored_files(kept) == []


def test_refused_files_are_named_and_the_others_are_added(make_client, mara):
    client = visit_as(make_client, mara)
    photos = [SimpleUploadedFile("good.jpg", picture()), SimpleUploadedFile("bad.pdf", b"%PDF-1")]
    response = client.post("/settings/portfolio/", {"photos": photos, "key": "k"}, follow=True)
    page = response.content.decode()
    assert "bad.pdf:" in page
    assert "Your photo has been added." in page
    assert len(order(mara)) == 1
    assert "Choose one or more" in client.post("/settings/portfolio/", follow=True).content.decode()


def test_safe_mode_blurs_suggestive_photos_until_they_are_revealed(make_client, mara, tomas):
    image = add(mara, content=picture(size=(900, 900)))
    File.objects.filter(pk=image.file_id).update(band=1)
    client = visit_as(make_client, tomas)

    def side(query=""):
        return Image.open(
            io.BytesIO(client.get(f"/portfolio/{image.file_id}/{query}").content)
        ).width

    assert tomas.safe_mode
    assert 'data-band="1"' in client.get(f"/people/{mara.handle}/").content.decode()
    assert (side(), side("?size=thumb"), side("?show=1")) == (24, 24, 900)
    User.objects.filter(pk=tomas.pk).update(safe_mode=False)
    assert (side(), side("?size=thumb")) == (900, 720)


def test_explicit_photos_are_refused(mara, kept, monkeypatch):
    from files.scanners import builtin

    scan = builtin.BuiltInScanner.scan

    def find_nudity(self, sample):
        scan(self, sample)
        sample.band = 2

    monkeypatch.setattr(builtin.BuiltInScanner, "scan", find_nudity)
    with pytest.raises(Refusal, match="MSG_NSFW_BLOCKED"):
        add(mara)
    assert stored_files(kept) == []
    assert order(mara) == []


def test_images_of_suspended_users_do_not_exist(make_client, mara, tomas, three):
    client = visit_as(make_client, tomas)
    assert client.get(f"/portfolio/{three[0]}/").status_code == 200
    User.objects.filter(pk=mara.pk).update(is_active=False)
    assert client.get(f"/portfolio/{three[0]}/").status_code == 404


def test_a_profile_costs_the_same_with_any_portfolio(make_client, mara, tomas, three):
    client = visit_as(make_client, mara)

    def cost(person):
        client.get(f"/people/{person.handle}/")
        with CaptureQueriesContext(connection) as queries:
            client.get(f"/people/{person.handle}/")
        return len(queries)

    add(tomas)
    few = cost(tomas)
    for number in range(5):
        add(tomas, f"n{number}")
    assert cost(tomas) == few
