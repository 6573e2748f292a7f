"""Archived messages leave the table and stay readable, also during changes and failures."""

import gzip
import os
import select
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.core.files.storage import storages
from django.core.management import CommandError, call_command

from accounts.models import User
from core.refusals import Refusal
from demo import history
from files.actions import accept_file
from moderation.evidence import snapshots
from tests.contracts import crash_points
from tests.threads.conftest import messages_of, read_up_to, say
from threads import cache
from threads.actions.revisions import edit_message, remove_message, set_reaction
from threads.actions.staff import hide_message, redact_message, unhide_message
from threads.archive import packer, work_list
from threads.archive.archiver import archive_messages, archive_thread, run_checks
from threads.archive.restore import list_damaged, list_packs, restore_thread
from threads.dynamodb import keys
from threads.dynamodb.store import StoreUnavailable, count_requests
from threads.dynamodb.table import Item, query_all
from threads.file_access import access_file
from threads.models import Message, PackCheck, packs
from threads.queries import (
    catch_up,
    get_message,
    list_newer,
    list_older,
    open_thread,
    open_thread_at,
    open_thread_at_first_unread,
)

LONG_AGO = datetime.now(UTC).replace(hour=9, minute=0) - timedelta(days=150)
SINCE = LONG_AGO.date().isoformat()
NOW = timedelta()


@pytest.fixture
def objects() -> Path:
    """Directory of the archive."""
    packs.clear_cache()
    return Path(storages["archive"].location)


def write_old_thread(
    buyer: User, seller: User, count: int, *, every: timedelta = timedelta(hours=1), body: str = ""
) -> str:
    """Writes an old conversation."""
    thread_id = f"thrd_{keys.new_ulid()}"
    text = body or "Message number {}"
    sent = [
        history.PastMessage((buyer, seller)[n % 2].id, text.format(n), LONG_AGO + n * every)
        for n in range(count)
    ]
    history.write_history([history.PastThread(thread_id, buyer, seller, "Old times", sent)])
    return thread_id


def archive(thread: str, before: datetime | None = None) -> tuple[int, int]:
    """Archives all messages of this thread only."""
    packs.clear_cache()
    return archive_thread(thread, since="2020-01-01", before=before or datetime.now(UTC))


def stored(thread: str) -> list[Message]:
    """Messages as they are in the table, without archived contents."""
    where = Item.sk.startswith(keys.MESSAGES)
    return list(query_all(keys.thread_pk(thread), where, with_contents=False))


def attributes_of(messages: list[Message]) -> list[dict]:
    """All attributes of a message except its archive reference."""
    return [
        {name: value for name, value in each.attribute_values.items() if name != "archive_ref"}
        for each in messages
    ]


def objects_of(thread: str, objects: Path) -> list[Path]:
    """Packs of this thread only: other tests write to the same archive."""
    folder = (objects / packs.pack_path(thread, "any")).parent
    return sorted(folder.iterdir()) if folder.exists() else []


def read_all(reader: User, thread: str) -> list[Message]:
    """Reads like a user who scrolls up from the end to the beginning."""
    opened = open_thread(reader, thread)
    messages = opened.messages
    while opened.has_older:
        opened = list_older(reader, thread, before=messages[0].id)
        messages = opened.messages + messages
    return messages


def assert_clean(thread: str, objects: Path) -> None:
    """Every pack is referenced, none is missing or damaged, and no check is pending."""
    assert list(list_damaged(thread)) == []
    names = [path.name for path in objects_of(thread, objects)]
    assert names == sorted(pack.id for pack in list_packs(thread))
    assert checks_of(thread) == []
    for pack in list_packs(thread):
        contents = packs.read_pack(thread, pack.id)
        assert sorted(contents) == sorted(
            each.id for each in packer.list_referencing_messages(pack)
        )


def checks_of(thread: str) -> list[PackCheck]:
    pk = keys.pack_check_pk(keys.archive_shard(thread))
    return [check for check in query_all(pk) if check.parts[0] == thread]


# --- Reading


def test_archived_bodies_leave_the_table_and_read_the_same(buyer, seller, objects):
    thread = write_old_thread(buyer, seller, 450)
    before = messages_of(thread)
    assert archive(thread) == (450, 0)
    assert all(one.archive_ref and one.body is None for one in stored(thread))
    assert attributes_of(messages_of(thread)) == attributes_of(before)
    assert attributes_of(read_all(seller, thread)) == attributes_of(before)
    assert len(objects_of(thread, objects)) == 3
    assert_clean(thread, objects)


def test_a_page_opens_few_packs_and_costs_the_same_requests(buyer, seller):
    thread = write_old_thread(buyer, seller, 450)
    messages = messages_of(thread)
    archive(thread)
    packs.clear_cache()
    with count_requests() as requests:
        open_thread(buyer, thread)
    assert requests == ["Query"]
    assert requests.objects <= 2
    packs.clear_cache()
    with count_requests() as requests:
        list_older(buyer, thread, before=messages[225].id)
    assert requests == ["Query", "Query"]
    assert requests.objects <= 2


def test_a_slow_conversation_archived_daily_opens_few_packs(buyer, seller, objects):
    thread = write_old_thread(buyer, seller, 120, every=timedelta(days=1))
    before = messages_of(thread)
    moved = 0
    for day in range(1, 121):
        until = LONG_AGO + timedelta(days=day, hours=-1)
        done, left = archive_thread(
            thread, since=(until - timedelta(days=1)).date().isoformat(), before=until
        )
        assert left == 0
        moved += done
    assert moved == 120
    packs.clear_cache()
    with count_requests() as requests:
        page = open_thread(buyer, thread).messages
    assert len(page) == 50
    assert requests.objects <= 7
    assert attributes_of(messages_of(thread)) == attributes_of(before)
    assert_clean(thread, objects)


def test_only_messages_before_the_date_are_archived(buyer, seller):
    thread = write_old_thread(buyer, seller, 10, every=timedelta(days=1))
    archive(thread, LONG_AGO + timedelta(days=4, hours=1))
    assert [bool(one.archive_ref) for one in stored(thread)] == [True] * 5 + [False] * 5


def test_every_query_reads_archived_messages(buyer, seller):
    thread = write_old_thread(buyer, seller, 300)
    messages = messages_of(thread)
    archive(thread)
    at = messages[77]
    opened = open_thread_at(buyer, thread, at.id)
    assert at.body in [one.body for one in opened.messages]
    assert all(one.body for one in opened.messages)
    assert get_message(buyer, thread, at.id).body == at.body
    assert list_newer(buyer, thread, after=at.id).messages[0].body == messages[78].body
    assert catch_up(buyer, thread, after=at.id).messages[0].body == messages[78].body
    sent = say(buyer, thread, "About this", reply_to=at.id)
    opened = open_thread(seller, thread)
    assert opened.messages[-1].id == sent.id
    assert opened.cached.quoted[at.id].body == at.body
    assert snapshots.read_around(thread, at.id)[0].body == messages[72].body
    assert snapshots.read_page(thread, before=at.id)[-1].body == messages[76].body


def test_a_thread_opens_at_a_first_unread_message_in_the_archive(buyer, seller):
    thread_id = f"thrd_{keys.new_ulid()}"
    sent = [
        history.PastMessage(buyer.id, f"Message {n}", LONG_AGO + timedelta(minutes=n))
        for n in range(200)
    ]
    past = history.PastThread(thread_id, buyer, seller, "Old times", sent, unread={seller.id: 150})
    history.write_history([past])
    archive(thread_id)
    opened = open_thread_at_first_unread(seller, thread_id)
    assert [one.body for one in opened.messages[:2]] == ["Message 49", "Message 50"]
    first = opened.messages[0]
    with count_requests() as requests:
        read_up_to(seller, opened.messages[10])
    assert requests.objects == 0
    assert first.archive_ref


def test_files_of_archived_messages_are_accessible(buyer, seller, thread):
    file = accept_file(seller, thread_id=thread, name="a.txt", content=_bytes(b"Words"))
    sent = say(seller, thread, attachments=[file.id])
    archive(thread)
    with count_requests() as requests:
        assert access_file(buyer, file.id).file == file
    assert requests.objects == 0
    assert get_message(buyer, thread, sent.id).attachments == sent.attachments


def _bytes(content: bytes):
    import io

    return io.BytesIO(content)


# --- Changing


def test_a_reaction_leaves_the_message_in_the_archive(buyer, seller, thread, objects):
    sent = say(seller, thread, "Yes, I am")
    archive(thread)
    set_reaction(buyer, thread_id=thread, message_id=sent.id, reaction="👍", on=True)
    now = get_message(seller, thread, sent.id)
    assert now.reactions == {"👍": [buyer.id]}
    assert now.body == "Yes, I am"
    assert stored(thread)[-1].archive_ref
    assert_clean(thread, objects)


def test_a_removed_message_leaves_its_pack_and_is_kept_for_staff(
    buyer, seller, thread, objects, delivered
):
    sent = [say(seller, thread, f"Line {n}") for n in range(3)]
    archive(thread)
    remove_message(seller, thread_id=thread, message_id=sent[1].id)
    assert_clean(thread, objects)
    assert all(sent[1].id not in packs.read_pack(thread, pack.id) for pack in list_packs(thread))
    assert delivered.to(buyer, "message.removed")
    kept = snapshots.read_messages(thread, [sent[1].id])[sent[1].id]
    assert (kept.body, bool(kept.removed_at), kept.archive_ref) == ("Line 1", True, None)
    assert [one.body for one in messages_of(thread)][-2:] == ["Line 1", "Line 2"]
    # The next run does not archive it again.
    assert archive(thread) == (0, 0)


def test_a_hidden_or_redacted_message_leaves_its_pack(buyer, seller, thread, objects):
    sent = say(seller, thread, "My number is a secret")
    archive(thread)
    redact_message(thread_id=thread, message_id=sent.id, text="a secret")
    assert "secret" not in get_message(buyer, thread, sent.id).body
    assert_clean(thread, objects)
    archive(thread)
    assert_clean(thread, objects)
    hide_message(thread_id=thread, message_id=sent.id)
    assert_clean(thread, objects)
    unhide_message(thread_id=thread, message_id=sent.id)
    assert get_message(buyer, thread, sent.id).body.startswith("My number is")
    for pack in list_packs(thread):
        assert sent.id not in packs.read_pack(thread, pack.id)


def test_an_archived_message_can_be_edited(buyer, seller, thread, objects):
    sent = say(seller, thread, "Yes, I am")
    archive(thread)
    edit_message(seller, thread_id=thread, message_id=sent.id, body="No, I am not")
    now = get_message(buyer, thread, sent.id)
    assert now.body == "No, I am not"
    assert [old["body"] for old in now.earlier_bodies] == ["Yes, I am"]
    assert_clean(thread, objects)


def test_a_message_changed_while_it_is_packed_is_archived_by_the_next_run(
    buyer, seller, thread, objects, monkeypatch
):
    sent = say(seller, thread, "Yes, I am")
    store_pack = packs.store_pack

    def store_and_edit(*args):
        store_pack(*args)
        monkeypatch.setattr(packs, "store_pack", store_pack)
        edit_message(seller, thread_id=thread, message_id=sent.id, body="No, I am not")

    monkeypatch.setattr(packs, "store_pack", store_and_edit)
    assert archive(thread) == (1, 1)
    assert get_message(buyer, thread, sent.id).body == "No, I am not"
    assert_clean(thread, objects)
    assert archive(thread) == (1, 0)
    assert get_message(buyer, thread, sent.id).body == "No, I am not"


def test_a_message_can_be_archived_between_the_read_and_the_write_of_an_edit(
    buyer, seller, thread, objects
):
    sent = say(seller, thread, "Yes, I am")
    find, found_before = Message.find, []

    def find_and_archive(*args, **options):
        found = find(*args, **options)
        if not found_before:
            found_before.append(found)
            archive(thread)
        return found

    Message.find = find_and_archive
    try:
        edit_message(seller, thread_id=thread, message_id=sent.id, body="No, I am not")
    finally:
        del Message.find
    assert get_message(buyer, thread, sent.id).body == "No, I am not"
    assert_clean(thread, objects)


# --- Failures


def test_no_body_is_cleared_before_its_pack_was_verified(buyer, seller, monkeypatch, objects):
    thread = write_old_thread(buyer, seller, 20)
    before = messages_of(thread)
    encode = packs.encode
    monkeypatch.setattr(packs, "encode", lambda *args: encode(*args)[:-3])
    with pytest.raises(packs.DamagedPack):
        archive(thread)
    assert attributes_of(stored(thread)) == attributes_of(before)
    monkeypatch.setattr(packs, "encode", encode)
    run_checks(datetime.now(UTC) + timedelta(hours=1))
    assert objects_of(thread, objects) == []
    assert archive(thread) == (20, 0)
    assert_clean(thread, objects)


def flip_one_bit(raw: bytes) -> bytes:
    return raw[:-10] + bytes([raw[-10] ^ 1]) + raw[-9:]


def replace_text(raw: bytes) -> bytes:
    """A valid pack with other text under the old checksum."""
    head, _, packed = raw.partition(b"\n")
    sent = gzip.decompress(packed)
    assert b"number 3" in sent
    return head + b"\n" + gzip.compress(sent.replace(b"number 3", b"number 4"), mtime=0)


@pytest.mark.parametrize("damage", [flip_one_bit, replace_text])
def test_a_damaged_pack_is_found_and_never_shown(buyer, seller, objects, damage):
    thread = write_old_thread(buyer, seller, 20)
    archive(thread)
    (path,) = objects_of(thread, objects)
    raw = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(damage(raw))
    packs.clear_cache()
    with pytest.raises(StoreUnavailable):
        open_thread(buyer, thread)
    assert [pack for pack, _ in list_damaged(thread)] == [path.name]
    path.unlink()
    packs.clear_cache()
    with pytest.raises(Refusal, match="TRY_AGAIN"):
        open_thread(buyer, thread)
    path.write_bytes(raw)
    assert len(open_thread(buyer, thread).messages) == 20


def test_a_pack_deleted_after_the_message_was_read_is_reloaded_from_the_table(
    buyer, seller, objects
):
    thread = write_old_thread(buyer, seller, 20)
    before = messages_of(thread)
    archive(thread)
    read = stored(thread)
    restore_thread(thread)
    assert objects_of(thread, objects) == []
    packs.load_contents(read)
    assert attributes_of(read) == attributes_of(before)


def test_a_pack_deleted_by_a_check_while_it_is_made_loses_nothing(
    buyer, seller, objects, monkeypatch
):
    thread = write_old_thread(buyer, seller, 20)
    before = messages_of(thread)
    store_pack = packs.store_pack

    def store_and_check(*args):
        store_pack(*args)
        run_checks(datetime.now(UTC) + timedelta(hours=1))

    monkeypatch.setattr(packs, "store_pack", store_and_check)
    with pytest.raises(packer.PackDeleted):
        archive(thread)
    assert attributes_of(stored(thread)) == attributes_of(before)
    assert objects_of(thread, objects) == []


@pytest.mark.long
@pytest.mark.django_db
def test_a_hundred_thousand_messages_are_read_back_equal(buyer, seller, objects):
    thread = write_old_thread(buyer, seller, 100_000, every=timedelta(minutes=1))
    before = attributes_of(messages_of(thread))
    assert archive(thread) == (100_000, 0)
    packs.clear_cache()
    assert attributes_of(messages_of(thread)) == before
    assert all(one.archive_ref and one.body is None for one in stored(thread))
    assert len(objects_of(thread, objects)) == 500
    with count_requests() as requests:
        opened = open_thread(buyer, thread)
        list_older(buyer, thread, before=opened.messages[0].id)
    assert requests.objects <= 2
    assert restore_thread(thread) == 100_000
    assert attributes_of(stored(thread)) == before
    assert objects_of(thread, objects) == []


# --- Commands


def test_the_command_follows_the_work_list_and_clears_finished_days(buyer, seller, objects, capsys):
    thread = write_old_thread(buyer, seller, 60, every=timedelta(hours=12))
    before = messages_of(thread)
    with count_requests() as requests:
        call_command("archive_messages", "--older-than", "90d", "--since", SINCE)
    assert "Scan" not in requests
    assert "Archived" in capsys.readouterr().out
    assert attributes_of(read_all(buyer, thread)) == attributes_of(before)
    assert all(one.archive_ref for one in stored(thread))
    assert due_days(thread) == []
    call_command("verify_archive")
    call_command("restore_messages", "--thread", thread)
    assert "Restored 60 messages of 1 conversations." in capsys.readouterr().out
    assert attributes_of(stored(thread)) == attributes_of(before)
    assert list_packs(thread) == []
    assert len(due_days(thread)) == 30
    call_command("archive_messages", "--since", SINCE)
    assert attributes_of(read_all(buyer, thread)) == attributes_of(before)
    assert_clean(thread, objects)


def due_days(thread: str) -> list[str]:
    first = LONG_AGO.date()
    found = work_list.list_due(keys.archive_shard(thread), first, first + timedelta(days=40))
    return found.get(thread, [])


def test_the_next_run_starts_where_the_last_one_ended(buyer, seller):
    work_list.advance_first_day(LONG_AGO.date(), was=work_list.get_first_day())
    archive_messages(timedelta(days=90))
    ended = (datetime.now(UTC) - timedelta(days=90)).date()
    assert work_list.get_first_day() == ended
    write_old_thread(buyer, seller, 2)
    assert work_list.get_first_day() == LONG_AGO.date()
    archive_messages(timedelta(days=90))
    assert work_list.get_first_day() == ended


def test_messages_of_today_can_be_archived_and_stay_on_the_work_list(
    buyer, seller, thread, monkeypatch
):
    list_due = work_list.list_due

    def list_due_of_thread(*given):
        """Omits the threads of other tests, all of which are of today."""
        return {found: days for found, days in list_due(*given).items() if found == thread}

    monkeypatch.setattr(work_list, "list_due", list_due_of_thread)
    say(seller, thread, "Yes")
    today = datetime.now(UTC).date()
    time.sleep(0.002)
    archive_messages(NOW, since=today)
    assert all(one.archive_ref for one in stored(thread))
    found = work_list.list_due(keys.archive_shard(thread), today, today)
    assert found[thread] == [today.isoformat()]


def test_a_failing_thread_is_reported_and_stays_on_the_work_list(buyer, seller, monkeypatch):
    thread = write_old_thread(buyer, seller, 4)

    def fail(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr(packs, "store_pack", fail)
    with pytest.raises(CommandError, match="Nothing was lost"):
        call_command("archive_messages", "--since", SINCE)
    assert due_days(thread)


def test_an_invalid_age_is_refused():
    for text in ("90", "soon", "-1d", "d"):
        with pytest.raises(CommandError):
            call_command("archive_messages", "--older-than", text)


# --- Killed at every step, while another process reads


# All steps in a long run; otherwise every third, with a different first step per test.
steps = pytest.mark.parametrize(
    "every", [3, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"]
)


@steps
@pytest.mark.django_db(transaction=True)
def test_every_message_stays_readable_when_archiving_is_killed(buyer, seller, objects, every):
    _kill_at_steps(buyer, seller, objects, archive, range(1, 80, every))


@steps
@pytest.mark.django_db(transaction=True)
def test_every_message_stays_readable_when_restoring_is_killed(buyer, seller, objects, every):
    def act(thread: str) -> None:
        if any(one.archive_ref for one in stored(thread)):
            restore_thread(thread)

    _kill_at_steps(buyer, seller, objects, act, range(2, 80, every), prepare=archive)


@steps
@pytest.mark.django_db(transaction=True)
def test_every_message_stays_readable_when_removing_is_killed(buyer, seller, objects, every):
    def act(thread: str) -> None:
        one = messages_of(thread)[4]
        author = buyer if one.author_id == buyer.id else seller
        remove_message(author, thread_id=thread, message_id=one.id)

    _kill_at_steps(buyer, seller, objects, act, range(3, 80, every), prepare=archive)


def _kill_at_steps(
    buyer: User,
    seller: User,
    objects: Path,
    act: Callable[[str], object],
    steps: range,
    prepare: Callable[[str], object] = lambda thread: None,
) -> None:
    """Archives in two runs: some messages are packed, some repacked together with new ones."""
    for step in steps:
        thread = write_old_thread(buyer, seller, 12)
        expected = [(each.id, each.body) for each in messages_of(thread)]
        archive(thread, LONG_AGO + timedelta(hours=3, minutes=1))
        prepare(thread)
        with _Reader(buyer, thread, expected):
            is_done = _survives_kill(step, lambda thread=thread: act(thread))
            cache.invalidate(thread)
            run_checks(datetime.now(UTC) + timedelta(hours=1))
            act(thread)
            run_checks(datetime.now(UTC) + timedelta(hours=1))
        assert [(each.id, each.body) for each in messages_of(thread)] == expected
        assert_clean(thread, objects)
        if is_done:
            assert step > 4
            return
    pytest.fail("no step survived")


def _survives_kill(step: int, action: Callable[[], object]) -> bool:
    """Steps are those of the stores, and each file before, half-way through and after a write."""
    storage = type(storages["archive"])

    def run_armed() -> None:
        def count_step() -> None:
            crash_points.crash_point()

        save, delete = storage._save, storage.delete

        def watched_save(self, name, content):
            count_step()
            raw = content.read()
            path = Path(self.path(name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw[: len(raw) // 2])
            count_step()
            path.unlink()
            content.seek(0)
            saved = save(self, name, content)
            count_step()
            return saved

        def watched_delete(self, name):
            count_step()
            delete(self, name)
            count_step()

        storage._save, storage.delete = watched_save, watched_delete
        action()

    return crash_points.survives(step, run_armed)


class _Reader:
    """Another process that reads the whole thread repeatedly until the pipe is closed."""

    def __init__(self, user: User, thread: str, expected: list[tuple[str, str]]) -> None:
        self.job = (user, thread, expected)

    def __enter__(self) -> None:
        from django.db import connections

        for connection in connections.all():
            connection.close()
        self.end, read_end = os.pipe()[::-1]
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.end)
                self._read_until_closed(read_end)
            finally:
                # The child must never return to the test run, which it would run a second time.
                os._exit(6)
        os.close(read_end)

    def _read_until_closed(self, read_end: int) -> None:
        from threads.dynamodb import table

        table.connection.cache_clear()
        user, thread, expected = self.job
        while True:
            packs.clear_cache()
            try:
                read = [(each.id, each.body) for each in read_all(user, thread)]
            except BaseException as error:
                print(f"could not read: {error!r}")
                os._exit(4)
            if read != expected:
                os._exit(5)
            # The end of the pipe stops the reader; otherwise it reads again after 20 ms.
            if select.select([read_end], [], [], 0.02)[0]:
                os._exit(0)

    def __exit__(self, *error: object) -> None:
        os.close(self.end)
        _, status = os.waitpid(self.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, "the reader failed"
