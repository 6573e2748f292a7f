"""Images in the panel: pinned to the moodboard or shown as proofs, visible to the parties only."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from core.refusals import Refusal
from files.cleanup import delete_unused_files
from files.models import File, TabUse
from projects.actions import pins
from projects.actions.panel import edit_tab
from projects.actions.proofs import MAX_PROOFS, add_proofs, remove_proof
from projects.panel.rebuild import list_differences, rebuild
from tests.files.conftest import bring, kept, picture  # noqa: F401
from tests.test_access import BACKEND
from tests.threads.checker import assert_consistent
from tests.threads.conftest import add_friend, messages_of, start
from threads import cache
from threads.cleanup import reconcile_files
from threads.dynamodb.store import count_requests
from threads.queries import open_thread


def pin(user, thread, file):
    return edit_tab(user, thread_id=thread, tab="moodboard", op="add", version=0, picture=file.id)


def unpin(user, thread, part):
    return edit_tab(user, thread_id=thread, tab="moodboard", op="remove", version=0, part=part)


def items(user, thread):
    return open_thread(user, thread).cached.tabs["moodboard"].snapshot["items"]


def proofs(user, thread):
    return open_thread(user, thread).cached.tabs["files"].snapshot["proofs"]


def get(user, file, query=""):
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get(reverse("threads:file", args=[file.id]) + query).status_code


def days_later(days: int) -> None:
    """Ages stored files, so that the cleanup considers them expired."""
    long_ago = timezone.now() - timedelta(days=days)
    File.objects.update(created_at=long_ago)
    File.objects.exclude(released_at=None).update(released_at=long_ago)
    TabUse.objects.update(created_at=long_ago)


# --- The moodboard


def test_a_pinned_image_is_visible_to_the_parties_only(
    leg, thread, buyer, seller, stranger, delivered
):
    add_friend(buyer, thread_id=thread, user=stranger)
    photo = bring(buyer, thread)
    assert get(seller, photo) == 404
    pin(buyer, thread, photo)
    (item,) = items(seller, thread)
    assert item["picture"]["id"] == photo.id
    assert (item["picture"]["width"], item["by"]) == (640, buyer.id)
    assert [get(user, photo) for user in (buyer, seller, stranger)] == [200, 200, 404]
    (event,) = [e for e in delivered.to(seller, "panel.changed") if photo.id in e["html"]][-1:]
    assert event["tab"] == "moodboard"
    assert_consistent(thread)


def test_an_image_pinned_twice_is_one_pin(leg, thread, buyer):
    photo = bring(buyer, thread)
    assert pin(buyer, thread, photo) == pin(buyer, thread, photo) == 1
    assert len(items(buyer, thread)) == 1


def test_uploads_of_other_users_and_other_files_cannot_be_pinned(leg, thread, buyer, seller):
    buyers_file, text_file = bring(buyer, thread), bring(seller, thread, b"Words", "a.txt")
    elsewhere = bring(seller, start(buyer, seller))
    for file, code in (
        (buyers_file, "UPLOAD_GONE"),
        (text_file, "UPLOAD_TYPE"),
        (elsewhere, "UPLOAD_GONE"),
    ):
        with pytest.raises(Refusal, match=code):
            pin(seller, thread, file)
    assert items(buyer, thread) == []
    assert not TabUse.objects.exists()


def test_an_image_is_deleted_with_its_pin(leg, thread, buyer, seller, kept):  # noqa: F811
    photo = bring(buyer, thread)
    pin(buyer, thread, photo)
    days_later(40)
    assert delete_unused_files() == 0
    unpin(seller, thread, items(buyer, thread)[0]["id"])
    assert get(seller, photo) == 404
    days_later(40)
    assert delete_unused_files() == 1
    assert not [path for path in kept.rglob("*") if path.is_file()]


def test_a_crash_before_the_pin_leaves_nothing_visible_or_stored(leg, thread, buyer, seller):
    photo = bring(buyer, thread)
    pins.reserve_image(buyer, photo.id, thread_id=thread)
    assert get(seller, photo) == 404
    days_later(1)
    assert reconcile_files() == 1
    assert not TabUse.objects.exists()


def test_a_crash_after_the_pin_is_repaired_by_a_request_or_the_cleanup(leg, thread, buyer, seller):
    photo, other = bring(buyer, thread), bring(buyer, thread, picture(size=(64, 64)))
    for file in (photo, other):
        pin(buyer, thread, file)
    TabUse.objects.update(settled_at=None)
    assert get(seller, photo) == 200
    days_later(1)
    assert reconcile_files() == 1
    assert TabUse.objects.filter(settled_at=None).count() == 0
    assert get(seller, other) == 200


def test_a_crash_while_a_pin_is_removed_is_repaired_too(leg, thread, buyer, seller):
    photo = bring(buyer, thread)
    pin(buyer, thread, photo)
    part = items(buyer, thread)[0]["id"]
    pins.prepare_removal(part, thread_id=thread)
    assert get(seller, photo) == 200
    pins.prepare_removal(part, thread_id=thread)
    edit_tab_only(buyer, thread, part)
    assert get(seller, photo) == 404
    days_later(1)
    reconcile_files()
    assert File.objects.get(pk=photo.pk).released_at


def edit_tab_only(user, thread, part):
    """Removes the pin from the table only, as a crash before the SQL write does."""
    from projects.actions.panel import _write
    from projects.panel.editable_tabs import Edit
    from threads.sending.revision import now

    _write(user, Edit("moodboard", "remove", 0, user.id, now(), part), thread)


def test_safe_mode_applies_to_pins(leg, thread, buyer, seller):
    photo = bring(buyer, thread)
    File.objects.update(band=2)
    pin(buyer, thread, photo)
    assert items(buyer, thread)[0]["picture"]["band"] == 2
    assert get(seller, photo) == 403


def test_a_shot_shows_its_pin_until_the_pin_is_removed(leg, thread, buyer, seller, delivered):
    photo = bring(buyer, thread)
    pin(buyer, thread, photo)
    edit_tab(buyer, thread_id=thread, tab="shotlist", op="add", version=0, text="The door")
    shot = open_thread(buyer, thread).cached.tabs["shotlist"].snapshot["items"][0]["id"]
    part = items(buyer, thread)[0]["id"]
    edit_tab(
        seller, thread_id=thread, tab="shotlist", op="edit", version=1,
        part=shot, name="pin", text=part,
    )  # fmt: skip
    assert photo.id in delivered.to(buyer, "panel.changed")[-1]["html"]
    unpin(buyer, thread, part)
    html_by_tab = {e["tab"]: e["html"] for e in delivered.to(seller, "panel.changed")[-2:]}
    assert set(html_by_tab) == {"moodboard", "shotlist"}
    assert not any(photo.id in html for html in html_by_tab.values())


# --- Proofs


def test_proofs_are_recorded_published_and_visible_to_the_parties(
    leg, thread, buyer, seller, stranger, delivered
):
    add_friend(buyer, thread_id=thread, user=stranger)
    files = [bring(seller, thread), bring(seller, thread, picture(size=(90, 90)))]
    add_proofs(seller, thread_id=thread, file_ids=[file.id for file in files])
    assert [each["id"] for each in proofs(buyer, thread)] == [file.id for file in files]
    assert messages_of(thread)[-1].body == "Sam added 2 proofs to the files."
    assert [get(user, files[0]) for user in (buyer, seller, stranger)] == [200, 200, 404]
    assert files[1].id in delivered.to(buyer, "panel.changed")[-1]["html"]
    lines = len(messages_of(thread))
    add_proofs(seller, thread_id=thread, file_ids=[files[0].id])
    assert len(messages_of(thread)) == lines
    assert_consistent(thread)


def test_proofs_are_images_shown_by_the_seller(leg, thread, buyer, seller, stranger):
    buyers_file, text_file = bring(buyer, thread), bring(seller, thread, b"Words", "a.txt")
    for user, file, code in (
        (buyer, buyers_file, "ACTION_FORBIDDEN"),
        (seller, buyers_file, "UPLOAD_GONE"),
        (seller, text_file, "UPLOAD_TYPE"),
        (stranger, buyers_file, "THREAD_NOT_FOUND"),
    ):
        with pytest.raises(Refusal, match=code):
            add_proofs(user, thread_id=thread, file_ids=[file.id])
    assert proofs(buyer, thread) == []


def test_a_proof_is_removed_when_its_uploader_withdraws_it(leg, thread, buyer, seller):
    photo = bring(seller, thread)
    add_proofs(seller, thread_id=thread, file_ids=[photo.id])
    with pytest.raises(Refusal, match="ACTION_FORBIDDEN"):
        remove_proof(buyer, thread_id=thread, file_id=photo.id)
    for _ in ("once", "again"):
        remove_proof(seller, thread_id=thread, file_id=photo.id)
        assert proofs(buyer, thread) == []
    assert get(buyer, photo) == 404
    assert File.objects.get(pk=photo.pk).released_at


@pytest.mark.storage
def test_the_number_of_proofs_is_limited_and_none_is_stored_beyond(leg, thread, buyer, seller):
    one = bring(seller, thread)
    File.objects.bulk_create(
        File(owner=seller, thread_id=thread, kind="image", state="ready", name=f"{n}.jpg")
        for n in range(MAX_PROOFS)
    )
    ids = list(File.objects.exclude(pk=one.pk).values_list("pk", flat=True))
    add_proofs(seller, thread_id=thread, file_ids=ids)
    with pytest.raises(Refusal, match="PANEL_INVALID"):
        add_proofs(seller, thread_id=thread, file_ids=[one.id])
    assert len(proofs(buyer, thread)) == MAX_PROOFS
    assert list(list_differences(thread)) == []


@pytest.mark.storage
def test_rebuilt_pins_and_proofs_are_the_same(leg, thread, buyer, seller):
    pin(buyer, thread, bring(buyer, thread))
    photo = bring(seller, thread)
    add_proofs(seller, thread_id=thread, file_ids=[photo.id])
    before = items(buyer, thread), proofs(buyer, thread)
    assert rebuild(thread)
    assert (items(buyer, thread), proofs(buyer, thread)) == before
    assert list(list_differences(thread)) == []


def test_serving_a_pinned_image_costs_as_much_as_any_file(leg, thread, buyer, seller):
    photo = bring(buyer, thread)
    pin(buyer, thread, photo)
    from threads.file_access import access_file

    with count_requests() as requests, CaptureQueriesContext(connection) as sql:
        access_file(seller, photo.id)
    assert (requests, len(sql)) == (["BatchGetItem"], 2)
    cache.invalidate(thread)
    with count_requests() as requests, CaptureQueriesContext(connection) as sql:
        open_thread(seller, thread)
    assert (requests, len(sql)) == (["Query"], 0)


def test_links_and_images_can_be_pinned_side_by_side(leg, thread, buyer, seller, delivered):
    pin(buyer, thread, bring(buyer, thread))
    link = "https://light.example/door"
    edit_tab(seller, thread_id=thread, tab="moodboard", op="add", version=0, text=link)
    published_html = [
        e["html"] for e in delivered.to(buyer, "panel.changed") if e["tab"] == "moodboard"
    ]
    assert 'aria-label="Caption for light.example"' in published_html[-1]
    assert 'aria-label="Caption for a.jpg"' in published_html[-1]
