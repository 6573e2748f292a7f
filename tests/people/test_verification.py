"""Verification: asked for by users, decided by staff."""

import io
from datetime import timedelta

import pytest
from django.core import mail
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from accounts.models import User
from core.outbox.processing import process_due
from core.refusals import Refusal
from files.cleanup import delete_unused_files
from files.models import File
from moderation.actions.verification import (
    approve_verification,
    decline_verification,
    view_document,
)
from moderation.models import AuditEntry
from people.models import VerificationRequest, VerificationState
from people.verification import (
    RETRY_DELAY,
    get_status,
    request_verification,
    revoke_verification,
    withdraw_request,
)
from tests.moderation.conftest import make_staff
from tests.moderation.conftest import sign_in as sign_in_staff
from tests.people.conftest import picture, stored_files, visit_as
from threads.dynamodb import keys
from threads.models import Profile

pytestmark = pytest.mark.django_db

LINK = "https://mara.example/work"


@pytest.fixture
def support(db):
    return make_staff("Sy", "Support")


def ask(user, **fields):
    return request_verification(user, link=LINK, **fields)


def ask_with_document(user):
    return ask(user, document=io.BytesIO(picture()), name="registration.jpg")


def page_of(request, what="change"):
    return f"/admin/people/verificationrequest/{request.id.replace('_', '_5F')}/{what}/"


def status_of(user):
    return get_status(User.objects.get(pk=user.pk))


def test_ones_own_profile_explains_verification_and_others_do_not(make_client, mara, tomas):
    client = visit_as(make_client, mara)
    assert "Get verified" in client.get(f"/people/{mara.handle}/").content.decode()
    assert "Get verified" not in client.get(f"/people/{tomas.handle}/").content.decode()


@pytest.mark.storage
def test_a_request_is_sent_with_a_document_and_shown_as_pending(make_client, mara, kept):
    client = visit_as(make_client, mara)
    document = SimpleUploadedFile("registration.pdf", b"%PDF-1.4\n%%EOF")
    data = {"link": LINK, "note": "Since 2014", "document": document}
    assert client.post("/settings/verification/", data).status_code == 302
    request = VerificationRequest.objects.get(user=mara)
    assert (request.state, request.link, request.note) == ("pending", LINK, "Since 2014")
    assert len(stored_files(kept)) == 1
    assert LINK in client.get("/settings/verification/").content.decode()
    assert "email you our answer" in client.get(f"/people/{mara.handle}/").content.decode()
    assert not User.objects.get(pk=mara.pk).verified


@pytest.mark.parametrize(
    "fields", [{"link": ""}, {"link": "javascript:alert(1)"}, {"link": LINK, "note": "x" * 1001}]
)
def test_a_request_with_wrong_fields_is_refused(make_client, mara, fields):
    client = visit_as(make_client, mara)
    assert client.post("/settings/verification/", fields).status_code == 400
    assert not VerificationRequest.objects.filter(user=mara).exists()


@pytest.mark.storage
def test_a_second_request_is_the_pending_one(mara, kept):
    first = ask_with_document(mara)
    assert ask_with_document(mara) == first
    assert VerificationRequest.objects.filter(user=mara).count() == 1
    assert len(stored_files(kept)) == 3


@pytest.mark.storage
def test_a_concurrent_request_stores_no_second_row_and_no_second_document(mara, kept, monkeypatch):
    from people import verification

    check = verification._check_can_request

    def race(user):
        check(user)
        monkeypatch.setattr(verification, "_check_can_request", check)
        ask_with_document(user)

    monkeypatch.setattr(verification, "_check_can_request", race)
    ask_with_document(mara)
    assert VerificationRequest.objects.filter(user=mara).count() == 1
    assert File.objects.filter(owner=mara).count() == 1
    assert len(stored_files(kept)) == 3


@pytest.mark.storage
def test_approval_verifies_the_user_everywhere_and_informs_them(mara, support, make_client):
    request = ask(mara)
    approve_verification(support, request_id=request.id, reason="The site shows her name")
    assert User.objects.get(pk=mara.pk).verified
    while process_due():
        pass
    assert Profile.find(keys.user_pk(mara.id), keys.PROFILE).verified
    (message,) = mail.outbox
    assert (message.to, message.subject) == ([mara.email], "You're verified")
    entry = AuditEntry.objects.get(act="verification.approve")
    assert (entry.actor, entry.target, entry.reason) == (
        support.id,
        request.id,
        "The site shows her name",
    )
    page = visit_as(make_client, mara).get(f"/people/{mara.handle}/").content.decode()
    assert "You're verified" in page.replace("&#x27;", "'")


@pytest.mark.storage
def test_a_decline_shows_the_reason_and_one_can_ask_again_after_some_days(
    mara, support, make_client
):
    request = ask(mara)
    decline_verification(support, request_id=request.id, reason="The link doesn't open.")
    assert not User.objects.get(pk=mara.pk).verified
    assert "The link doesn't open." in mail.outbox[0].body
    client = visit_as(make_client, mara)
    page = client.get(f"/people/{mara.handle}/").content.decode()
    assert "The link doesn&#x27;t open." in page
    assert "Get verified" not in page
    with pytest.raises(Refusal, match="too early"):
        ask(mara)
    assert client.post("/settings/verification/", {"link": LINK}).status_code == 409
    decided_at = timezone.now() - RETRY_DELAY - timedelta(minutes=1)
    VerificationRequest.objects.update(decided_at=decided_at)
    assert ask(mara).is_pending


@pytest.mark.storage
@pytest.mark.parametrize("before", ["approve", "decline", "withdraw"])
def test_a_request_is_decided_once(mara, support, before):
    request = ask(mara)
    if before == "approve":
        approve_verification(support, request_id=request.id)
    elif before == "decline":
        decline_verification(support, request_id=request.id, reason="No")
    else:
        withdraw_request(mara)
    state = VerificationRequest.objects.get().state
    verified = User.objects.get(pk=mara.pk).verified
    mails = len(mail.outbox)
    with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
        approve_verification(support, request_id=request.id)
    with pytest.raises(Refusal, match="ACTION_INVALID_STATE"):
        decline_verification(support, request_id=request.id, reason="No")
    withdraw_request(mara)
    assert VerificationRequest.objects.get().state == state
    assert User.objects.get(pk=mara.pk).verified == verified
    assert len(mail.outbox) == mails
    assert AuditEntry.objects.filter(act="verification.approve.refused").exists()


def test_a_withdrawn_request_deletes_the_document_and_one_can_ask_again(make_client, mara, kept):
    ask_with_document(mara)
    client = visit_as(make_client, mara)
    for _ in range(2):
        assert client.post("/settings/verification/withdraw/").status_code == 302
    assert VerificationRequest.objects.get().state == VerificationState.WITHDRAWN
    assert stored_files(kept) == []
    assert status_of(mara).can_request
    ask(mara)


def test_requests_are_limited_per_day(mara):
    for _ in range(3):
        ask(mara)
        withdraw_request(mara)
    with pytest.raises(Refusal, match="RATE_LIMITED"):
        ask(mara)


@pytest.mark.storage
def test_the_document_is_deleted_by_cleanup_some_time_after_the_decision(
    mara, support, kept, settings
):
    request = ask_with_document(mara)
    File.objects.update(created_at="2020-01-01T00:00:00Z")
    assert delete_unused_files() == 0
    approve_verification(support, request_id=request.id)
    assert delete_unused_files() == 0
    settings.FILES = settings.FILES | {"kept_days": 0}
    assert delete_unused_files() == 1
    assert stored_files(kept) == []
    assert VerificationRequest.objects.get().document is None


def test_only_staff_see_the_document_and_each_view_is_recorded(
    make_client, mara, tomas, support, kept
):
    request = ask_with_document(mara)
    for person in (mara, tomas):
        client = visit_as(make_client, person)
        for url in ("/files/{}/", "/portfolio/{}/", "/photos/{}/"):
            assert client.get(url.format(request.document_id)).status_code == 404
        assert client.get(page_of(request, "document"), follow=True).status_code == 403
    assert not AuditEntry.objects.filter(act="verification.document").exists()
    staff = sign_in_staff(support)
    url = f"/admin/people/verificationrequest/{request.id}/document/"
    response = staff.get(url)
    assert response["Content-Type"] == "image/jpeg"
    entry = AuditEntry.objects.get(act="verification.document")
    assert (entry.actor, entry.target) == (support.id, request.id)
    assert view_document(support, request_id=request.id).id == request.document_id


def test_staff_decide_in_the_admin(mara, tomas, support):
    one, two = ask(mara), ask(tomas)
    staff = sign_in_staff(support)
    listed = staff.get("/admin/people/verificationrequest/").content.decode()
    assert mara.display_name in listed
    assert LINK in staff.get(page_of(one)).content.decode()
    decide = "/admin/people/verificationrequest/{}/decide/"
    data = {"decision": "approve", "reason": ""}
    assert staff.post(decide.format(one.id), data).status_code == 302
    assert User.objects.get(pk=mara.pk).verified
    # A decline needs a reason.
    assert staff.post(decide.format(two.id), {"decision": "decline"}).status_code == 302
    assert VerificationRequest.objects.get(pk=two.pk).is_pending
    staff.post(decide.format(two.id), {"decision": "decline", "reason": "No name"})
    assert VerificationRequest.objects.get(pk=two.pk).reason == "No name"


def test_staff_cannot_decide_their_own_request_and_others_cannot_decide(support, mara, tomas):
    own = ask(support)
    with pytest.raises(Refusal, match="VERIFICATION_NOT_FOUND"):
        approve_verification(support, request_id=own.id)
    with pytest.raises(Refusal, match="VERIFICATION_NOT_FOUND"):
        approve_verification(tomas, request_id=ask(mara).id)
    with pytest.raises(Refusal, match="VERIFICATION_NOT_FOUND"):
        approve_verification(support, request_id="ver_00000000000000000000000000")
    assert not User.objects.filter(verified=True).exists()


def test_suspended_users_are_not_verified(mara, support):
    request = ask(mara)
    User.objects.filter(pk=mara.pk).update(is_active=False)
    with pytest.raises(Refusal, match="suspended"):
        approve_verification(support, request_id=request.id)
    assert not User.objects.get(pk=mara.pk).verified


def test_a_mail_that_cannot_be_sent_does_not_undo_the_decision(mara, support, monkeypatch):
    def fail(*args, **options):
        raise OSError("no mail server")

    request = ask(mara)
    monkeypatch.setattr("people.verification.send_mail", fail)
    approve_verification(support, request_id=request.id)
    assert User.objects.get(pk=mara.pk).verified


def test_a_revoked_verification_is_copied_and_can_be_requested_again(mara, support):
    approve_verification(support, request_id=ask(mara).id)
    revoke_verification(mara)
    while process_due():
        pass
    assert not Profile.find(keys.user_pk(mara.id), keys.PROFILE).verified
    assert status_of(mara).can_request
