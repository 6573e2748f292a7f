"""Taking a conversation along, with its files, and all that is one's own."""

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


def opened(export: Export) -> zipfile.ZipFile:
    export.refresh_from_db()
    assert export.state == ExportState.READY
    with get_storage().open(export.path) as kept:
        return zipfile.ZipFile(io.BytesIO(kept.read()))


def export_of(user: User, thread: str = "") -> zipfile.ZipFile:
    asked = request_export(user, thread_id=thread, about="Old times")
    make_all()
    return opened(asked)


def data_of(parcel: zipfile.ZipFile, folder: str = "") -> dict:
    return json.loads(parcel.read(f"{folder}conversation.json"))


# --- What is in it


def test_a_conversation_comes_as_a_page_as_data_and_with_its_files(buyer, seller, thread):
    said = say(seller, thread, "**Yes**, <b>I</b> am & you?")
    file = accept_file(seller, thread_id=thread, name="plan.txt", content=io.BytesIO(b"A plan"))
    with_file = say(seller, thread, "Here", attachments=[file.id], reply_to=said.id)
    set_reaction(buyer, thread_id=thread, message_id=said.id, reaction="👍", on=True)
    parcel = export_of(buyer, thread)
    assert parcel.testzip() is None
    path = f"files/{with_file.seq:06d}-1-plan.txt"
    assert sorted(parcel.namelist()) == sorted(
        ["style.css", "conversation.html", "conversation.json", path]
    )
    assert parcel.read(path) == b"A plan"
    data = data_of(parcel)
    assert data["thread"]["subject"] == "A wedding in May"
    assert [one["name"] for one in data["people"]] == ["Bea", "Sam"]
    assert [one["body"] for one in data["messages"]] == [
        "Are you free in May?",
        "**Yes**, <b>I</b> am & you?",
        "Here",
    ]
    assert data["messages"][1]["reactions"] == {"👍": ["Bea"]}
    assert data["messages"][2]["reply_to"] == said.id
    assert data["messages"][2]["attachments"][0]["path"] == path
    page = parcel.read("conversation.html").decode()
    assert "<strong>Yes</strong>, &lt;b&gt;I&lt;/b&gt; am &amp; you?" in page
    assert f'href="{path}"' in page
    assert "<script" not in page
    assert page.count("<article") == 3


def test_old_messages_are_in_it_like_new_ones(buyer, seller, thread):
    for number in range(30):
        say(seller, thread, f"Line {number}")
    archive_thread(thread, since="2020-01-01", before=datetime.now(UTC) + timedelta(seconds=1))
    say(buyer, thread, "The last")
    bodies = [one["body"] for one in data_of(export_of(buyer, thread))["messages"]]
    assert bodies[1:-1] == [f"Line {number}" for number in range(30)]
    assert bodies[-1] == "The last"


def test_nothing_that_was_removed_or_was_said_before_they_came(buyer, seller, thread, person):
    guest = person("Gus")
    secret = say(seller, thread, "Before Gus came")
    add_friend(buyer, thread_id=thread, user=guest)
    removed = say(seller, thread, "Not what I meant")
    edited = say(seller, thread, "Maibe")
    edit_message(seller, thread_id=thread, message_id=edited.id, body="Maybe")
    remove_message(seller, thread_id=thread, message_id=removed.id)
    parcel = export_of(guest, thread)
    everything = b"".join(parcel.read(name) for name in parcel.namelist()).decode()
    for text in (secret.body, removed.body, "Maibe", "Are you free in May?"):
        assert text not in everything
    data = data_of(parcel)
    assert [one["removed"] for one in data["messages"]] == [False, True, False]
    assert "This message was removed." in everything


def test_explicit_pictures_stay_out_in_safe_mode_and_it_says_so(buyer, seller, thread):
    file = accept_file(seller, thread_id=thread, name="a.txt", content=io.BytesIO(b"Words"))
    type(file).objects.filter(pk=file.pk).update(band=2)
    say(seller, thread, "Here", attachments=[file.id])
    one = data_of(export_of(buyer, thread))["messages"][-1]["attachments"][0]
    assert "safe mode" in one["missing"]
    assert "path" not in one
    User.objects.filter(pk=buyer.pk).update(safe_mode=False)
    lift_safe_mode(buyer, thread_id=thread)
    said = data_of(export_of(buyer, thread))["messages"]
    assert "path" in next(one for one in said if one["body"] == "Here")["attachments"][0]


def test_the_papers_of_a_booking_are_for_its_parties_only(buyer, seller, thread, person):
    leg = book(thread, buyer, seller)
    sign(buyer, leg)
    sign(seller, leg)
    pay(leg, leg.deposit_cents)
    guest = person("Gus")
    add_friend(buyer, thread_id=thread, user=guest)
    names = export_of(buyer, thread).namelist()
    papers = [name for name in names if name.startswith("documents/")]
    assert len(papers) == 2
    assert "panel.json" in names
    contract = next(name for name in papers if "contract" in name)
    assert export_of(buyer, thread).read(contract)[:5] == b"%PDF-"
    theirs = export_of(guest, thread).namelist()
    assert not [name for name in theirs if "documents" in name or "panel" in name]


def test_everything_that_is_theirs(buyer, seller, thread, person):
    other = start(buyer, person("Mia"), subject="A studio / day")
    say(seller, thread, "Yes")
    book(other, buyer, User.objects.get(display_name="Mia", legs_sold=None))
    parcel = export_of(buyer)
    names = parcel.namelist()
    me = json.loads(parcel.read("person.json"))
    assert me["profile"]["email"] == buyer.email
    assert "password" not in json.dumps(me)
    folders = sorted({name.split("/")[1] for name in names if name.startswith("conversations/")})
    assert len(folders) == 2
    index = parcel.read("index.html").decode()
    for folder in folders:
        assert f"conversations/{folder}/conversation.html" in index
        assert data_of(parcel, f"conversations/{folder}/")["messages"]
    assert len(json.loads(parcel.read("bookings.json"))["bookings"]) == 1
    assert [name for name in names if name.startswith("documents/contract-")]


# --- Asking, making, fetching


def test_asking_twice_while_it_is_coming_is_asking_once(buyer, thread):
    first = request_export(buyer, thread_id=thread, about="Old times")
    assert request_export(buyer, thread_id=thread, about="Old times") == first
    make_all()
    assert request_export(buyer, thread_id=thread, about="Old times") != first


def test_nobody_asks_without_end(buyer, thread, monkeypatch):
    monkeypatch.setattr(exports, "MAX_EXPORTS_PER_DAY", 1)
    request_export(buyer, thread_id=thread, about="Old times")
    with pytest.raises(Refusal, match="RATE_LIMITED"):
        request_export(buyer, about="All")


def test_the_person_gets_it_from_their_settings_and_nobody_else_does(buyer, seller, thread):
    mine = signed_in(buyer)
    asked = mine.post(reverse("privacy:export_thread", args=[thread]))
    assert asked["Location"] == reverse("privacy:data")
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


def test_the_link_expires_and_then_the_bytes_go(buyer, thread):
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


def test_who_left_meanwhile_gets_nothing(buyer, seller, thread):
    asked = request_export(buyer, thread_id=thread, about="Old times")
    leave_thread(buyer, thread_id=thread)
    make_all()
    assert not Export.objects.filter(pk=asked.pk).exists()


def test_what_a_server_that_died_had_begun_another_one_makes(buyer, thread):
    asked = request_export(buyer, thread_id=thread, about="Old times")
    begun = claim_export()
    assert begun.pk == asked.pk
    # It writes its bytes, and dies before it says so.
    get_storage().save(begun.path, io.BytesIO(b"half"))
    assert not export_next()
    with time_machine.travel(timezone.now() + timedelta(minutes=6)):
        assert export_next()
    assert opened(asked).testzip() is None
    assert not get_storage().exists(begun.path)
    # And if it was only slow, it finds that it is no longer its own.
    assert not exports.renew_claim(begun)


def test_what_cannot_be_made_is_tried_again_and_then_said(buyer, thread, monkeypatch):
    asked = request_export(buyer, thread_id=thread, about="Old times")

    def fail(*args: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(worker, "write_thread", fail)
    now = timezone.now()
    for attempt in range(1, 5):
        with time_machine.travel(now + attempt * timedelta(minutes=1)):
            make_all()
            asked.refresh_from_db()
            assert asked.is_unfinished == (attempt < 4)
    assert asked.state == ExportState.FAILED
    assert "This export failed" in signed_in(buyer).get(reverse("privacy:data")).text
