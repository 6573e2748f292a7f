"""Sending files: order, idempotency, cost, access and deletion."""

import io
from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from core.refusals import Refusal
from files.cleanup import delete_unused_files
from files.models import File, FileUse
from tests.files.conftest import bring, kept, picture  # noqa: F401
from tests.test_access import BACKEND
from tests.threads.conftest import add_friend, messages_of, row, say, start, thread_item
from threads import cache
from threads.actions.messages import OutgoingMessage, send_batch, send_message
from threads.actions.participants import leave_thread
from threads.actions.revisions import edit_message, remove_message
from threads.cleanup import reconcile_files
from threads.dynamodb.store import count_requests
from threads.queries import open_thread
from threads.rendering.messages import render_message

pytestmark = pytest.mark.storage


def send(sender, thread, *files, body="", client_id=None, links=()):
    return send_message(
        sender,
        thread_id=thread,
        client_id=client_id or str(uuid4()),
        body=body,
        attachments=[file.id for file in files],
        links=links,
    )


def get(user, file, query="", **headers):
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get(reverse("threads:file", args=[file.id]) + query, headers=headers)


def test_a_message_has_its_files_in_order(buyer, thread, delivered):
    first, second = bring(buyer, thread), bring(buyer, thread, b"Words", "notes.txt")
    sent = send(buyer, thread, second, first, body="Look")
    stored = messages_of(thread)[-1]
    assert stored.type == "asset"
    assert [one["id"] for one in stored.attachments] == [second.id, first.id]
    assert stored.attachments[1] == {
        "kind": "image",
        "id": first.id,
        "name": "a.jpg",
        "type": "image/jpeg",
        "size": first.size,
        "width": 640,
        "height": 480,
        "band": 0,
    }
    (event,) = delivered.to(buyer, "message.sent")
    assert event["attachments"] == stored.attachments
    assert FileUse.objects.filter(message_id=sent.id).count() == 2


@pytest.mark.parametrize(
    ("kinds", "body", "text"),
    [
        ("p", "", "Photo"),
        ("pp", "", "2 photos"),
        ("t", "", "File"),
        ("pt", "", "2 files"),
        ("p", "The *second* one", "Photo · The second one"),
        ("l", "", "Link"),
    ],
)
def test_an_inbox_preview_shows_the_kind_of_a_file_and_not_its_name(
    buyer, seller, thread, kinds, body, text
):
    made = {
        "p": lambda: bring(buyer, thread),
        "t": lambda: bring(buyer, thread, b"W", "secret.txt"),
    }
    files = [made[kind]() for kind in kinds if kind in made]
    links = (
        [{"url": "https://video.example/1", "title": "The walk-through"}] if "l" in kinds else []
    )
    sent = send(buyer, thread, *files, body=body, links=links)
    assert row(thread, seller).last_message["text"] == text
    if body:
        edit_message(buyer, thread_id=thread, message_id=sent.id, body="The third")
        assert row(thread, seller).last_message["text"] == "Photo · The third"


def test_files_cost_no_more_requests_than_text(buyer, thread):
    file = bring(buyer, thread)
    say(buyer, thread)
    with count_requests() as text:
        say(buyer, thread)
    with count_requests() as pictures:
        send(buyer, thread, file)
    assert list(pictures) == list(text) == ["TransactWriteItems"]


def test_a_message_with_files_keeps_its_place_in_a_batch(buyer, thread):
    file = bring(buyer, thread)
    say(buyer, thread)
    batch = [
        OutgoingMessage(buyer, thread, str(uuid4()), "Before"),
        OutgoingMessage(buyer, thread, str(uuid4()), "With it", attachments=[file.id]),
        OutgoingMessage(buyer, thread, str(uuid4()), "After"),
    ]
    send_batch(batch)
    for outgoing in batch:
        if not outgoing.is_done:
            outgoing.run()
    assert [one.body for one in messages_of(thread)[-3:]] == ["Before", "With it", "After"]
    assert FileUse.objects.get().message_id == messages_of(thread)[-2].id


def test_opening_fifty_images_costs_one_query(buyer, thread):
    file = bring(buyer, thread)
    for _ in range(50):
        send(buyer, thread, file)
    cache.invalidate(thread)
    with count_requests() as requests:
        opened = open_thread(buyer, thread)
        html = [render_message(message, opened.cached) for message in opened.messages]
    assert list(requests) == ["Query"]
    assert sum(part.count(f"/files/{file.id}/?size=thumb") for part in html) == 50


def test_a_repeated_send_with_files_is_idempotent(buyer, thread):
    file, client_id = bring(buyer, thread), str(uuid4())
    first = send(buyer, thread, file, client_id=client_id)
    again = send(buyer, thread, file, client_id=client_id)
    # The file is uploaded again because the answer was lost; equal content is the same message.
    uploaded_again = send(buyer, thread, bring(buyer, thread), client_id=client_id)
    assert first.id == again.id == uploaded_again.id
    assert len(messages_of(thread)) == 2
    with pytest.raises(Refusal, match="CLIENT_ID_REUSED"):
        send(buyer, thread, bring(buyer, thread, picture(size=(9, 9))), client_id=client_id)


def test_files_of_other_users_or_threads_cannot_be_sent(buyer, seller, stranger, thread):
    file, other_thread = bring(buyer, thread), start(buyer, stranger)
    for sender, where in ((seller, thread), (buyer, other_thread)):
        with pytest.raises(Refusal, match="UPLOAD_GONE"):
            send(sender, where, file)
    File.objects.filter(pk=file.pk).update(state=File.State.QUARANTINED)
    with pytest.raises(Refusal, match="UPLOAD_QUARANTINED"):
        send(buyer, thread, file)
    assert len(messages_of(thread)) == 1


def test_an_empty_message_is_still_refused(buyer, thread):
    with pytest.raises(Refusal, match="MSG_EMPTY"):
        send(buyer, thread)


# --- Downloads


def test_files_are_served_with_headers_that_prevent_execution(buyer, seller, thread):
    photo, text = bring(buyer, thread), bring(buyer, thread, b"Words", 'a"b.txt')
    send(buyer, thread, photo, text)
    response = get(seller, photo)
    assert response.status_code == 200
    assert response["Content-Type"] == "image/jpeg"
    assert response["Content-Disposition"].startswith("inline")
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["Cross-Origin-Resource-Policy"] == "same-origin"
    assert response["Cache-Control"] == "private, no-cache"
    assert get(seller, photo, "?download=1")["Content-Disposition"].startswith("attachment")
    served = get(seller, text)
    assert served["Content-Type"] == "text/plain; charset=utf-8"
    assert served["Content-Disposition"].startswith("attachment")
    assert served.content == b"Words"


def test_not_modified_is_answered_only_after_the_permission_check(buyer, seller, thread):
    photo = bring(buyer, thread)
    send(buyer, thread, photo)
    etag = get(seller, photo)["ETag"]
    assert get(seller, photo, **{"If-None-Match": etag}).status_code == 304
    leave_thread(seller, thread_id=thread)
    assert get(seller, photo, **{"If-None-Match": etag}).status_code == 404


def test_a_file_url_works_only_for_participants(buyer, seller, stranger, thread):
    photo = bring(buyer, thread)
    assert get(buyer, photo).status_code == 200
    assert get(seller, photo).status_code == 404
    send(buyer, thread, photo)
    assert get(seller, photo).status_code == 200
    assert get(stranger, photo).status_code == 404
    assert Client().get(reverse("threads:file", args=[photo.id])).status_code == 302
    leave_thread(buyer, thread_id=thread)
    assert get(buyer, photo).status_code == 404


def test_a_forbidden_file_costs_the_same_as_a_missing_one(
    buyer, stranger, thread, django_assert_num_queries
):
    photo = bring(buyer, thread)
    send(buyer, thread, photo)
    missing = File(id="file_01JZZZZZZZZZZZZZZZZZZZZZZZ")
    bodies = []
    for file in (photo, missing):
        client = Client()
        client.force_login(stranger, backend=BACKEND)
        url = reverse("threads:file", args=[file.id])
        with count_requests() as requests, django_assert_num_queries(3):
            response = client.get(url)
        assert (response.status_code, list(requests)) == (404, ["BatchGetItem"])
        bodies.append(len(response.content))
    assert bodies[0] == bodies[1]


def test_a_new_participant_cannot_access_earlier_files(buyer, seller, stranger, thread):
    photo = bring(buyer, thread)
    send(buyer, thread, photo)
    add_friend(buyer, thread_id=thread, user=stranger)
    assert get(stranger, photo).status_code == 404
    send(buyer, thread, photo)
    assert get(stranger, photo).status_code == 200


# --- Safe mode


@pytest.mark.parametrize("whose", ["thread", "person"])
def test_safe_mode_applies_to_image_downloads(buyer, seller, thread, whose):
    photo = bring(buyer, thread, picture(size=(900, 600)))
    File.objects.filter(pk=photo.pk).update(band=1)
    send(buyer, thread, photo)
    item = thread_item(thread)
    item.safe_mode_required = whose == "thread"
    item.save()
    seller.safe_mode = whose == "person"
    seller.save()
    blurred, shown = get(seller, photo).content, get(seller, photo, "?show=1").content
    assert len(blurred) < 2000 < len(shown)
    assert get(seller, photo, "?download=1").content == blurred
    File.objects.filter(pk=photo.pk).update(band=2)
    for query in ("", "?show=1", "?size=thumb", "?download=1&show=1"):
        response = get(seller, photo, query, Accept="application/json")
        assert (response.status_code, response.json()["code"]) == (403, "MSG_NSFW_BLOCKED")
    item.safe_mode_required = seller.safe_mode = False
    item.save()
    seller.save()
    assert get(seller, photo).content == shown


# --- Deletion


def test_a_file_is_deleted_after_its_last_message(buyer, seller, thread, kept):  # noqa: F811
    photo = bring(buyer, thread)
    first, second = send(buyer, thread, photo), send(buyer, thread, photo)
    remove_message(buyer, thread_id=thread, message_id=first.id)
    assert get(seller, photo).status_code == 200
    remove_message(buyer, thread_id=thread, message_id=second.id)
    assert get(seller, photo).status_code == get(buyer, photo).status_code == 404
    # Staff can access it until the retention period ends.
    assert delete_unused_files() == 0
    age(photo, released_at=31)
    assert delete_unused_files() == 1
    assert not File.objects.filter(pk=photo.pk).exists()
    assert [path for path in kept.rglob("*") if path.is_file()] == []


def test_files_that_were_never_sent_are_deleted(buyer, thread):
    unsent, sent, quarantined = (bring(buyer, thread) for _ in range(3))
    send(buyer, thread, sent)
    File.objects.filter(pk=quarantined.pk).update(state=File.State.QUARANTINED)
    assert delete_unused_files() == 0
    age(quarantined, created_at=1)
    age(unsent, created_at=32)
    age(sent, created_at=32)
    assert delete_unused_files() == 2
    assert File.objects.get() == sent


def test_a_crash_between_the_stores_is_repaired_by_the_next_access(
    buyer, seller, thread, monkeypatch
):
    """The message was stored, and the process died before it recorded the file's message."""
    photo, other = bring(buyer, thread), bring(buyer, thread)
    monkeypatch.setattr("threads.actions.attachments.bind_files", lambda *a, **k: None)
    sent, too = send(buyer, thread, photo), send(buyer, thread, other)
    assert FileUse.objects.filter(message_id="").count() == 2
    assert get(seller, photo).status_code == 200
    FileUse.objects.update(created_at=timezone.now() - timedelta(hours=2))
    assert reconcile_files() == 1
    bound = FileUse.objects.order_by("id").values_list("message_id", flat=True)
    assert list(bound) == [sent.id, too.id]


def test_a_message_that_was_never_stored_keeps_no_file(buyer, seller, thread):
    photo = bring(buyer, thread)
    leave_thread(buyer, thread_id=thread)
    with pytest.raises(Refusal, match="THREAD_NOT_FOUND"):
        send(buyer, thread, photo)
    FileUse.objects.update(created_at=timezone.now() - timedelta(hours=2))
    reconcile_files()
    assert not FileUse.objects.exists()


def age(file, **days):
    then = {name: timezone.now() - timedelta(days=count) for name, count in days.items()}
    File.objects.filter(pk=file.pk).update(**then)


# --- Upload by form


def test_files_are_uploaded_by_the_form_without_javascript(buyer, thread):
    client = Client()
    client.force_login(buyer, backend=BACKEND)
    good, bad = io.BytesIO(picture()), io.BytesIO(b"<html>")
    good.name, bad.name = "a.jpg", "b.jpg"
    fields = {"client_id": str(uuid4()), "body": "", "seen_seq": 0}
    url = reverse("threads:messages", args=[thread])
    assert client.post(url, fields | {"files": [good]}).status_code == 302
    good.seek(0)
    # A form that is submitted twice sends one message.
    assert client.post(url, fields | {"files": [good]}).status_code == 302
    assert [one.type for one in messages_of(thread)] == ["text", "asset"]
    good.seek(0)
    fields = fields | {"client_id": str(uuid4()), "body": "Both"}
    refused = client.post(url, fields | {"files": [good, bad]})
    assert refused.status_code == 415
    assert "b.jpg" in refused.content.decode()
    assert "Both" in refused.content.decode()
    assert len(messages_of(thread)) == 2
