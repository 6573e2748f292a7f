"""Old messages leave the table and can be read as before, whatever happens meanwhile."""

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
    """Where the archive is."""
    packs.clear_cache()
    return Path(storages["archive"].location)


def tell(
    buyer: User, seller: User, count: int, *, every: timedelta = timedelta(hours=1), body: str = ""
) -> str:
    """A conversation of long ago."""
    thread_id = f"thrd_{keys.new_ulid()}"
    text = body or "Message number {}"
    said = [
        history.PastMessage((buyer, seller)[n % 2].id, text.format(n), LONG_AGO + n * every)
        for n in range(count)
    ]
    history.write_history([history.PastThread(thread_id, buyer, seller, "Old times", said)])
    return thread_id


def archive(thread: str, before: datetime | None = None) -> tuple[int, int]:
    """All of it, in this thread alone."""
    packs.clear_cache()
    return archive_thread(thread, since="2020-01-01", before=before or datetime.now(UTC))


def stored(thread: str) -> list[Message]:
    """As they are in the table."""
    where = Item.sk.startswith(keys.MESSAGES)
    return list(query_all(keys.thread_pk(thread), where, with_contents=False))


def facts(messages: list[Message]) -> list[dict]:
    """All that a message has, but for where it is kept."""
    return [
        {name: value for name, value in each.attribute_values.items() if name != "archive_ref"}
        for each in messages
    ]


def objects_of(thread: str, objects: Path) -> list[Path]:
    """Nobody else's: other tests have theirs."""
    folder = (objects / packs.pack_path(thread, "any")).parent
    return sorted(folder.iterdir()) if folder.exists() else []


def read_all(reader: User, thread: str) -> list[Message]:
    """As somebody who scrolls up from the end to the beginning."""
    opened = open_thread(reader, thread)
    messages = opened.messages
    while opened.has_older:
        opened = list_older(reader, thread, before=messages[0].id)
        messages = opened.messages + messages
    return messages


def assert_settled(thread: str, objects: Path) -> None:
    """Every object is needed, and none is missing; nothing waits to be looked at."""
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


def test_what_they_say_leaves_the_table_and_everybody_reads_it_as_before(buyer, seller, objects):
    thread = tell(buyer, seller, 450)
    before = messages_of(thread)
    assert archive(thread) == (450, 0)
    assert all(one.archive_ref and one.body is None for one in stored(thread))
    assert facts(messages_of(thread)) == facts(before)
    assert facts(read_all(seller, thread)) == facts(before)
    assert len(objects_of(thread, objects)) == 3
    assert_settled(thread, objects)


def test_a_page_opens_a_handful_of_objects_and_costs_the_same_requests(buyer, seller):
    thread = tell(buyer, seller, 450)
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


def test_a_slow_conversation_that_is_archived_daily_opens_a_handful_too(buyer, seller, objects):
    thread = tell(buyer, seller, 120, every=timedelta(days=1))
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
    assert facts(messages_of(thread)) == facts(before)
    assert_settled(thread, objects)


def test_only_what_is_old_enough_moves(buyer, seller):
    thread = tell(buyer, seller, 10, every=timedelta(days=1))
    archive(thread, LONG_AGO + timedelta(days=4, hours=1))
    assert [bool(one.archive_ref) for one in stored(thread)] == [True] * 5 + [False] * 5


def test_jumping_quoting_and_opening_where_reading_stopped(buyer, seller):
    thread = tell(buyer, seller, 300)
    messages = messages_of(thread)
    archive(thread)
    at = messages[77]
    opened = open_thread_at(buyer, thread, at.id)
    assert at.body in [one.body for one in opened.messages]
    assert all(one.body for one in opened.messages)
    assert get_message(buyer, thread, at.id).body == at.body
    assert list_newer(buyer, thread, after=at.id).messages[0].body == messages[78].body
    assert catch_up(buyer, thread, after=at.id).messages[0].body == messages[78].body
    said = say(buyer, thread, "About this", reply_to=at.id)
    opened = open_thread(seller, thread)
    assert opened.messages[-1].id == said.id
    assert opened.cached.quoted[at.id].body == at.body
    assert snapshots.read_around(thread, at.id)[0].body == messages[72].body
    assert snapshots.read_page(thread, before=at.id)[-1].body == messages[76].body


def test_opens_at_the_first_unread_far_back(buyer, seller):
    thread_id = f"thrd_{keys.new_ulid()}"
    said = [
        history.PastMessage(buyer.id, f"Message {n}", LONG_AGO + timedelta(minutes=n))
        for n in range(200)
    ]
    past = history.PastThread(thread_id, buyer, seller, "Old times", said, unread={seller.id: 150})
    history.write_history([past])
    archive(thread_id)
    opened = open_thread_at_first_unread(seller, thread_id)
    assert [one.body for one in opened.messages[:2]] == ["Message 49", "Message 50"]
    first = opened.messages[0]
    with count_requests() as requests:
        read_up_to(seller, opened.messages[10])
    assert requests.objects == 0
    assert first.archive_ref


def test_files_of_archived_messages_are_there(buyer, seller, thread):
    file = accept_file(seller, thread_id=thread, name="a.txt", content=_bytes(b"Words"))
    said = say(seller, thread, attachments=[file.id])
    archive(thread)
    with count_requests() as requests:
        assert access_file(buyer, file.id).file == file
    assert requests.objects == 0
    assert get_message(buyer, thread, said.id).attachments == said.attachments


def _bytes(content: bytes):
    import io

    return io.BytesIO(content)


# --- Changing


def test_reacting_leaves_it_where_it_is(buyer, seller, thread, objects):
    said = say(seller, thread, "Yes, I am")
    archive(thread)
    set_reaction(buyer, thread_id=thread, message_id=said.id, reaction="👍", on=True)
    now = get_message(seller, thread, said.id)
    assert now.reactions == {"👍": [buyer.id]}
    assert now.body == "Yes, I am"
    assert stored(thread)[-1].archive_ref
    assert_settled(thread, objects)


def test_removing_takes_it_out_of_the_object_and_keeps_it_for_staff(
    buyer, seller, thread, objects, delivered
):
    said = [say(seller, thread, f"Line {n}") for n in range(3)]
    archive(thread)
    remove_message(seller, thread_id=thread, message_id=said[1].id)
    assert_settled(thread, objects)
    assert all(said[1].id not in packs.read_pack(thread, pack.id) for pack in list_packs(thread))
    assert delivered.to(buyer, "message.removed")
    kept = snapshots.read_messages(thread, [said[1].id])[said[1].id]
    assert (kept.body, bool(kept.removed_at), kept.archive_ref) == ("Line 1", True, None)
    assert [one.body for one in messages_of(thread)][-2:] == ["Line 1", "Line 2"]
    # And it does not go back there.
    assert archive(thread) == (0, 0)


def test_hiding_and_blacking_out_take_it_out_of_the_object(buyer, seller, thread, objects):
    said = say(seller, thread, "My number is a secret")
    archive(thread)
    redact_message(thread_id=thread, message_id=said.id, text="a secret")
    assert "secret" not in get_message(buyer, thread, said.id).body
    assert_settled(thread, objects)
    archive(thread)
    assert_settled(thread, objects)
    hide_message(thread_id=thread, message_id=said.id)
    assert_settled(thread, objects)
    unhide_message(thread_id=thread, message_id=said.id)
    assert get_message(buyer, thread, said.id).body.startswith("My number is")
    for pack in list_packs(thread):
        assert said.id not in packs.read_pack(thread, pack.id)


def test_editing_just_after_it_was_archived(buyer, seller, thread, objects):
    said = say(seller, thread, "Yes, I am")
    archive(thread)
    edit_message(seller, thread_id=thread, message_id=said.id, body="No, I am not")
    now = get_message(buyer, thread, said.id)
    assert now.body == "No, I am not"
    assert [old["body"] for old in now.earlier_bodies] == ["Yes, I am"]
    assert_settled(thread, objects)


def test_what_changes_while_it_is_packed_is_left_for_the_next_time(
    buyer, seller, thread, objects, monkeypatch
):
    said = say(seller, thread, "Yes, I am")
    keep = packs.store_pack

    def edit_meanwhile(*args):
        keep(*args)
        monkeypatch.setattr(packs, "store_pack", keep)
        edit_message(seller, thread_id=thread, message_id=said.id, body="No, I am not")

    monkeypatch.setattr(packs, "store_pack", edit_meanwhile)
    assert archive(thread) == (1, 1)
    assert get_message(buyer, thread, said.id).body == "No, I am not"
    assert_settled(thread, objects)
    assert archive(thread) == (1, 0)
    assert get_message(buyer, thread, said.id).body == "No, I am not"


def test_archived_between_the_look_and_the_write_of_an_edit(buyer, seller, thread, objects):
    said = say(seller, thread, "Yes, I am")
    find, looked = Message.find, []

    def look(*args, **options):
        found = find(*args, **options)
        if not looked:
            looked.append(found)
            archive(thread)
        return found

    Message.find = look
    try:
        edit_message(seller, thread_id=thread, message_id=said.id, body="No, I am not")
    finally:
        del Message.find
    assert get_message(buyer, thread, said.id).body == "No, I am not"
    assert_settled(thread, objects)


# --- When something is wrong


def test_nothing_is_cleared_before_the_object_was_read_again(buyer, seller, monkeypatch, objects):
    thread = tell(buyer, seller, 20)
    before = messages_of(thread)
    encode = packs.encode
    monkeypatch.setattr(packs, "encode", lambda *args: encode(*args)[:-3])
    with pytest.raises(packs.DamagedPack):
        archive(thread)
    assert facts(stored(thread)) == facts(before)
    monkeypatch.setattr(packs, "encode", encode)
    run_checks(datetime.now(UTC) + timedelta(hours=1))
    assert objects_of(thread, objects) == []
    assert archive(thread) == (20, 0)
    assert_settled(thread, objects)


def one_bit_else(raw: bytes) -> bytes:
    return raw[:-10] + bytes([raw[-10] ^ 1]) + raw[-9:]


def other_words(raw: bytes) -> bytes:
    """Whole in itself, under the checksum of what was there."""
    head, _, packed = raw.partition(b"\n")
    said = gzip.decompress(packed)
    assert b"number 3" in said
    return head + b"\n" + gzip.compress(said.replace(b"number 3", b"number 4"), mtime=0)


@pytest.mark.parametrize("damage", [one_bit_else, other_words])
def test_a_damaged_object_is_found_and_never_shown(buyer, seller, objects, damage):
    thread = tell(buyer, seller, 20)
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


def test_an_object_that_went_after_the_message_was_read_is_found_elsewhere(buyer, seller, objects):
    thread = tell(buyer, seller, 20)
    before = messages_of(thread)
    archive(thread)
    read = stored(thread)
    restore_thread(thread)
    assert objects_of(thread, objects) == []
    packs.load_contents(read)
    assert facts(read) == facts(before)


def test_a_pack_that_is_taken_for_left_over_while_it_is_made_loses_nothing(
    buyer, seller, objects, monkeypatch
):
    thread = tell(buyer, seller, 20)
    before = messages_of(thread)
    keep = packs.store_pack

    def settled_by_another(*args):
        keep(*args)
        run_checks(datetime.now(UTC) + timedelta(hours=1))

    monkeypatch.setattr(packs, "store_pack", settled_by_another)
    with pytest.raises(packer.PackDeleted):
        archive(thread)
    assert facts(stored(thread)) == facts(before)
    assert objects_of(thread, objects) == []


@pytest.mark.long
@pytest.mark.django_db
def test_a_hundred_thousand_messages_are_read_back_equal(buyer, seller, objects):
    thread = tell(buyer, seller, 100_000, every=timedelta(minutes=1))
    before = facts(messages_of(thread))
    assert archive(thread) == (100_000, 0)
    packs.clear_cache()
    assert facts(messages_of(thread)) == before
    assert all(one.archive_ref and one.body is None for one in stored(thread))
    assert len(objects_of(thread, objects)) == 500
    with count_requests() as requests:
        opened = open_thread(buyer, thread)
        list_older(buyer, thread, before=opened.messages[0].id)
    assert requests.objects <= 2
    assert restore_thread(thread) == 100_000
    assert facts(stored(thread)) == before
    assert objects_of(thread, objects) == []


# --- The commands


def test_the_command_goes_by_the_work_list_and_forgets_what_is_done(buyer, seller, objects, capsys):
    thread = tell(buyer, seller, 60, every=timedelta(hours=12))
    before = messages_of(thread)
    with count_requests() as requests:
        call_command("archive_messages", "--older-than", "90d", "--since", SINCE)
    assert "Scan" not in requests
    assert "Archived" in capsys.readouterr().out
    assert facts(read_all(buyer, thread)) == facts(before)
    assert all(one.archive_ref for one in stored(thread))
    assert due_days(thread) == []
    call_command("verify_archive")
    call_command("restore_messages", "--thread", thread)
    assert "Restored 60 messages of 1 conversations." in capsys.readouterr().out
    assert facts(stored(thread)) == facts(before)
    assert list_packs(thread) == []
    assert len(due_days(thread)) == 30
    call_command("archive_messages", "--since", SINCE)
    assert facts(read_all(buyer, thread)) == facts(before)
    assert_settled(thread, objects)


def due_days(thread: str) -> list[str]:
    first = LONG_AGO.date()
    found = work_list.list_due(keys.archive_shard(thread), first, first + timedelta(days=40))
    return found.get(thread, [])


def test_the_next_run_begins_where_the_last_one_ended(buyer, seller):
    work_list.advance_first_day(LONG_AGO.date(), was=work_list.get_first_day())
    archive_messages(timedelta(days=90))
    ended = (datetime.now(UTC) - timedelta(days=90)).date()
    assert work_list.get_first_day() == ended
    tell(buyer, seller, 2)
    assert work_list.get_first_day() == LONG_AGO.date()
    archive_messages(timedelta(days=90))
    assert work_list.get_first_day() == ended


def test_new_messages_of_today_are_archived_when_asked_for_and_stay_findable_by_search(
    buyer, seller, thread
):
    say(seller, thread, "Yes")
    today = datetime.now(UTC).date()
    time.sleep(0.002)
    archive_messages(NOW, since=today)
    assert all(one.archive_ref for one in stored(thread))
    found = work_list.list_due(keys.archive_shard(thread), today, today)
    assert found[thread] == [today.isoformat()]


def test_a_thread_that_fails_is_said_and_keeps_its_place(buyer, seller, monkeypatch):
    thread = tell(buyer, seller, 4)

    def refuse(*args):
        raise OSError("the disk is full")

    monkeypatch.setattr(packs, "store_pack", refuse)
    with pytest.raises(CommandError, match="Nothing was lost"):
        call_command("archive_messages", "--since", SINCE)
    assert due_days(thread)


def test_words_that_are_no_age_are_refused():
    for text in ("90", "soon", "-1d", "d"):
        with pytest.raises(CommandError):
            call_command("archive_messages", "--older-than", text)


# --- Killed at every step, while somebody reads


# All of them in a long run; otherwise every third, beginning with another one each.
steps = pytest.mark.parametrize(
    "every", [3, pytest.param(1, marks=pytest.mark.long)], ids=["some", "all"]
)


@steps
@pytest.mark.django_db(transaction=True)
def test_killed_while_archiving_every_message_is_readable_at_every_moment(
    buyer, seller, objects, every
):
    _kill_at_steps(buyer, seller, objects, archive, range(1, 80, every))


@steps
@pytest.mark.django_db(transaction=True)
def test_killed_while_bringing_them_back(buyer, seller, objects, every):
    def act(thread: str) -> None:
        if any(one.archive_ref for one in stored(thread)):
            restore_thread(thread)

    _kill_at_steps(buyer, seller, objects, act, range(2, 80, every), prepare=archive)


@steps
@pytest.mark.django_db(transaction=True)
def test_killed_while_removing(buyer, seller, objects, every):
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
    """Small packs, in two goes: some are packed, some packed anew together with new ones."""
    for step in steps:
        thread = tell(buyer, seller, 12)
        expected = [(each.id, each.body) for each in messages_of(thread)]
        archive(thread, LONG_AGO + timedelta(hours=3, minutes=1))
        prepare(thread)
        with _reader(buyer, thread, expected):
            is_done = _survives(step, lambda thread=thread: act(thread))
            cache.invalidate(thread)
            run_checks(datetime.now(UTC) + timedelta(hours=1))
            act(thread)
            run_checks(datetime.now(UTC) + timedelta(hours=1))
        assert [(each.id, each.body) for each in messages_of(thread)] == expected
        assert_settled(thread, objects)
        if is_done:
            assert step > 4
            return
    pytest.fail("it never came to an end")


def _survives(step: int, action: Callable[[], object]) -> bool:
    """As for the stores; and each file is a step before, half-way and after, and so is its end."""
    storage = type(storages["archive"])

    def armed() -> None:
        def passed() -> None:
            crash_points.crash_point()

        save, delete = storage._save, storage.delete

        def watched_save(self, name, content):
            passed()
            raw = content.read()
            path = Path(self.path(name))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw[: len(raw) // 2])
            passed()
            path.unlink()
            content.seek(0)
            saved = save(self, name, content)
            passed()
            return saved

        def watched_delete(self, name):
            passed()
            delete(self, name)
            passed()

        storage._save, storage.delete = watched_save, watched_delete
        action()

    return crash_points.survives(step, armed)


class _reader:
    """Another process that reads all of it, over and over, until it is told to stop."""

    def __init__(self, user: User, thread: str, expected: list[tuple[str, str]]) -> None:
        self.job = (user, thread, expected)

    def __enter__(self) -> None:
        from django.db import connections

        for connection in connections.all():
            connection.close()
        self.end, theirs = os.pipe()[::-1]
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.end)
            self._read_until_told(theirs)
        os.close(theirs)

    def _read_until_told(self, theirs: int) -> None:
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
            # Told to stop by the end of the pipe; a moment later, the next round.
            if select.select([theirs], [], [], 0.02)[0]:
                os._exit(0)

    def __exit__(self, *error: object) -> None:
        os.close(self.end)
        _, status = os.waitpid(self.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0, "somebody could not read"
