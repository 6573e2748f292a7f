"""Reads a text as words with meanings, of which most have none."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from operator import attrgetter
from typing import NamedTuple

import re2

from detection.lexicon import UNSPACED, lexicon, meanings_of, phrases_in
from detection.normalise import close_up, disguises_of, fold

DIGIT = re.compile(r"\d")
PART = re.compile(r"[^\W_]+(?:['][^\W_]+)*")
DIGIT_IN_WORD = re.compile(r"[^\W\d_]\d|\d[^\W\d_]")
# Between a word in Latin letters and others without spaces.
_UNSPACED = UNSPACED.pattern
UNSPACED_EDGE = re.compile(rf"(?<={_UNSPACED})(?=[a-z0-9@_])|(?<=[a-z0-9_])(?={_UNSPACED})")
# Positions between two sentences: more than any reach.
SENTENCE_ENDS, SENTENCE_GAP = ".!?;", 50
MAX_TOKEN_CHARS = 40
# Signs of a text, all of which are searched for in one pass.
GATES = {
    "digits": r"[0-9](?:[^a-np-wyz0-9\n]{0,3}[0-9]){5}",
    "mixed": r"[a-z][0-9]|[0-9][a-z]",
    "spaced": r"(?:^|[^a-z0-9_])[a-z0-9](?:[ .·•*_/|~-]{1,3}[a-z0-9]){3}(?:$|[^a-z0-9_])",
    "sign": r"[@#$]",
    "dotted": r"[^\s.]\.[a-z]{2}|://",
    "bracket": r"[\[({<|] ?(?:[@.]|[a-z0-9]{1,12}) ?[\])}>|]|[🐒🙈🌀🐌⚫🔴🔵🔘⏺●➗➖]",
    "backwards": r"(?:moc|ten|gro|elpmaxe)\.",
    "parted": r"[a-z0-9] [.@/] ?[a-z]{2}",
    "rings": r"[☎📞📱🤙📲]",
    "quotes": r"[\"«»“”„「『]|(?:^|\s)'[^'\s][^'\n]{2,40}'",
}
# Forms of a word that count as meanings.
FORMS = {
    "#at": re.compile("@"),
    "#link": re.compile(r"://|^www\.|\w\.(?:com|net|org|de|es|fr|it|pt|br|nl|pl|io|me|example)\b"),
    "#name": re.compile(r"[a-z][._][a-z0-9]|[a-z]{2}\d{2,}"),
    "#file": re.compile(r"\.(?:jpe?g|png|pdf|mp4|mov|zip|tiff?|psd|wav|raw|docx?|txt)\b"),
    "#price": re.compile(r"[$£%]|\d(?:eur|usd|k)(?![a-z])"),
    "#time": re.compile(r"^\W*\d{1,2}[:h]\d{0,2}\W*$|^\d{1,2}(?:am|pm)"),
    "#size": re.compile(r"\d[x×]\d|\d(?:mm|cm|px|dpi|fps|mb|gb|kg|km|min)(?![a-z])"),
    "#digits": re.compile(r"\d\D?\d\D?\d"),
    "#number": re.compile(r"(?:\d\D{0,2}){7}"),
    "#leet": re.compile(r"[a-z]\d+[a-z]"),
    "#quote": re.compile(r"^[\"'«“„「『]|[\"»”」』]$"),
    "#asks": re.compile(r"\?$"),
    "#shouts": re.compile("!$"),
    "#colon": re.compile(":$"),
}


def _make_gates() -> re2.Set:
    options = re2.Options()
    options.log_errors = False
    gates = re2.Set.SearchSet(options)
    for pattern in GATES.values():
        gates.Add(pattern)
    gates.Compile()
    return gates


_GATES, _GATE_NAMES = _make_gates(), tuple(GATES)


class Word(NamedTuple):
    parts: tuple[str, ...]
    meanings: tuple[str, ...]
    # By how much it advances the position in the text.
    span: int
    is_number: bool


# Cached without the values of digits: numbers seldom repeat.
@lru_cache(maxsize=8192)
def _forms_of(token: str) -> list[str]:
    return [name for name, pattern in FORMS.items() if pattern.search(token)]


# Cached: words repeat.
@lru_cache(maxsize=32_768)
def read_word(token: str) -> Word:
    parts = tuple(PART.findall(token))
    found = {*_forms_of(DIGIT.sub("0", token))} if not token.isalpha() else set()
    found.update(*map(meanings_of, parts))
    numbers = lexicon().numbers
    is_number = any(part in numbers or DIGIT_IN_WORD.search(part) for part in parts)
    if is_number:
        found.add("#spelled")
    # Without spaces, a word has about two characters.
    span = 1 + (len(token) // 2 if UNSPACED.search(token) else 0)
    span += SENTENCE_GAP if token[-1] in SENTENCE_ENDS else 0
    return Word(parts, tuple(sorted(found)), span, is_number)


@dataclass(frozen=True)
class Reading:
    folded: str
    # Spaced-out words are joined.
    tokens: list[str]
    words: list[Word]
    gates: frozenset[str]
    # Positions and their meanings, in the order of the text.
    sequence: list[tuple[int, tuple[str, ...]]]

    @cached_property
    def places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for at, meanings in self.sequence:
            for meaning in meanings:
                places.setdefault(meaning, []).append(at)
        return places

    def has(self, *meanings: str) -> bool:
        return not self.places.keys().isdisjoint(meanings)

    def follows(self, first: str, then: str, reach: int) -> bool:
        # The nearest position after each, by bisection: both lists are sorted and may be long.
        after = self.places.get(then, [])
        nexts = ((here, bisect_right(after, here)) for here in self.places.get(first, ()))
        return any(at < len(after) and after[at] - here <= reach for here, at in nexts)

    def near(self, one: str, other: str, reach: int) -> bool:
        return self.follows(one, other, reach) or self.follows(other, one, reach)


def read(text: str) -> Reading:
    folded = fold(text)
    gates = map(_GATE_NAMES.__getitem__, _GATES.Match(folded) or ())
    all_gates = frozenset((*gates, *disguises_of(text)))
    tokens = tokens_of(close_up(folded) if "spaced" in all_gates else folded)
    words = [*map(read_word, tokens)]
    ats = [*accumulate(map(attrgetter("span"), words), initial=0)]
    sequence = [(at, word.meanings) for at, word in zip(ats, words, strict=False) if word.meanings]
    plain = " ".join(tokens)
    for start, meaning in phrases_in(plain):
        sequence.append((_position(plain, start, ats), (meaning,)))
    return Reading(folded, tokens, words, all_gates, sorted(sequence))


def tokens_of(text: str) -> list[str]:
    if not text.isascii():
        text = UNSPACED_EDGE.sub(" ", text)
    tokens, size = text.replace("\n", " . ").split(), MAX_TOKEN_CHARS
    if max(map(len, tokens), default=0) <= size:
        return tokens
    return [token[at : at + size] for token in tokens for at in range(0, len(token), size)]


def _position(plain: str, start: int, ats: list[int]) -> int:
    within = start - plain.rfind(" ", 0, start) - 1
    return ats[plain.count(" ", 0, start)] + within // 2
