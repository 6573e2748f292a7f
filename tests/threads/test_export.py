"""Data export: one conversation with its files, or all data of a user."""

import io
import json
import zipfile
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from core.refusals import Refusal
from files import exports
from files.actions import accept_file
from files.exports import claim_export, delete_expired_exports, request_export
from files.models import Export, ExportState
from files.storage import get_storage
from privacy.export import worker
from privacy.export.worker import export_next
from tests.contracts.conftest import book, pay, sign
from tests.threads.conftest import add_friend, say, start
from threads.actions.participants import leave_thread
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.actions.safe_mode import lift_safe_mode
from threads.archive.archiver import archive_thread

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
pytestmark = pytest.mark.django_db


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


def make_all() -> None:
    while export_next():
        pass


def open_archive(export: Export) -> zipfile.ZipFile:
    export.refresh_from_db()
    assert export.state == ExportState.READY
    with get_storage().open(export.path) as kept:
        return zipfile.ZipFile(io.BytesIO(kept.read()))


def export_of(user: User, thread: str = "") -> zipfile.ZipFile:
    requested = request_export(user, thread_id=thread, about="Old times")
    make_all()
    return open_archive(requested)


def data_of(archive: zipfile.ZipFile, folder: str = "") -> dict:
    return json.loads(archive.read(f"{folder}conversation.json"))


# --- Contents


def test_an_export_has_a_page_data_and_files(buyer, seller, thread):
    sent = say(seller, thread, "**Yes**, <b>I</b> am & you?")
    file = accept_file(seller, thread_id=thread, name="plan.txt", content=io.BytesIO(b"A plan"))
    with_file = say(seller, thread, "Here", attachments=[file.id], reply_to=sent.id)
    set_reaction(buyer, thread_id=thread, message_id=sent.id, reaction="👍", on=True)
    archive = export_of(buyer, thread)
    assert archive.testzip() is None
    path = f"files/{with_file.seq:06d}-1-plan.txt"
    assert sorted(archive.namelist()) == sorted(
        ["style.css", "conversation.html", "conversation.json", path]
    )
    assert archive.read(path) == b"A plan"
    data = data_of(archive)
    assert data["thread"]["subject"] == "A wedding in May"
    assert [one["name"] for one in data["people"]] == ["Bea", "Sam"]
    assert [one["body"] for one in data["messages"]] == [
        "Are you free in May?",
        "**Yes**, <b>I</b> am & you?",
        "Here",
    ]
    assert data["messages"][1]["reactions"] == {"👍": ["Bea"]}
    assert data["messages"][2]["reply_to"] == sent.id
    assert data["messages"][2]["attachments"][0]["path"] == path
    page = archive.read("conversation.html").decode()
    assert "<strong>Yes</strong>, &lt;b&gt;I&lt;/b&gt; am &amp; you?" in page
    assert f'href="{path}"' in page
    assert "<script" not in page
    assert page.count("<article") == 3


def test_archived_messages_are_exported(buyer, seller, thread):
    for number in range(30):
        say(seller, thread, f"Line {number}")
    archive_thread(thread, since="2020-01-01", before=datetime.now(UTC) + timedelta(seconds=1))
    say(buyer, thread, "The last")
    bodies = [one["body"] for one in data_of(export_of(buyer, thread))["messages"]]
    assert bodies[1:-1] == [f"Line {number}" for number in range(30)]
    assert bodies[-1] == "The last"


def test_removed_and_earlier_messages_are_not_exported(buyer, seller, thread, person):
    guest = person("Gus")
    secret = say(seller, thread, "Before Gus came")
    add_friend(buyer, thread_id=thread, user=guest)
    removed = say(seller, thread, "Not what I meant")
    edited = say(seller, thread, "Maibe")
    edit_message(seller, thread_id=thread, message_id=edited.id, body="Maybe")
    remove_message(seller, thread_id=thread, message_id=removed.id)
    archive = export_of(guest, thread)
    everything = b"".join(archive.read(name) for name in archive.namelist()).decode()
    for text in (secret.body, removed.body, "Maibe", "Are you free in May?"):
        assert text not in everything
    data = data_of(archive)
    assert [one["removed"] for one in data["messages"]] == [False, True, False]
    assert "This message was removed." in everything


def test_safe_mode_omits_explicit_images_with_a_note(buyer, seller, thread):
    file = accept_file(seller, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))
    type(file).objects.filter(pk=file.pk).update(band=2)
    say(seller, thread, "Here", attachments=[file.id])
    one = data_of(export_of(buyer, thread))["messages"][-1]["attachments"][0]
    assert "safe mode" in one["missing"]
    assert "path" not in one
    User.objects.filter(pk=buyer.pk).update(safe_mode=False)
    lift_safe_mode(buyer, thread_id=thread)
    sent = data_of(export_of(buyer, thread))["messages"]
    assert "path" in next(one for one in sent if one["body"] == "Here")["attachments"][0]


def test_booking_documents_are_exported_for_its_parties_only(buyer, seller, thread, person):
    leg = book(thread, buyer, seller)
    sign(buyer, leg)
    sign(seller, leg)
    pay(leg, leg.deposit_cents)
    guest = person("Gus")
    add_friend(buyer, thread_id=thread, user=guest)
    names = export_of(buyer, thread).namelist()
    documents = [name for name in names if name.startswith("documents/")]
    assert sorted(name.split("/")[1].split("-")[0] for name in documents) == [
        "contract",
        "receipt",
        "statement",
    ]
    assert "panel.json" in names
    contract = next(name for name in documents if "contract" in name)
    assert export_of(buyer, thread).read(contract)[:5] == b"%PDF-"
    theirs = export_of(guest, thread).namelist()
    assert not [name for name in theirs if "documents" in name or "panel" in name]


def test_a_full_export_has_all_data_of_a_user(buyer, seller, thread, person):
    other = start(buyer, person("Mia"), subject="A studio / day")
    say(seller, thread, "Yes")
    book(other, buyer, User.objects.get(display_name="Mia", legs_sold=None))
    archive = export_of(buyer)
    names = archive.namelist()
    me = json.loads(archive.read("person.json"))
    assert me["profile"]["email"] == buyer.email
    assert "password" not in json.dumps(me)
    folders = sorted({name.split("/")[1] for name in names if name.startswith("conversations/")})
    assert len(folders) == 2
    index = archive.read("index.html").decode()
    for folder in folders:
        assert f"conversations/{folder}/conversation.html" in index
        assert data_of(archive, f"conversations/{folder}/")["messages"]
    assert len(json.loads(archive.read("bookings.json"))["bookings"]) == 1
    assert [name for name in names if name.startswith("documents/contract-")]


# --- Request, creation and download


def test_a_repeated_request_returns_the_unfinished_export(buyer, thread):
    first = request_export(buyer, thread_id=thread, about="Old times")
    assert request_export(buyer, thread_id=thread, about="Old times") == first
    make_all()
    assert request_export(buyer, thread_id=thread, about="Old times") != first


def test_the_number_of_exports_per_day_is_limited(buyer, thread, monkeypatch):
    monkeypatch.setattr(exports, "MAX_EXPORTS_PER_DAY", 1)
    request_export(buyer, thread_id=thread, about="Old times")
    with pytest.raises(Refusal, match="RATE_LIMITED"):
        request_export(buyer, about="All")


def test_only_the_owner_can_download_an_export(buyer, seller, thread):
    mine = signed_in(buyer)
    requested = mine.post(reverse("privacy:export_thread", args=[thread]))
    assert requested["Location"] == reverse("privacy:data")
    assert "In progress" in mine.get(reverse("privacy:data")).text
    make_all()
    export = Export.objects.get(owner=buyer)
    url = reverse("privacy:export", args=[export.id])
    assert url in mine.get(reverse("privacy:data")).text
    answer = mine.get(url)
    assert answer["Content-Disposition"] == 'attachment; filename="parley-a-wedding-in-may.zip"'
    content = b"".join(answer)
    assert len(content) == export.size == int(answer["Content-Length"])
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
    assert signed_in(seller).get(url).status_code == 404
    assert Client().get(url).status_code == 302
    assert [letter.to for letter in mail.outbox] == [[buyer.email]]


def test_the_link_expires_and_then_the_file_is_deleted(buyer, thread):
    export_of(buyer, thread)
    export = Export.objects.get(owner=buyer)
    mine = signed_in(buyer)
    url = reverse("privacy:export", args=[export.id])
    with time_machine.travel(timezone.now() + timedelta(days=6, hours=23), tick=False):
        assert mine.get(url).status_code == 200
        delete_expired_exports()
    with time_machine.travel(timezone.now() + timedelta(days=7, minutes=1), tick=False):
        assert mine.get(url).status_code == 404
        assert get_storage().exists(export.path)
        delete_expired_exports()
    assert not get_storage().exists(export.path)
    assert not Export.objects.filter(pk=export.pk).exists()


def test_a_user_who_left_meanwhile_gets_no_export(buyer, seller, thread):
    requested = request_export(buyer, thread_id=thread, about="Old times")
    leave_thread(buyer, thread_id=thread)
    make_all()
    assert not Export.objects.filter(pk=requested.pk).exists()


def test_another_server_finishes_the_export_of_a_dead_one(buyer, thread):
    requested = request_export(buyer, thread_id=thread, about="Old times")
    claimed = claim_export()
    assert claimed.pk == requested.pk
    # The first server writes part of the file and dies before it records the result.
    get_storage().save(claimed.path, io.BytesIO(b"half"))
    assert not export_next()
    with time_machine.travel(timezone.now() + timedelta(minutes=6)):
        assert export_next()
    assert open_archive(requested).testzip() is None
    assert not get_storage().exists(claimed.path)
    # A slow first server finds that its claim was lost.
    assert not exports.renew_claim(claimed)


def test_a_failing_export_is_retried_and_then_reported(buyer, thread, monkeypatch):
    requested = request_export(buyer, thread_id=thread, about="Old times")

    def fail(*args: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(worker, "write_thread", fail)
    now = timezone.now()
    for attempt in range(1, 5):
        with time_machine.travel(now + attempt * timedelta(minutes=1)):
            make_all()
            requested.refresh_from_db()
            assert requested.is_unfinished == (attempt < 4)
    assert requested.state == ExportState.FAILED
    assert "This export failed" in signed_in(buyer).get(reverse("privacy:data")).text
