"""An archive that fails, hangs or is the wrong one: pages show the rest, and nothing is lost."""

import threading
from pathlib import Path

import pytest
from django.core.files.storage import FileSystemStorage, storages
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from core.refusals import Refusal
from moderation.evidence import snapshots
from realtime.sockets.sync import open_and_sync
from tests.threads.conftest import messages_of, say
from tests.threads.test_archive import archive, objects_of, stored, write_old_thread
from tests.threads.test_deletion import BACKEND
from threads.actions.revisions import remove_message
from threads.archive import location
from threads.dynamodb import keys
from threads.dynamodb.store import StoreUnavailable
from threads.models import ArchiveLocation, packs
from threads.queries import open_thread

PLACEHOLDER = "This older message can't be loaded right now."


@pytest.fixture
def old_thread(buyer, seller) -> str:
    """A thread with ten archived messages and a new one."""
    thread = write_old_thread(buyer, seller, 10)
    archive(thread)
    say(seller, thread, "Good morning")
    packs.clear_cache()
    yield thread
    packs.clear_cache()


@pytest.fixture
def broken(monkeypatch):
    monkeypatch.setattr(storages["archive"], "_open", fail)


def fail(name, mode="rb"):
    raise OSError("the storage is unavailable")


@pytest.fixture
def hanging(monkeypatch, settings):
    """Storage that never answers; yields the names of the requested objects."""
    settings.ARCHIVE_TIMEOUT = 0.3
    monkeypatch.setattr("threads.models.archive_reads.RETRY_SECONDS", 600.0)
    requested, released = [], threading.Event()

    def hang(name, mode="rb"):
        requested.append(name)
        released.wait()
        raise OSError("the storage is unavailable")

    monkeypatch.setattr(storages["archive"], "_open", hang)
    yield requested
    released.set()


def visit(user, url, **headers):
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client.get(url, headers=headers)


def page_of(user, thread):
    return visit(user, reverse("threads:thread", args=[thread]))


def test_a_page_shows_placeholders_for_archived_messages_during_an_outage(
    buyer, old_thread, broken
):
    page = page_of(buyer, old_thread)
    assert page.status_code == 200
    assert page.text.count(PLACEHOLDER) == 10
    assert "Good morning" in page.text
    assert "Some older messages can't be loaded right now." in page.text
    assert "no-store" in page["Cache-Control"]


def test_an_archive_that_hangs_delays_a_page_once(buyer, old_thread, hanging):
    assert page_of(buyer, old_thread).text.count(PLACEHOLDER) == 10
    assert page_of(buyer, old_thread).text.count(PLACEHOLDER) == 10
    # Ten messages on two pages cause one request: the archive is not used after its first timeout.
    assert len(hanging) == 1


def test_placeholders_load_after_the_outage(buyer, old_thread, monkeypatch):
    with monkeypatch.context() as outage:
        outage.setattr(storages["archive"], "_open", fail)
        assert PLACEHOLDER in page_of(buyer, old_thread).text
    packs.clear_cache()
    fourth = messages_of(old_thread)[3]
    url = reverse("threads:messages", args=[old_thread]) + f"?at={fourth.id}"
    fragment = visit(buyer, url, **{"X-Fragment": "1"})
    assert fragment.status_code == 200
    assert "Message number 3" in fragment.text
    assert PLACEHOLDER not in fragment.text
    assert PLACEHOLDER not in page_of(buyer, old_thread).text


def test_only_participants_load_the_fragment_around_a_message(stranger, old_thread):
    url = reverse("threads:messages", args=[old_thread]) + f"?at={stored(old_thread)[3].id}"
    assert visit(stranger, url).status_code == 404


def test_the_archive_is_retried_after_a_while(buyer, old_thread, monkeypatch):
    monkeypatch.setattr("threads.models.archive_reads.RETRY_SECONDS", 0.0)
    with monkeypatch.context() as outage:
        outage.setattr(storages["archive"], "_open", fail)
        assert PLACEHOLDER in page_of(buyer, old_thread).text
    assert PLACEHOLDER not in page_of(buyer, old_thread).text


def test_sockets_receive_placeholders(buyer, old_thread, broken):
    synced = open_and_sync(buyer, thread_id=old_thread, after=None, oldest=None, rev=None)[0]
    shown = "".join(message["html"] for message in synced["messages"])
    assert shown.count(PLACEHOLDER) == 10
    assert "Good morning" in shown


def test_other_actions_are_refused_with_try_again(buyer, old_thread, broken):
    message = stored(old_thread)[2]
    assert message.author_id == buyer.id
    with pytest.raises(StoreUnavailable):
        open_thread(buyer, old_thread)
    with pytest.raises(Refusal, match="TRY_AGAIN"):
        snapshots.collect_evidence(buyer, old_thread, message.id)
    with pytest.raises(Refusal, match="TRY_AGAIN"):
        remove_message(buyer, thread_id=old_thread, message_id=message.id)
    assert stored(old_thread)[2].archive_ref


# --- Wrong archive


@pytest.fixture
def other_storage(tmp_path, monkeypatch) -> Path:
    """Simulates a command that runs without the setting that names the archive."""
    storage = FileSystemStorage(location=tmp_path / "archive")
    monkeypatch.setitem(storages._storages, "archive", storage)
    monkeypatch.setattr(location, "_checked", [])
    return tmp_path / "archive"


def test_the_first_run_records_where_it_archives(buyer, seller):
    archive(write_old_thread(buyer, seller, 3))
    recorded = ArchiveLocation.find(keys.ARCHIVING, keys.LOCATION)
    marker = Path(storages["archive"].location) / location.MARKER
    assert recorded.archive_id == marker.read_text()
    assert recorded.described == f"the folder {storages['archive'].location}"


def test_a_run_with_another_archive_than_the_last_is_refused(buyer, seller, request):
    archive(write_old_thread(buyer, seller, 3))
    thread = write_old_thread(buyer, seller, 3)
    other = request.getfixturevalue("other_storage")
    with pytest.raises(CommandError, match="Nothing was moved"):
        call_command("archive_messages", "--older-than", "0d")
    with pytest.raises(location.WrongArchive):
        archive(thread)
    assert not list(other.rglob("*")) if other.exists() else True
    assert all(message.body for message in stored(thread))


def test_nothing_is_treated_as_deleted_in_another_archive(buyer, seller, request):
    thread = write_old_thread(buyer, seller, 3)
    archive(thread)
    here = Path(storages["archive"].location)
    request.getfixturevalue("other_storage")
    with pytest.raises(Refusal, match="TRY_AGAIN"):
        remove_message(buyer, thread_id=thread, message_id=stored(thread)[0].id)
    assert objects_of(thread, here)


def test_a_complete_copy_of_an_archive_is_accepted(buyer, seller, request):
    thread = write_old_thread(buyer, seller, 3)
    archive(thread)
    here = Path(storages["archive"].location)
    marker = (here / location.MARKER).read_bytes()
    other = request.getfixturevalue("other_storage")
    other.mkdir()
    (other / location.MARKER).write_bytes(marker)
    location.check_location()


def test_packs_older_than_the_location_record_must_exist(buyer, seller, request):
    archive(write_old_thread(buyer, seller, 3))
    before = ArchiveLocation.find(keys.ARCHIVING, keys.LOCATION)
    try:
        before.delete()
        request.getfixturevalue("other_storage")
        with pytest.raises(location.WrongArchive, match="has none of them"):
            location.check_location()
        location.accept_new_location()
        location.check_location()
    finally:
        before.save()
