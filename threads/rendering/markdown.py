"""The Markdown subset of messages, rendered to sanitised HTML."""

import functools
import re

import nh3
from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.token import Token

from core.fragments import FragmentCache

TAGS = {"p", "br", "strong", "em", "code", "pre", "a", "ul", "ol", "li", "blockquote"}
SCHEMES = {"http", "https", "mailto"}


@functools.cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"html": False, "breaks": True, "linkify": True})
    return parser.enable(
        [
            "autolink",
            "backticks",
            "blockquote",
            "emphasis",
            "escape",
            "fence",
            "link",
            "linkify",
            "list",
            "newline",
            "balance_pairs",
            "fragments_join",
        ]
    )


# One line of plain words, as most messages are. It needs no parser and no sanitising.
_PLAIN_WORDS = re.compile(r"[^\W\d_](?:[^\W_]|[ ,;?!'\"()%+=–—…’“”-]|\.(?= |$))*(?<! )")


# The parser takes time for every markup character, and for every URL searches all text before it.
# People write a few dozen; a text with more is shown as it was typed.
_MARKUP_CHARS = re.compile(r"[\[*_`<@.:\\\n]")
MAX_MARKUP_CHARS = 600
MAX_URLS = 100


# Parsed texts; parsing takes longer than everything else about a message.
_parsed = FragmentCache(max_entries=20_000, max_bytes=16 * 1024 * 1024)


def to_html(body: str) -> str:
    if _PLAIN_WORDS.fullmatch(body):
        return f"<p>{body}</p>\n"
    html = _parsed.get(body)
    if html is None:
        html = _parsed_to_html(body) if _can_be_parsed(body) else _plain_to_html(body)
        _parsed.put(body, html)
    return html


def _can_be_parsed(body: str) -> bool:
    return body.count("://") <= MAX_URLS and len(_MARKUP_CHARS.findall(body)) <= MAX_MARKUP_CHARS


def _plain_to_html(body: str) -> str:
    return f"<p>{escape(body.strip()).replace(chr(10), '<br>' + chr(10))}</p>\n"


def _parsed_to_html(body: str) -> str:
    return nh3.clean(
        _parser().render(body),
        tags=TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes=SCHEMES,
        # Linked sites get neither a referrer nor access to our window.
        link_rel="nofollow noopener noreferrer ugc",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def strip_links(html: str) -> str:
    """Removes the links from a result of `to_html` and keeps their text."""
    return nh3.clean(html, tags=TAGS - {"a"}, attributes={"ol": {"start"}})


def to_text(body: str) -> str:
    """The text without markup, in one line, for previews and announcements."""
    if _PLAIN_WORDS.fullmatch(body) or not _can_be_parsed(body):
        return " ".join(body.split())
    return _parsed_to_text(body)


def _parsed_to_text(body: str) -> str:
    return " ".join("".join(_words(_parser().parse(body))).split())


def _words(tokens: list[Token]) -> list[str]:
    words: list[str] = []
    for token in tokens:
        if token.children:
            words += _words(token.children)
        elif token.type in ("text", "code_inline", "fence"):
            words.append(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            words.append(" ")
        if token.block:
            words.append(" ")
    return words


def escape_markdown(text: str) -> str:
    """Escapes text for use inside a Markdown text, so that a star in a title stays a star."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)
