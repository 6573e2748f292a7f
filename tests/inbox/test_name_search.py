"""Finding participants and threads by a few letters: only the user's own, and by current names."""

import pytest

from accounts.actions import PROFILE_FIELDS, change_profile
from core.outbox.processing import process_due
from inbox.models import IndexedThread
from inbox.search import index, indexer, query_parser
from inbox.search.name_search import search_names
from inbox.search.search import search
from tests.threads.conftest import ask, make_person, say, start
from threads.actions.participants import leave_thread
from threads.dynamodb.store import count_requests

pytestmark = pytest.mark.storage


def found(user, text: str) -> list[str]:
    indexer.index_queued()
    return [row.thread_id for row in search_names(user, text).rows]


def found_users(user, text: str) -> list[str]:
    indexer.index_queued()
    return [person["name"] for person in search_names(user, text).people]


def test_threads_are_found_by_names_subjects_and_handles_in_any_script(buyer):
    jose, yuki = make_person("José Núñez"), make_person("Mika")
    yuki.display_name = "小林 結衣"
    yuki.save()
    cats, shoes = start(buyer, jose, subject="Cats"), start(buyer, yuki, subject="Straßenschuhe")
    for text in ("jose", "NUNEZ", "cat", "jo nu", jose.handle, f"@{jose.handle}"):
        assert found(buyer, text) == [cats], text
    for text in ("結", "小林", "strasse", "schuhe 小林"):
        assert found(buyer, text) == [shoes], text
    assert found_users(buyer, "jose") == ["José Núñez"]
    assert found_users(buyer, "cats") == []
    assert found(buyer, "zzz") == found_users(buyer, "zzz") == []


def test_names_with_the_prefix_are_first_and_then_the_newest(buyer):
    old, new, inside = (
        start(buyer, make_person(name), subject="Talk") for name in ("Ann", "Anna", "Joanna")
    )
    assert found(buyer, "ann") == [new, old, inside]
    say(buyer, old)
    assert found(buyer, "ann") == [old, new, inside]
    assert found(buyer, "") == [old, inside, new]


def test_the_users_own_name_is_not_searched(buyer):
    """It is in all of the user's conversations, so two of its letters would match every one of
    them."""
    una, other_bea = make_person("Una"), make_person("Beatrix")
    start(buyer, una)
    theirs = start(buyer, other_bea)
    assert found(buyer, buyer.display_name[:2]) == [theirs]
    assert found(buyer, buyer.handle) == []
    assert len(found(una, buyer.display_name[:2])) == 1
    indexer.index_queued()
    assert [each.row.thread_id for each in search(buyer, query_parser.parse_query("in:bea"))] == [
        theirs
    ]


def test_only_own_threads_are_found_and_none_after_leaving(thread, buyer, seller, stranger):
    assert found(buyer, "sam") == [thread]
    assert found(stranger, "sam") == []
    leave_thread(buyer, thread_id=thread)
    # Whether the index is up to date or not.
    assert search_names(buyer, "sam").rows == search_names(buyer, "sam").people == []
    assert found(buyer, "sam") == []


def test_a_stranger_is_found_only_by_the_whole_handle(buyer, stranger):
    assert (
        found_users(buyer, stranger.handle) == found_users(buyer, f"@{stranger.handle}") == ["Stig"]
    )
    assert found_users(buyer, stranger.handle[:-1]) == found_users(buyer, "Stig") == []
    stranger.is_active = False
    stranger.save()
    assert found_users(buyer, stranger.handle) == []
    assert found_users(buyer, buyer.handle) == []


def test_a_request_can_be_found_too(buyer, seller):
    thread = ask(buyer, seller)
    assert found(seller, "bea") == [thread]


def test_a_new_name_is_found_and_the_old_one_is_not(thread, buyer, seller):
    say(seller, thread, "The light is good")
    assert found(buyer, "sam") == [thread]
    fields = {name: getattr(seller, name) for name in PROFILE_FIELDS}
    handle = seller.handle.replace("sam", "ulrike")
    change_profile(seller, **fields | {"display_name": "Ulrike", "handle": handle})
    process_due()
    assert found(buyer, "sam") == []
    assert found(buyer, "ulr") == [thread]
    assert search(buyer, query_parser.parse_query("light from:ulrike"))
    assert not search(buyer, query_parser.parse_query("light from:sam"))
    grown = IndexedThread.objects.values_list("about", "last_at").get(pk=thread)
    index.remove_thread(thread)
    index.index_thread(thread)
    assert IndexedThread.objects.values_list("about", "last_at").get(pk=thread) == grown


@pytest.mark.parametrize("text", ["%", "_", "'", "\\", '"', "a" * 500, "\x00", "@"])
def test_no_text_breaks_the_name_search(thread, buyer, text):
    assert search_names(buyer, text).people == []


def test_the_cost_of_a_name_search(buyer, seller, django_assert_max_num_queries):
    for _ in range(9):
        start(buyer, seller)
    indexer.index_queued()
    with count_requests() as requests, django_assert_max_num_queries(2):
        assert len(search_names(buyer, "sam").rows) == 7
    assert requests == ["BatchGetItem"]
