"""Files of a case: staff see only its files, each view is recorded, and nothing is deleted."""

import io
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from core.outbox.processing import process_due
from core.refusals import Refusal
from files.actions import accept_file
from files.cleanup import delete_unused_files
from files.models import File
from moderation.actions.cases import resolve_case
from moderation.actions.interventions import take_action
from moderation.models import AuditEntry
from privacy.actions import delete_account
from tests.moderation.conftest import make_staff, report, sign_in, taken
from tests.threads.conftest import say, start, thread_item
from threads.actions.revisions import remove_message

pytestmark = pytest.mark.storage


@pytest.fixture
def sent(thread, seller):
    return _send(seller, thread, b"What was sent")


def _send(sender, thread, content: bytes):
    file = accept_file(sender, thread_id=thread, name="a.txt", content=io.BytesIO(content))
    return file, say(sender, thread, "Look", attachments=[file.id])


def get(staff, case, file):
    address = reverse("admin:moderation_case_file", args=[case.id, file.id])
    return sign_in(staff).get(address)


def recorded_views(case) -> list[str]:
    entries = AuditEntry.objects.filter(case=case.id, act="file.look")
    return list(entries.values_list("target", flat=True))


def test_the_assignee_sees_the_files_and_each_view_is_recorded(
    thread, buyer, seller, support, sent
):
    file, message = sent
    case = taken(support, report(buyer, thread, message.id))
    response = get(support, case, file)
    assert response.content == b"What was sent"
    assert "sandbox" in response["Content-Security-Policy"]
    assert response["Content-Disposition"] == 'attachment; filename="a.txt"'
    assert recorded_views(case) == [file.id]
    # Its author removes the message.
    remove_message(seller, thread_id=thread, message_id=message.id)
    assert get(support, case, file).status_code == 200
    assert recorded_views(case) == [file.id] * 2


def test_other_staff_do_not_see_the_files(thread, buyer, moderator, support, sent):
    file, message = sent
    case = taken(support, report(buyer, thread, message.id))
    superuser = make_staff("Root")
    superuser.is_superuser = True
    superuser.save()
    for other in (moderator, superuser):
        assert get(other, case, file).status_code == 404
    assert recorded_views(case) == []


def test_unreported_files_need_a_reason_and_files_of_other_threads_are_not_found(
    thread, buyer, seller, support, sent
):
    file, _ = sent
    for _ in range(8):
        say(buyer, thread)
    reported = say(seller, thread, "You fool")
    case = taken(support, report(buyer, thread, reported.id))
    elsewhere, _ = _send(seller, start(seller, buyer), b"Elsewhere")
    assert get(support, case, file).status_code == 404
    page = reverse("admin:moderation_case_read", args=[case.id])
    assert sign_in(support).post(page, {"reason": "What led to it"}).status_code == 200
    assert get(support, case, file).status_code == 200
    assert get(support, case, elsewhere).status_code == 404


def test_files_of_a_thread_with_an_open_case_are_not_deleted(
    thread, buyer, seller, moderator, sent
):
    file, message = sent
    case = taken(moderator, report(buyer, thread, message.id))
    remove_message(seller, thread_id=thread, message_id=message.id)
    unsent = accept_file(seller, thread_id=thread, name="b.txt", content=io.BytesIO(b"Unsent"))
    long_ago = timezone.now() - timedelta(days=100)
    File.objects.filter(pk=file.pk).update(released_at=long_ago)
    File.objects.filter(pk=unsent.pk).update(created_at=long_ago)
    delete_unused_files()
    assert File.objects.filter(pk__in=[file.pk, unsent.pk]).count() == 2
    assert get(moderator, case, file).content == b"What was sent"
    resolve_case(moderator, case_id=case.id, reason="A misunderstanding")
    delete_unused_files()
    assert not File.objects.filter(pk__in=[file.pk, unsent.pk]).exists()
    assert get(moderator, case, file).status_code == 404


def test_files_of_an_open_case_outlive_the_account_of_their_sender(
    thread, buyer, seller, moderator, sent
):
    file, message = sent
    case = taken(moderator, report(buyer, thread, message.id))
    remove_message(seller, thread_id=thread, message_id=message.id)
    delete_account(seller)
    while process_due():
        pass
    assert get(moderator, case, file).content == b"What was sent"
    resolve_case(moderator, case_id=case.id, reason="A misunderstanding")
    File.objects.filter(pk=file.pk).update(released_at=timezone.now() - timedelta(days=100))
    delete_unused_files()
    assert not File.objects.filter(pk=file.pk).exists()


def test_during_a_hold_messages_cannot_be_removed_and_the_case_stays_open(
    thread, buyer, seller, moderator, sent
):
    _, message = sent
    case = taken(moderator, report(buyer, thread, message.id))
    take_action(moderator, case_id=case.id, name="thread.hold", reason="We are looking at it")
    with pytest.raises(Refusal, match="SAFETY_SOFT_BLOCK"):
        remove_message(seller, thread_id=thread, message_id=message.id)
    with pytest.raises(Refusal, match="still on hold"):
        resolve_case(moderator, case_id=case.id, reason="Done")
    take_action(moderator, case_id=case.id, name="thread.lift_hold", reason="Looked at")
    assert thread_item(thread).soft_block is None
    resolve_case(moderator, case_id=case.id, reason="Done")
