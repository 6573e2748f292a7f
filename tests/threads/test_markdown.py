"""The Markdown subset: small, and safe for any input."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from threads.rendering import markdown
from threads.rendering.markdown import SCHEMES, TAGS, to_html, to_text

# `title` of a link is plain text, shown on hover.
ATTRIBUTES = {"a": {"href", "rel", "target", "title"}, "ol": {"start"}}

# Typed text mixed with Markdown and HTML syntax.
MARKS = st.sampled_from(
    [
        *"*_`~[]()<>!#|\\&\"'>-+\n\t ",
        "**",
        "```",
        "](",
        "](javascript:alert(1))",
        "<script>",
        "</p>",
        "<img src=x onerror=alert(1)>",
        "![x](http://parley.example/x.png)",
        "https://parley.example/a?b=c&d",
        "javascript:alert(1)",
        "data:text/html,x",
        "\n- ",
        "\n1. ",
        "\n> ",
        "\n\n",
        "    ",
        "&lt;",
        "&#x6a;",
        "mailto:a@parley.example",
        "www.parley.example",
        "\u202e",
        "\x00",
        "写",
        "🐘",
    ]
)
TYPED = st.lists(st.one_of(MARKS, st.text(max_size=8)), max_size=40).map("".join)


class Reader(HTMLParser):
    """Parses HTML like a browser."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


@settings(max_examples=400, deadline=None)
@given(TYPED)
@example("[x](javascript:alert(1))")
@example("[x](JaVaScRiPt:alert(1))")
@example("[x](java\nscript:alert(1))")
@example("[x](&#106;avascript:alert(1))")
@example("[x](\x01javascript:alert(1))")
@example("<javascript:alert(1)>")
@example("<a href='javascript:alert(1)'>x</a>")
@example('[x](https://parley.example "onmouseover=alert(1)")')
@example("[x](//evil.example)")
@example("`" * 3 + "html\n<script>alert(1)</script>")
@example("> " * 60 + "deep")
@example("- " * 60 + "deep")
@example("*" * 500)
@example("[" * 300)
def test_any_input_renders_only_allowed_tags_and_attributes(body):
    reader = Reader(to_html(body))
    assert reader.open == []
    for tag, attributes in reader.found:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES.get(tag, set())
        if tag == "a" and "href" in attributes:
            # Browsers ignore whitespace and control characters in a scheme.
            href = re.sub(r"[\x00-\x20]", "", attributes["href"])
            scheme = re.match(r"([^/?#]*?):", href)
            assert scheme is None or scheme[1].lower() in SCHEMES
            assert attributes["target"] == "_blank"
            assert {"noopener", "nofollow"} <= set(attributes["rel"].split())


@settings(max_examples=300, deadline=None)
@given(TYPED)
def test_a_preview_is_one_line_of_plain_text(body):
    text = to_text(body)
    assert text == " ".join(text.split())


WORDS = st.text(
    st.characters(categories=["L", "N", "Lo"], max_codepoint=0xFFFF), min_size=1, max_size=12
)


@settings(max_examples=300, deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=20))
def test_plain_text_is_unchanged(words):
    body = " ".join(words)
    assert to_text(body) == " ".join(body.split())
    assert " ".join(Reader(to_html(body)).text.split()) == " ".join(body.split())


@settings(max_examples=200, deadline=None)
@given(TYPED)
def test_the_preview_has_all_shown_text(body):
    shown = re.sub(r"\s", "", Reader(to_html(body)).text)
    assert re.sub(r"\s", "", to_text(body)) == shown


# --- Examples


@pytest.mark.parametrize(
    ("body", "html"),
    [
        ("Hello", "<p>Hello</p>"),
        ("**bold** and __bold__", "<p><strong>bold</strong> and <strong>bold</strong></p>"),
        ("*italic* and _italic_", "<p><em>italic</em> and <em>italic</em></p>"),
        ("`x < y`", "<p><code>x &lt; y</code></p>"),
        ("```\nx = 1\n```", "<pre><code>x = 1\n</code></pre>"),
        ("one\ntwo", "<p>one<br>\ntwo</p>"),
        ("one\n\ntwo", "<p>one</p>\n<p>two</p>"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>'),
        ("> said", "<blockquote>\n<p>said</p>\n</blockquote>"),
        (r"2 \* 3 \* 4", "<p>2 * 3 * 4</p>"),
        ("snake_case_name", "<p>snake_case_name</p>"),
    ],
)
def test_the_subset(body, html):
    assert to_html(body).strip() == html


@pytest.mark.parametrize(
    ("body", "href", "text"),
    [
        ("[our studio](https://parley.example)", "https://parley.example", "our studio"),
        ("https://parley.example/a", "https://parley.example/a", "https://parley.example/a"),
        ("<https://parley.example>", "https://parley.example", "https://parley.example"),
        ("www.parley.com", "http://www.parley.com", "www.parley.com"),
        ("[mail](mailto:a@parley.example)", "mailto:a@parley.example", "mail"),
    ],
)
def test_links(body, href, text):
    reader = Reader(to_html(body))
    (link,) = (attributes for tag, attributes in reader.found if tag == "a")
    assert link["href"] == href
    assert link["rel"] == "nofollow noopener noreferrer ugc"
    assert reader.text.strip() == text


@pytest.mark.parametrize(
    "body",
    [
        "# Heading",
        "Heading\n=======",
        "<b>bold</b>",
        "<script>alert(1)</script>",
        "<!-- hidden -->",
        "| a | b |\n| - | - |\n| 1 | 2 |",
        "~~gone~~",
        "---",
        "[x]: https://parley.example\n\n[x]",
        "&lt;b&gt;",
        "Term\n: Definition",
    ],
)
def test_syntax_outside_the_subset_is_shown_literally(body):
    reader = Reader(to_html(body))
    assert {tag for tag, _ in reader.found} <= {"p", "br", "a"}
    assert re.sub(r"\s", "", reader.text) == re.sub(r"\s", "", body)


def test_an_image_is_rendered_as_a_link():
    reader = Reader(to_html("![cat](https://parley.example/cat.png)"))
    assert [tag for tag, _ in reader.found] == ["p", "a"]
    assert reader.text.strip() == "!cat"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("**Yes**, *all* of `it`", "Yes, all of it"),
        ("one\ntwo\n\nthree", "one two three"),
        ("- milk\n- eggs", "milk eggs"),
        ("> quoted\n\nanswer", "quoted answer"),
        ("[our studio](https://parley.example)", "our studio"),
        ("https://parley.example", "https://parley.example"),
        ("```\ncode\n```", "code"),
        (r"2 \* 3", "2 * 3"),
        ("fish &amp; chips", "fish &amp; chips"),
        ("1 < 2 & 3", "1 < 2 & 3"),
        ("a\\\nb", "a b"),
        ("    indented", "indented"),
    ],
)
def test_a_preview_omits_the_markup(body, text):
    assert to_text(body) == text


# --- Plain text skips the parser with the same result

PLAIN = st.text("abcÄß字 ,;?!'\".()-–1", min_size=1, max_size=40)


@given(body=PLAIN | st.text(max_size=40))
def test_unparsed_text_renders_like_parsed_text(body):
    assert markdown.to_html(body) == markdown._parsed_to_html(body)
    assert markdown.to_text(body) == markdown._parsed_to_text(body)


@pytest.mark.parametrize(
    "body",
    [
        *("Hello there.", "See you at ten, or (maybe) eleven?", "Example.com", "a.b", "e.g. this"),
        *("www.example.com", "me@example.com", "1. First", "Well...", "It - is", "- item", "a - b"),
        *(
            "a\u00a0b",
            "a  b",
            "end. ",
            "x\ty",
            "Dr.Who",
            "Ends with dot.",
            "a_b_c",
            "a*b*c",
            "Ⅷ. x",
        ),
    ],
)
def test_examples_of_unparsed_text_render_like_parsed_text(body):
    assert markdown.to_html(body) == markdown._parsed_to_html(body)
    assert markdown.to_text(body) == markdown._parsed_to_text(body)
