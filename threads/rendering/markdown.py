"""The small Markdown subset of messages, made safe on the server."""

import functools
import re

import nh3
from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.token import Token

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


# Most of what people write: one line of words. It needs no parser, and no cleaning.
_WORDS = re.compile(r"[^\W\d_](?:[^\W_]|[ ,;?!'\"()%+=–—…’“”-]|\.(?= |$))*(?<! )")


# The parser takes time for every mark, and for every address searches all that stands before it.
# People write a few dozen; what has more is shown as it was typed.
_MARKS = re.compile(r"[\[*_`<@.:\\\n]")
MAX_MARKS = 600
MAX_ADDRESSES = 100


def to_html(body: str) -> str:
    if _WORDS.fullmatch(body):
        return f"<p>{body}</p>\n"
    return _parsed_to_html(body) if _can_be_parsed(body) else _typed_to_html(body)


def _can_be_parsed(body: str) -> bool:
    return body.count("://") <= MAX_ADDRESSES and len(_MARKS.findall(body)) <= MAX_MARKS


def _typed_to_html(body: str) -> str:
    return f"<p>{escape(body.strip()).replace(chr(10), '<br>' + chr(10))}</p>\n"


def _parsed_to_html(body: str) -> str:
    return nh3.clean(
        _parser().render(body),
        tags=TAGS,
        attributes={"a": {"href"}, "ol": {"start"}},
        url_schemes=SCHEMES,
        # A link of a stranger gets neither our referrer nor a handle on our window.
        link_rel="nofollow noopener noreferrer ugc",
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def strip_links(html: str) -> str:
    """What `to_html` made, where nobody should follow a link yet: its words stay."""
    return nh3.clean(html, tags=TAGS - {"a"}, attributes={"ol": {"start"}})


def to_text(body: str) -> str:
    """What is left when the marks are taken away, in one line: for previews and announcements."""
    if _WORDS.fullmatch(body) or not _can_be_parsed(body):
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
    """For the middle of a text of ours: a star in a title is a star."""
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)
