"""Data export and account deletion include photos, portfolios and verification documents."""

import io
import json

import pytest
from PIL import Image

from accounts.models import User
from core.refusals import Refusal
from files.exports import request_export
from files.models import File
from moderation.actions.interventions import take_action
from moderation.actions.reports import report_person
from moderation.models import AuditEntry
from people.models import Photo, PortfolioImage, VerificationRequest
from people.photos import set_photo
from people.portfolio import add_image
from people.verification import request_verification
from privacy.actions import delete_account
from tests.moderation.conftest import make_staff, taken
from tests.people.conftest import picture, stored_files, visit_as
from tests.threads.test_deletion import relay
from tests.threads.test_export import make_all, open_archive

pytestmark = pytest.mark.django_db


def content() -> io.BytesIO:
    return io.BytesIO(picture())


@pytest.fixture
def complete(mara):
    """A user with a photo, a portfolio and a verification request."""
    set_photo(mara, content=content())
    add_image(mara, key="1", content=content(), caption="Boots")
    add_image(mara, key="2", content=content())
    request_verification(
        mara, link="https://mara.example", note="Hello", document=content(), name="a.jpg"
    )
    return User.objects.get(pk=mara.pk)


def test_an_export_has_photo_portfolio_and_documents(complete):
    export = request_export(complete, about="Everything")
    make_all()
    archive = open_archive(export)
    profile = json.loads(archive.read("profile/profile.json"))
    assert [image["caption"] for image in profile["portfolio"]] == ["Boots", ""]
    (asked,) = profile["verification_requests"]
    assert (asked["link"], asked["note"]) == ("https://mara.example", "Hello")
    files = [profile["photo"], asked["document"], *(one["file"] for one in profile["portfolio"])]
    for name in files:
        assert Image.open(io.BytesIO(archive.read(name))).width in (640, 480)


@pytest.mark.storage
def test_account_deletion_removes_rows_and_content(make_client, tomas, complete, kept):
    avatar = complete.avatar
    client = visit_as(make_client, tomas)
    assert client.get(avatar).status_code == 200
    delete_account(complete)
    assert client.get(avatar).status_code == 404
    for model in (Photo, PortfolioImage, VerificationRequest):
        assert not model.objects.filter(user=complete).exists()
    assert User.objects.get(pk=complete.pk).avatar == ""
    relay()
    assert not File.objects.filter(owner=complete).exists()
    assert stored_files(kept) == []


def test_a_photo_that_arrives_after_the_deletion_is_refused(complete, kept):
    delete_account(complete)
    relay()
    with pytest.raises(Refusal, match="ACCOUNT_SUSPENDED"):
        set_photo(complete, content=content())
    with pytest.raises(Refusal, match="ACCOUNT_SUSPENDED"):
        add_image(complete, key="9", content=content())
    with pytest.raises(Refusal, match="ACCOUNT_SUSPENDED"):
        request_verification(complete, link="https://x.example", document=content(), name="a.jpg")
    assert stored_files(kept) == []


def test_staff_remove_photos_and_revoke_verification_under_a_case(tomas, complete, kept):
    moderator = make_staff("Mo", "Trust and safety")
    User.objects.filter(pk=complete.pk).update(verified=True)
    case = taken(moderator, report_person(tomas, person=complete, reason="sexual", comment=""))
    for name in ("remove_photo", "clear_portfolio", "revoke_verification"):
        take_action(
            moderator, case_id=case.id, name=f"person.{name}", target=complete.id, reason="Rules"
        )
        assert AuditEntry.objects.filter(act=f"person.{name}", case=case.id).exists()
    stored = User.objects.get(pk=complete.pk)
    assert (stored.avatar, stored.verified) == ("", False)
    assert not PortfolioImage.objects.filter(user=complete).exists()
    # Only the document of the verification request is left.
    assert File.objects.filter(owner=complete).count() == 1
