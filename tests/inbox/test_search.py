"""Search: parts of words, all scripts, filters, and only messages that the user may read."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client

from core.normalise import normalise
from core.outbox.processing import process_due
from inbox.models import IndexedMessage, IndexedPerson
from inbox.search import indexer, query_parser, queue, reconcile
from inbox.search.excerpts import count_whole, excerpt
from inbox.search.search import search
from privacy.actions import delete_account
from tests.inbox.conftest import discard_queue
from tests.threads.conftest import add_friend, make_person, say, start
from tests.threads.conftest import ask as send_request
from threads.actions.blocks import block_person
from threads.actions.participants import leave_thread, remove_participant
from threads.actions.revisions import edit_message, remove_message
from threads.actions.staff import (
    hide_message,
    redact_message,
    unhide_message,
)
from threads.archive.archiver import archive_thread
from threads.dynamodb.store import count_requests
from threads.models import Message

pytestmark = pytest.mark.storage
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
BODIES = {
    "de": "Die Straßenbahn fährt um zehn, wir nehmen das Überlicht.",
    "ja": "来週の火曜日、商品の写真を撮影したいです。",
    "zh": "我们星期五在上海拍摄，预算一万元。",
    "ko": "다음 주에 제품 사진을 촬영하고 싶어요.",
    "ar": "سأرسل لك العرض غدًا صباحًا",
    "es": "¿Podríamos fotografiar los juguetes el miércoles?",
}


@pytest.fixture(autouse=True)
def empty_queue() -> None:
    """Removes entries queued by other tests in this process."""
    discard_queue()


def find(user, text: str) -> list[str]:
    """Returns the bodies of the results, best first."""
    return [
        "".join(p.text for p in hit.pieces)
        for found in index_and_search(user, text)
        for hit in found.hits
    ]


def index_and_search(user, text: str):
    indexer.index_queued()
    return search(user, query_parser.parse_query(text))


@pytest.mark.parametrize(
    ("words", "language"),
    [
        ("strassenbahn", "de"),
        ("bahn", "de"),
        ("uberlicht", "de"),
        ("写真", "ja"),
        ("商品の写", "ja"),
        ("上海", "zh"),
        ("拍", "zh"),
        ("사진", "ko"),
        ("촬영하고", "ko"),
        ("العرض", "ar"),
        ("miercoles", "es"),
        ("JUGUETES podr", "es"),
        ("guet fotogra", "es"),
    ],
)
def test_parts_of_words_are_found_in_every_language(thread, buyer, seller, words, language):
    for body in BODIES.values():
        say(buyer, thread, body)
    assert find(seller, words) == [BODIES[language]]


def test_all_words_have_to_match_and_whole_words_rank_first(buyer, seller):
    part, whole, one = (start(buyer, seller, "Hello") for _ in range(3))
    say(buyer, whole, "The light in the hall")
    say(buyer, part, "The daylight in the hallway")
    say(buyer, one, "Only light")
    found = index_and_search(seller, "light hall")
    assert [each.row.thread_id for each in found] == [whole, part]


def test_matching_words_are_marked(thread, buyer, seller):
    say(buyer, thread, "Die Straßenbahn fährt um **zehn** Uhr")
    ((hit,),) = [found.hits for found in index_and_search(seller, "strasse fahrt")]
    assert [piece.text for piece in hit.pieces if piece.is_match] == ["Straße", "fährt"]
    assert "".join(piece.text for piece in hit.pieces) == "Die Straßenbahn fährt um zehn Uhr"


def test_a_long_text_is_shown_around_the_match():
    pieces = excerpt("a " * 200 + "needle" + " b" * 200, ["needle"])
    assert (pieces[0].text, pieces[-1].text) == ("… ", " …")
    assert [piece.text for piece in pieces if piece.is_match] == ["needle"]
    assert sum(len(piece.text) for piece in pieces) < 200


def test_an_excerpt_begins_and_ends_at_word_boundaries():
    text = (
        "Somebody came around the corner. " * 3 + "A needle. " + "And nothing of it was lost. " * 9
    )
    shown = "".join(piece.text for piece in excerpt(text, ["needle"]))
    whole = shown.removeprefix("… ").removesuffix(" …")
    assert shown != whole
    assert f" {whole} " in f" {text} "
    # Text without spaces is cut at the usual length.
    assert len(excerpt("写" * 200 + "真" + "写" * 200, ["真"])[1].text) == 60


def test_all_matches_of_a_conversation_can_be_shown(thread, buyer, seller, stranger):
    other = start(buyer, seller, "The light elsewhere")
    for number in range(5):
        say(buyer, thread, f"The light, number {number}")
    indexer.index_queued()
    page = as_page(seller, q="light")
    assert page.count('class="hit"') == 4
    assert "2 more in this conversation" in page
    link = re.search(r'found-more"><a href="([^"]+)"', page)[1].replace("&amp;", "&")
    page = as_page(seller, link)
    assert page.count('class="hit"') == 5
    assert other not in page.partition("search-results")[2]
    # A conversation of other users shows nothing.
    assert "Nothing found" in as_page(stranger, link)
    assert as_page(seller, q="light", thread="thrd_1", status=404)


def as_page(user, query: str = "", *, status: int = 200, **fields: str) -> str:
    client = Client()
    client.force_login(user, backend=BACKEND)
    answer = client.get(f"/inbox/search/{query}", fields or None)
    assert answer.status_code == status
    return answer.content.decode()


def test_a_result_links_to_the_message_in_its_thread(thread, buyer, seller):
    message = say(buyer, thread, "Somewhere in the middle")
    for _ in range(60):
        say(buyer, thread)
    ((hit,),) = [found.hits for found in index_and_search(seller, "somewhere")]
    assert hit.url == f"/threads/{thread}/messages/{message.id}/"
    client = Client()
    client.force_login(seller, backend=BACKEND)
    assert message.id in client.get(hit.url).content.decode()


# --- Filters


def test_the_filters(buyer, seller):
    una = make_person("Una")
    wedding = start(buyer, seller, "The light is good", subject="A wedding")
    shoes = start(una, seller, "The light is bad", subject="Shoes")
    say(seller, wedding, "Which light?")
    cases = {
        "light from:bea": ["The light is good"],
        "light from:me": ["Which light?"],
        f"light from:@{una.handle}": ["The light is bad"],
        "light in:shoes": ["The light is bad"],
        "light in:una": ["The light is bad"],
        'light in:"a wedding" from:bea': ["The light is good"],
        "light kind:project": [],
        "light before:2020-01-01": [],
        "light after:2020-01-01 from:bea": ["The light is good"],
        "light after:2999-01-01": [],
        "light has:image": [],
        "card:extras": [],
        "from:una": ["The light is bad"],
    }
    for text, expected in cases.items():
        assert sorted(find(seller, text)) == sorted(expected), text
    assert {each.row.thread_id for each in index_and_search(seller, "light")} == {wedding, shoes}


def test_files_and_cards_are_found_by_type(thread, buyer, seller):
    image, file, card = (say(buyer, thread, f"Look at number {n}") for n in range(3))
    image.update([Message.attachments.set([{"kind": "image", "name": "oak.jpg"}])])
    file.update([Message.attachments.set([{"kind": "pdf", "name": "offer.pdf"}])])
    card.update([Message.action.set({"type": "extras"})])
    for message in (image, file, card):
        queue.enqueue(thread, message.id)
    assert find(seller, "has:image") == ["Look at number 0"]
    assert find(seller, "has:file look") == ["Look at number 1"]
    assert find(seller, "has:card") == find(seller, "card:extras") == ["Look at number 2"]
    assert find(seller, "oak") == ["Look at number 0"]


def test_a_day_at_the_edge_of_the_calendar_is_invalid(thread, seller):
    for text in ("after:9999-12-31", "before:0001-01-01", "after:0001-01-01"):
        assert query_parser.parse_query(text).ignored_filters == [text]
        assert find(seller, f"light {text}") == []


def test_unknown_filters_are_reported():
    question = query_parser.parse_query('light kind:party before:soon has:fun from:"Mara L"')
    assert question.ignored_filters == ["kind:party", "before:soon", "has:fun"]
    assert (question.words, question.by) == (["light"], "mara l")
    assert query_parser.parse_query("   ").is_empty
    assert query_parser.parse_query('""').is_empty


@pytest.mark.parametrize(
    "text", ['"', "'; drop", "%", "_", "a\\", "AND OR", "*", '"" ""', "x" * 500, "a\x00", "in:\x00"]
)
def test_no_text_breaks_the_search(thread, buyer, seller, text):
    say(buyer, thread, "100% of a_b")
    assert isinstance(index_and_search(seller, text), list)


def test_a_percent_sign_is_searched_literally(thread, buyer, seller):
    say(buyer, thread, "100% sure")
    say(buyer, thread, "1000 sure")
    assert find(seller, "0%") == ["100% sure"]


# --- Permissions


def test_only_threads_of_the_user_are_searched(thread, buyer, seller, stranger):
    say(buyer, thread, "A secret between us")
    assert find(seller, "secret")
    assert find(stranger, "secret") == []


def test_an_added_participant_finds_only_later_messages(thread, buyer, seller, stranger):
    say(buyer, thread, "A secret before")
    add_friend(buyer, thread_id=thread, user=stranger)
    say(buyer, thread, "A secret after")
    assert find(stranger, "secret") == ["A secret after"]
    remove_participant(buyer, thread_id=thread, user_id=stranger.id)
    assert find(stranger, "secret") == []


def test_a_user_who_left_finds_nothing_even_with_a_stale_index(thread, buyer, seller):
    say(buyer, thread, "A secret between us")
    indexer.index_queued()
    leave_thread(seller, thread_id=thread)
    assert search(seller, query_parser.parse_query("secret")) == []
    assert IndexedPerson.objects.filter(user_id=seller.id).exists()
    assert find(seller, "secret") == []
    assert not IndexedPerson.objects.filter(user_id=seller.id).exists()


def test_a_removed_message_is_not_found_even_with_a_stale_index(thread, buyer, seller):
    message = say(buyer, thread, "A secret that slipped out")
    indexer.index_queued()
    remove_message(buyer, thread_id=thread, message_id=message.id)
    assert search(seller, query_parser.parse_query("secret")) == []
    assert find(seller, "secret") == []
    assert not IndexedMessage.objects.filter(message_id=message.id).exists()


def test_an_edited_message_is_found_by_its_current_text(thread, buyer, seller):
    message = say(buyer, thread, "The first version")
    indexer.index_queued()
    edit_message(buyer, thread_id=thread, message_id=message.id, body="The second try")
    assert find(seller, "version") == []
    assert find(seller, "second") == ["The second try"]


def test_a_hidden_message_is_removed_from_the_index_until_unhidden(thread, buyer, seller):
    message = say(buyer, thread, "A secret that staff hide")
    indexer.index_queued()
    hide_message(thread_id=thread, message_id=message.id)
    # It is not found at once, including by its author.
    for user in (buyer, seller):
        assert search(user, query_parser.parse_query("secret")) == []
    indexer.index_queued()
    assert not IndexedMessage.objects.filter(message_id=message.id).exists()
    unhide_message(thread_id=thread, message_id=message.id)
    assert find(seller, "secret") == ["A secret that staff hide"]


def test_redacted_text_is_not_found_even_with_a_stale_index(thread, buyer, seller):
    message = say(buyer, thread, "Call 4411223344 about the light")
    indexer.index_queued()
    redact_message(thread_id=thread, message_id=message.id, text="4411223344")
    # A result would reveal the redacted text.
    for user in (buyer, seller):
        assert search(user, query_parser.parse_query("4411223344")) == []
    assert find(seller, "4411223344") == []
    assert not IndexedMessage.objects.filter(folded__contains="4411223344").exists()
    assert find(seller, "light") == ["Call █████ about the light"]


def test_text_removed_by_an_edit_is_not_found_at_once(thread, buyer, seller):
    message = say(buyer, thread, "The first version")
    indexer.index_queued()
    edit_message(buyer, thread_id=thread, message_id=message.id, body="The second try")
    assert search(seller, query_parser.parse_query("version")) == []


def test_a_participant_who_rejoins_finds_only_later_messages(thread, buyer, seller, stranger):
    add_friend(buyer, thread_id=thread, user=stranger)
    say(buyer, thread, "A secret while there")
    leave_thread(stranger, thread_id=thread)
    say(buyer, thread, "A secret while away")
    assert find(stranger, "secret") == []
    add_friend(buyer, thread_id=thread, user=stranger)
    assert find(stranger, "secret") == []
    say(buyer, thread, "A secret after")
    assert find(stranger, "secret") == ["A secret after"]


def test_a_request_is_found_by_its_sender_and_its_recipient(buyer, seller, stranger):
    send_request(buyer, seller, "A secret wish")
    assert find(buyer, "secret") == find(seller, "secret") == ["A secret wish"]
    assert find(stranger, "secret") == []


def test_messages_before_a_block_are_found_by_both(thread, buyer, seller):
    """Both can still read them, so both can find them."""
    say(buyer, thread, "A secret between us")
    block_person(seller, blocked=buyer)
    assert find(buyer, "secret") == find(seller, "secret") == ["A secret between us"]


def test_messages_of_a_deleted_account_are_found_but_not_by_name(thread, buyer, seller):
    name, handle = seller.display_name, seller.handle
    say(seller, thread, "A secret between us")
    assert find(buyer, f"secret from:{name}")
    delete_account(seller)
    process_due()
    assert find(buyer, "secret") == ["A secret between us"]
    for filters in (f"from:{name}", f"from:@{handle}", f"in:{name}", f"in:{handle}"):
        assert find(buyer, f"secret {filters}") == [], filters
    assert not IndexedPerson.objects.filter(user_id=seller.id).exists()


def test_archived_messages_are_found_under_the_same_rules(thread, buyer, seller, stranger):
    messages = [say(buyer, thread, f"A secret, {what}") for what in ("kept", "hidden", "removed")]
    add_friend(buyer, thread_id=thread, user=stranger)
    archive_thread(thread, since="2020-01-01", before=datetime.now(UTC) + timedelta(seconds=1))
    assert find(seller, "kept secret") == ["A secret, kept"]
    # The index does not contain the change yet.
    hide_message(thread_id=thread, message_id=messages[1].id)
    remove_message(buyer, thread_id=thread, message_id=messages[2].id)
    assert [len(each.hits) for each in search(seller, query_parser.parse_query("secret"))] == [1]
    assert find(seller, "secret") == ["A secret, kept"]
    assert find(stranger, "secret") == []
    reconcile.rebuild_index()
    assert find(seller, "secret") == ["A secret, kept"]
    leave_thread(seller, thread_id=thread)
    assert search(seller, query_parser.parse_query("secret")) == []


# --- The page


def test_a_search_costs_few_requests(buyer, seller):
    for _ in range(12):
        say(buyer, start(buyer, seller), "The same words everywhere")
    indexer.index_queued()
    with count_requests() as requests:
        assert len(search(seller, query_parser.parse_query("words"))) == 12
    assert requests == ["BatchGetItem", "BatchGetItem"]


def test_the_search_page(thread, buyer, seller):
    say(buyer, thread, "A <b>bold</b> claim & more")
    indexer.index_queued()
    client = Client()
    client.force_login(seller, backend=BACKEND)
    page = client.get("/inbox/search/", {"q": "bold kind:party"}).content.decode()
    assert "<mark>bold</mark>" in page
    assert "<b>bold" not in page
    assert "kind:party" in page
    assert "Nothing found" in client.get("/inbox/search/", {"q": "zzz"}).content.decode()
    assert client.get("/inbox/search/").status_code == 200


def test_a_quoted_word_at_the_edge_of_a_text_is_counted():
    assert count_whole("free in May", ["may ", " free", "in"]) == 3


def test_normalisation():
    assert normalise("Straße ＡＢＣ É ﬁ") == "strasse abc e fi"
    assert normalise("한국어") == "한국어"
    assert connection.vendor in ("sqlite", "postgresql")
