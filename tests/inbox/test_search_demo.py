"""Search on the demo conversations: the right one first, in seven languages, and nothing else."""

import secrets
from io import StringIO

import pytest
from django.core.management import call_command

from accounts.models import User
from demo import content
from inbox.models import IndexedThread
from inbox.queries import FOLDERS, list_folder
from inbox.search import query_parser
from inbox.search.normalise import normalise
from inbox.search.reconcile import rebuild_index
from inbox.search.search import SearchResult, search
from tests.threads.conftest import messages_of
from threads.rendering.markdown import to_text

pytestmark = pytest.mark.storage

STORIES = {
    *("mara-jonas-studio", "mara-jonas-first", "mara-kwame-lookbook", "mara-tomas-portrait"),
    *("renata-yui-jacket", "samir-layla-enseigne", "samir-tomas-carte", "kwame-genevieve-book"),
    *("ximena-tomas-catalogo", "ximena-yui-postcards", "aoife-tomas-wedding"),
}
# Who asks, what for, and with whom the first that is found should be.
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
# Words, and parts of words, of which every occurrence should be found, and nothing besides.
EVERY = ["glas", "hojalata", "裏庭", "庭", "التين", "lumière", "light", "photo", "mar"]


@pytest.fixture
def people(db, settings, tmp_path, monkeypatch) -> dict[str, User]:
    settings.SECRET_KEY = secrets.token_urlsafe(64)
    settings.DATA_DIR = tmp_path / "data"
    settings.EMBEDDED = True
    real = content.conversations
    monkeypatch.setattr(
        content, "conversations", lambda now: [one for one in real(now) if one.key in STORIES]
    )
    call_command("seed_demo", stdout=StringIO())
    rebuild_index()
    assert IndexedThread.objects.count() == len(STORIES)
    return {user.email.partition("@")[0]: user for user in User.objects.all()}


def found(user: User, text: str) -> list[SearchResult]:
    return search(user, query_parser.parse_query(text))


def all_said(user: User) -> list[tuple[str, str]]:
    """Thread and folded text of every message that this person can read."""
    rows = [row for folder in FOLDERS for row in list_folder(user, folder).rows]
    said = [message for row in rows for message in messages_of(row.thread_id)]
    people = [message for message in said if message.author_id]
    return [(one.thread_id, normalise(to_text(one.body or ""))) for one in people]


def test_the_best_comes_first_and_everything_is_found_in_every_language(people):
    for name, text, other in BEST:
        first, *_ = found(people[name], text) or [None]
        assert first is not None, text
        assert first.row.other["id"] == people[other].id, text
        assert any(piece.is_match for piece in first.hits[0].pieces), text
    for name in ("mara", "tomas", "yui", "samir"):
        said = all_said(people[name])
        for text in EVERY:
            expected: dict[str, int] = {}
            for thread, body in said:
                if all(word in body for word in query_parser.parse_query(text).words):
                    expected[thread] = expected.get(thread, 0) + 1
            got = {one.row.thread_id: len(one.hits) + one.more for one in found(people[name], text)}
            assert got == expected, (name, text)
    check_filters(people)


def check_filters(people: dict[str, User]) -> None:
    tomas = people["tomas"]
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
    pictures = found(people["mara"], "has:image")
    assert [one.row.other["id"] for one in pictures] == [people["kwame"].id]
    mine = found(tomas, "from:me hojalata")
    assert {hit.author for one in mine for hit in one.hits} == {"You"}
