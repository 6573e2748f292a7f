"""Users see their own writes on an engine whose indexes lag ten seconds behind."""

import pytest
from asgiref.sync import async_to_sync
from django.test import Client

from inbox.queries import (
    REQUESTS,
    UNREAD,
    count_rows,
    list_folder,
    list_unread,
)
from tests.indexes import lagging_engine
from tests.threads.conftest import (
    add_friend,
    ask,
    deliver_newest,
    make_person,
    read_newest,
    say,
    start,
)
from threads.actions.cursors import mark_all_read
from threads.actions.folders import (
    archive_thread,
    mark_spam,
    mark_unread,
    mute_thread,
    pin_thread,
    restore_thread,
    unpin_thread,
)
from threads.actions.participants import add_participant, leave_thread, remove_participant
from threads.actions.requests import accept_request, decline_request
from threads.dynamodb import recent_writes
from threads.dynamodb.store import count_requests
from threads.dynamodb.table import create_table
from threads.queries import list_all_rows, list_pending

pytestmark = pytest.mark.indexes

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
DELAY_MS = 10_000


@pytest.fixture(scope="module", autouse=True)
def _engine(tmp_path_factory):
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        lagging_engine(
            tmp_path_factory.mktemp("engine") / "lagging", monkeypatch, delay_ms=DELAY_MS
        ),
    ):
        assert create_table() == []
        yield


@pytest.fixture(autouse=True)
def _keep_recent_writes_longer(settings):
    """On a busy machine a test may take longer than the indexes lag."""
    settings.INDEX_LAG_SECONDS = 60.0


def ids(page) -> list[str]:
    return [each.thread_id for each in page.rows]


def in_folders(user) -> dict[str, list[str]]:
    return {name: ids(list_folder(user, name)) for name in ("inbox", "archived", "spam")}


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user, backend=BACKEND)
    return client


def test_the_index_itself_is_still_stale(thread, buyer):
    recent_writes.clear()
    assert ids(list_folder(buyer, "inbox")) == []


def test_a_new_thread_is_listed_for_both(thread, buyer, seller):
    assert ids(list_folder(buyer, "inbox")) == ids(list_folder(seller, "inbox")) == [thread]


def test_a_moved_thread_is_in_its_new_folder_only(buyer, seller):
    one, two = start(buyer, seller), start(buyer, seller)
    archive_thread(buyer, thread_id=one)
    assert in_folders(buyer) == {"inbox": [two], "archived": [one], "spam": []}
    mark_spam(buyer, thread_id=two)
    assert in_folders(buyer) == {"inbox": [], "archived": [one], "spam": [two]}
    restore_thread(buyer, thread_id=one)
    assert in_folders(buyer) == {"inbox": [one], "archived": [], "spam": [two]}


def test_the_page_after_archiving_shows_the_archived_thread(thread, buyer):
    client = signed_in(buyer)
    client.post("/inbox/act/", {"act": "archive", "thread": [thread], "back": "archived"})
    assert thread in client.get("/inbox/archived/").content.decode()
    assert f"/threads/{thread}/" not in client.get("/inbox/").content.decode()


def test_a_pinned_thread_is_first_and_its_row_is_current(buyer, seller):
    one, two = start(buyer, seller), start(buyer, seller)
    pin_thread(buyer, thread_id=one)
    mute_thread(buyer, thread_id=two)
    page = list_folder(buyer, "inbox")
    assert [(each.thread_id, each.pinned, each.muted) for each in page.rows] == [
        (one, True, False),
        (two, False, True),
    ]
    unpin_thread(buyer, thread_id=one)
    assert ids(list_folder(buyer, "inbox")) == [two, one]


def test_a_sent_message_is_first_with_its_text(buyer, seller):
    one, two = start(buyer, seller), start(buyer, seller)
    say(buyer, one, "Shall we say four?")
    first, second = list_folder(buyer, "inbox").rows
    assert (first.thread_id, first.last_message["text"]) == (one, "Shall we say four?")
    assert second.thread_id == two
    assert ids(list_folder(seller, "inbox")) == [one, two]


def test_read_and_marked_threads_are_counted(buyer, seller):
    one, two = start(seller, buyer), start(seller, buyer)
    assert set(ids(list_unread(buyer))) == {one, two}
    assert count_rows(buyer)[UNREAD] == 2
    read_newest(buyer, one)
    assert ids(list_unread(buyer)) == [two]
    assert count_rows(buyer)[UNREAD] == 1
    mark_unread(buyer, thread_id=one)
    mark_all_read(buyer, thread_id=two)
    assert ids(list_unread(buyer)) == [one]
    assert count_rows(buyer)[UNREAD] == 1


def test_an_answered_request_changes_its_folder(buyer, stranger, seller):
    first, second = ask(buyer, seller), ask(stranger, seller)
    assert set(ids(list_folder(seller, "requests"))) == {first, second}
    assert count_rows(seller)[REQUESTS] == 2
    accept_request(seller, thread_id=first)
    decline_request(seller, thread_id=second)
    assert ids(list_folder(seller, "requests")) == []
    assert count_rows(seller)[REQUESTS] == 0
    assert in_folders(seller)["inbox"] == [first]
    assert in_folders(seller)["archived"] == [second]


def test_a_moved_invitation_is_in_its_new_folder_at_once(thread, buyer, stranger):
    add_participant(buyer, thread_id=thread, user=stranger)
    assert ids(list_folder(stranger, "requests")) == [thread]
    decline_request(stranger, thread_id=thread)
    assert (in_folders(stranger)["archived"], count_rows(stranger)[REQUESTS]) == ([thread], 0)
    accept_request(stranger, thread_id=thread)
    assert (in_folders(stranger)["inbox"], in_folders(stranger)["archived"]) == ([thread], [])


def test_a_thread_is_listed_after_joining_and_not_after_leaving(thread, buyer, stranger):
    add_friend(buyer, thread_id=thread, user=stranger)
    assert ids(list_folder(stranger, "inbox")) == [thread]
    leave_thread(stranger, thread_id=thread)
    assert ids(list_folder(stranger, "inbox")) == []
    add_friend(buyer, thread_id=thread, user=stranger)
    remove_participant(buyer, thread_id=thread, user_id=stranger.id)
    assert ids(list_folder(stranger, "inbox")) == []


def test_a_delivered_message_is_no_longer_pending(buyer, seller):
    one, two = start(buyer, seller), start(buyer, seller)
    assert [each["thread"] for each in async_to_sync(list_pending)(seller).rows] == [one, two]
    deliver_newest(seller, one)
    assert [each["thread"] for each in async_to_sync(list_pending)(seller).rows] == [two]


def test_pages_have_no_gaps_or_duplicates(buyer, seller):
    threads = [start(buyer, seller) for _ in range(7)]
    archive_thread(buyer, thread_id=threads[2])
    pin_thread(buyer, thread_id=threads[0])
    seen, cursor = [], ""
    while True:
        page = list_folder(buyer, "inbox", after=cursor, size=2)
        seen += ids(page)
        cursor = page.cursor
        if not cursor:
            break
    assert seen == [threads[0], *(threads[place] for place in (6, 5, 4, 3, 1))]


def test_iterating_all_threads_of_a_user_misses_none(buyer, seller):
    threads = {start(buyer, seller) for _ in range(3)}
    assert {each.thread_id for each in list_all_rows(buyer.id)} == threads
    leave = next(iter(threads))
    add_friend(buyer, thread_id=leave, user=make_person("Gus"))
    leave_thread(seller, thread_id=leave)
    assert {each.thread_id for each in list_all_rows(seller.id)} == threads - {leave}


def test_recent_writes_cost_one_more_request_for_a_limited_time(thread, buyer):
    with count_requests() as requests:
        list_folder(buyer, "inbox")
    assert sorted(requests) == ["BatchGetItem", "Query"]
    recent_writes.clear()
    with count_requests() as requests:
        list_folder(buyer, "inbox")
    assert requests == ["Query"]


def test_a_page_reads_the_rows_once_for_its_list_and_counts(thread, buyer):
    client = signed_in(buyer)
    with count_requests() as requests:
        client.get("/inbox/")
    assert sorted(requests) == ["BatchGetItem", *["Query"] * 4]
