"""Photos and portfolios of the demo users."""

import io

import pytest
from PIL import Image

from demo import content
from demo.content.pictures import PICTURES
from demo.content.portraits import LOOKS, draw_portrait
from demo.content.works import WORKS
from demo.profiles import add_profiles
from files.models import File
from people.models import Photo, PortfolioImage, VerificationRequest
from people.portfolio import MAX_IMAGES, check_caption

pytestmark = pytest.mark.django_db


def test_every_user_with_conversations_has_a_portrait_and_only_known_images():
    keys = {person.key for person in content.people()}
    assert keys <= set(LOOKS) <= keys | {seller.person.key for seller in content.sellers()}
    for key, images in content.portfolios().items():
        assert key in keys
        assert len(images) <= MAX_IMAGES
        for name, caption in images:
            assert name in PICTURES | WORKS
            check_caption(caption)


def test_portraits_are_square_and_always_the_same():
    assert Image.open(io.BytesIO(draw_portrait("mara"))).size == (640, 640)
    again = draw_portrait.__wrapped__("mara")
    assert again == draw_portrait("mara") != draw_portrait("tomas")


def test_profiles_are_added_once(mara, make_person):
    layla = make_person("Layla", verified=True)
    people = {"samir": mara, "layla": layla}
    add_profiles(people)
    assert mara.avatar == f"/photos/{Photo.objects.get(user=mara).file_id}/"
    assert PortfolioImage.objects.filter(user=layla).count() == 1
    assert list(VerificationRequest.objects.values_list("user_id", flat=True)) == [layla.id]
    files = File.objects.count()
    add_profiles(people)
    assert File.objects.count() == files
