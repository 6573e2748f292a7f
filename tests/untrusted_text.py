"""The functions that process untrusted text, and the text that makes them slow.

A module that uses regular expressions belongs to one of these functions, or to MODULES_WITHOUT with
the reason; tests/test_untrusted_text.py fails otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass

from accounts.profiles.handles import handle_from_name, is_handle
from accounts.profiles.text import check_line
from contracts.actions.manifests import read_listing
from contracts.amounts import MAX_AMOUNT_CHARS, parse_amount
from core.http_client.download import parse_link
from core.ids import is_id
from core.normalise import normalise
from detection import judge
from files.names import clean_name, meaningful_name
from inbox.search.excerpts import count_whole, excerpt
from inbox.search.query_parser import parse_query as read_query
from privacy.anonymise import replace_name
from threads.forms import EditMessage, SendMessage, StartThread
from threads.models.message import MAX_BODY_LENGTH
from threads.rendering.attachments import preview_of
from threads.rendering.markdown import escape_markdown, strip_links, to_html, to_text

MAX_LINE = 200


@dataclass(frozen=True)
class Function:
    run: Callable[[str], object]
    # The length of the longest text that reaches the function.
    max_chars: int
    # The modules whose patterns it applies, and to how much of the text.
    modules: tuple[str, ...] = ()
    pattern_chars: int = MAX_BODY_LENGTH


def _send(text: str) -> object:
    ids = {"thread": text[:60], "client_id": text[:60], "message": text[:60], "reply_to": text[:60]}
    return SendMessage({**ids, "body": text}).is_valid(), EditMessage({**ids, "body": text})


DETECTION = (
    *("addresses", "detector", "lexicon", "model", "normalise"),
    *("numbers", "reading", "rules", "splitting"),
)
FUNCTIONS: dict[str, Function] = {
    "detector": Function(judge, MAX_BODY_LENGTH, tuple(f"detection.{m}" for m in DETECTION)),
    "detector, in pieces": Function(
        lambda text: judge(text[:240], [text[at : at + 240] for at in range(240, 960, 240)]),
        MAX_BODY_LENGTH,
    ),
    "Markdown": Function(to_html, MAX_BODY_LENGTH, ("threads.rendering.markdown",)),
    "Markdown as text": Function(to_text, MAX_BODY_LENGTH),
    "Markdown without links": Function(lambda text: strip_links(to_html(text)), MAX_BODY_LENGTH),
    "escaped Markdown": Function(escape_markdown, MAX_LINE),
    "preview": Function(lambda text: preview_of(text, None), MAX_BODY_LENGTH),
    "message form": Function(_send, MAX_BODY_LENGTH, ("threads.forms",)),
    "first contact form": Function(
        lambda text: StartThread({"subject": text, "body": text, "client_id": text}).is_valid(),
        MAX_BODY_LENGTH,
    ),
    "removing a name": Function(
        lambda text: replace_name(text, text[:60]), MAX_BODY_LENGTH, ("privacy.anonymise",)
    ),
    "search query": Function(read_query, MAX_BODY_LENGTH, ("inbox.search.query_parser",)),
    "search text": Function(normalise, MAX_BODY_LENGTH),
    "search excerpt": Function(
        lambda text: excerpt(text, [text[:1], text[:3], "a"]), MAX_BODY_LENGTH
    ),
    "search rank": Function(
        lambda text: count_whole(text, [text[:1], text[:3], "a"]), MAX_BODY_LENGTH
    ),
    "file name": Function(
        lambda text: clean_name(text, "image", "image/jpeg"), MAX_BODY_LENGTH, ("files.names",)
    ),
    "file name for the detector": Function(meaningful_name, MAX_BODY_LENGTH),
    "link": Function(parse_link, MAX_BODY_LENGTH, ("core.http_client.download",)),
    "profile line": Function(check_line, MAX_BODY_LENGTH, ("accounts.profiles.text",)),
    "handle": Function(handle_from_name, MAX_BODY_LENGTH, ("accounts.profiles.handles",)),
    "handle check": Function(is_handle, MAX_BODY_LENGTH),
    "id": Function(lambda text: is_id("thrd", text), MAX_BODY_LENGTH, ("core.ids",)),
    "amount": Function(
        lambda text: parse_amount(text, currency="EUR", locale="de"),
        MAX_BODY_LENGTH,
        ("contracts.amounts",),
        MAX_AMOUNT_CHARS,
    ),
    "list of deliverables": Function(
        read_listing, MAX_BODY_LENGTH, ("contracts.actions.manifests",)
    ),
}
# Modules with patterns that no unbounded untrusted text reaches.
MODULES_WITHOUT = {
    "contracts.documents.clauses": "collapses white space in fields of at most 200 characters",
    "files.file_types": "patterns of fixed length on bytes",
    "inbox.forms": "patterns of fixed length",
    "inbox.queries": "patterns of fixed length",
    "inbox.views": "patterns of fixed length",
    "threads.dynamodb.keys": "patterns of fixed length",
    "messaging_site.script_modules": "reads our own scripts",
    "demo.content": "reads our own demo texts",
    "privacy.export.account": "one pass over a subject of at most 140 characters",
    "threads.management.commands.archive_messages": "an operator's argument",
    "core.fragments": "our own template",
    "core.pages": "a random word, and the name of a time zone up to a bracket",
}

UNITS = [
    *("1", "0", "o0l1", "-1", "1.", "1 ", "1,", "1'", "1 000 ", "1.000.", "12:34", "2020-", "1x "),
    *("1e9", "$1", "+1 (", "一", "１", "a", "a.", "a@", "a_", "_", "(", "[", "[a](", "![](", "*_"),
    *("`", "<a", "> ", "- a\n", "://", "http://", "www.a.", "é.com ", "\n", ".", "da ", "wire "),
    *("漢", "\u200b", "ab.de ", "ab@cd.de "),
]
# Words, numbers and addresses that are all different, so that no cache of words helps.
COUNTED = ("w{}x ", "{} ", "x{}.de ", "http://x.de/{} ", "@name{} ", "**{}** ")
# A run that nearly matches is the slow case, so each shape also ends in something that breaks it.
ENDS = ("", "a", "!")


def shapes(size: int) -> list[str]:
    """More than forty shapes, each filled up to the size."""
    cut = [(unit * size)[: size - len(end)] + end for unit in UNITS for end in ENDS]
    halves = [
        (one * size)[: size // 2] + (other * size)[: size - size // 2]
        for one, other in zip(UNITS, UNITS[1:] + UNITS[:1], strict=True)
    ]
    counted = ["".join(map(one.format, range(size)))[:size] for one in COUNTED]
    return cut + halves + counted
