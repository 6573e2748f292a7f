"""Search on the demo conversations in seven languages: the best result first, and no false
results."""

import secrets
from io import StringIO

import pytest
from django.core.management import call_command

from accounts.models import User
from core.normalise import normalise
from demo import content
from inbox.models import IndexedThread
from inbox.queries import FOLDERS, list_folder
from inbox.search import query_parser
from inbox.search.reconcile import rebuild_index
from inbox.search.search import SearchResult, search
from tests.threads.conftest import messages_of
from threads.rendering.markdown import to_text

pytestmark = pytest.mark.storage

CONVERSATIONS = {
    *("mara-jonas-studio", "mara-jonas-first", "mara-kwame-lookbook", "mara-tomas-portrait"),
    *("renata-yui-jacket", "samir-layla-enseigne", "samir-tomas-carte", "kwame-genevieve-book"),
    *("ximena-tomas-catalogo", "ximena-yui-postcards", "aoife-tomas-wedding"),
}
# The searching user, the query, and the other participant of the first result.
BEST = [
    ("mara", "Opalglas", "jonas"),
    ("mara", "kuche hohlkehle", "jonas"),
    ("jonas", "fragen gleich stuck", "mara"),
    ("tomas", "hojalata", "ximena"),
    ("tomas", "trasatlantico pulga", "ximena"),
    ("ximena", "catalogo derechos", "tomas"),
    ("tomas", "figuier terrasse", "samir"),
    ("samir", "fenetres rue", "tomas"),
    ("kwame", "cicatrice genou", "genevieve"),
    ("yui", "洗濯物", "renata"),
    ("yui", "裏庭", "renata"),
    ("renata", "鳥 バイク", "yui"),
    ("layla", "تينة", "samir"),
    ("samir", "مطعم", "layla"),
    ("tomas", "sintra dog", "aoife"),
    ("aoife", "QUINTA", "tomas"),
]
# Words and parts of words of which exactly the occurrences have to be found.
EVERY = ["glas", "hojalata", "裏庭", "庭", "التين", "lumière", "light", "photo", "mar"]


@pytest.fixture
def users(db, settings, tmp_path, monkeypatch) -> dict[str, User]:
    settings.SECRET_KEY = secrets.token_urlsafe(64)
    settings.DATA_DIR = tmp_path / "data"
    settings.EMBEDDED = True
    real = content.conversations
    monkeypatch.setattr(
        content, "conversations", lambda now: [one for one in real(now) if one.key in CONVERSATIONS]
    )
    call_command("seed_demo", stdout=StringIO())
    rebuild_index()
    assert IndexedThread.objects.count() == len(CONVERSATIONS)
    return {user.email.partition("@")[0]: user for user in User.objects.all()}


def found(user: User, text: str) -> list[SearchResult]:
    return search(user, query_parser.parse_query(text))


def all_messages(user: User) -> list[tuple[str, str]]:
    """Lists thread and normalised text of every message that the user can read."""
    rows = [row for folder in FOLDERS for row in list_folder(user, folder).rows]
    messages = [message for row in rows for message in messages_of(row.thread_id)]
    by_users = [message for message in messages if message.author_id]
    return [(one.thread_id, normalise(to_text(one.body or ""))) for one in by_users]


def test_the_best_result_is_first_and_all_are_found_in_every_language(users):
    for name, text, other in BEST:
        first, *_ = found(users[name], text) or [None]
        assert first is not None, text
        assert first.row.other["id"] == users[other].id, text
        assert any(piece.is_match for piece in first.hits[0].pieces), text
    for name in ("mara", "tomas", "yui", "samir"):
        messages = all_messages(users[name])
        for text in EVERY:
            expected: dict[str, int] = {}
            for thread, body in messages:
                if all(word in body for word in query_parser.parse_query(text).words):
                    expected[thread] = expected.get(thread, 0) + 1
            got = {one.row.thread_id: len(one.hits) + one.more for one in found(users[name], text)}
            assert got == expected, (name, text)
    check_filters(users)


def check_filters(users: dict[str, User]) -> None:
    tomas = users["tomas"]
    with_ximena = {one.row.thread_id for one in found(tomas, "in:ximena")}
    assert len(with_ximena) == 1
    cases = {
        "hojalata in:ximena": with_ximena,
        "hojalata in:juguetes": with_ximena,
        "hojalata in:samir": set(),
        "hojalata from:ximena": with_ximena,
        "hojalata from:samir": set(),
        "hojalata kind:project": set(),
        "hojalata kind:inquiry": with_ximena,
        "hojalata after:2999-01-01": set(),
        "hojalata before:2999-01-01": with_ximena,
    }
    for text, expected in cases.items():
        assert {one.row.thread_id for one in found(tomas, text)} == expected, text
    pictures = found(users["mara"], "has:image")
    assert [one.row.other["id"] for one in pictures] == [users["kwame"].id]
    mine = found(tomas, "from:me hojalata")
    assert {hit.author for one in mine for hit in one.hits} == {"You"}
