"""What the model sees of a text: its words, parts of words and neighbours, with numbers and
addresses as what they are rather than which, and what the words mean whatever their language."""

import re
from itertools import combinations
from zlib import crc32

from moderation.detection.addresses import LINK, SIGNED
from moderation.detection.lexicon import turns
from moderation.detection.numbers import DATES, PRICES, SIZES
from moderation.detection.words import Sentence

BUCKETS = 1 << 15
MOST_WORDS = 220
TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|[?]")
# Scripts without spaces between words.
TELLING = frozenset(turns("telling_meanings"))
DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
LONG_NUMBER = re.compile(r"\d{10,}")
STANDS_FOR = (
    (
        re.compile(r"\.(?:jpe?g|png|gif|tiff?|nef|heic|psd|pdf|zip|mp4|mov|wav|mp3|svg)(?!\w)"),
        " xfile ",
    ),
    (re.compile(r"[\"“”„«»「」]"), " xquote "),
    (SIGNED, " xmail "),
    (LINK, " xlink "),
    (DATES, " xdate "),
    (PRICES, " xprice "),
    (SIZES, " xsize "),
)


def features(plain: str, spoken: list[Sentence]) -> set[int]:
    found = {crc32(one.encode()) % BUCKETS for one in _named(plain)}
    found.update(crc32(one.encode()) % BUCKETS for one in _meant(spoken))
    return found


def _named(plain: str) -> set[str]:
    # Of a number it only matters that it is long; a very long one would be read over and over.
    plain = LONG_NUMBER.sub("9" * 9, plain)
    for pattern, name in STANDS_FOR:
        plain = pattern.sub(name, plain)
    words = [_masked(word) for word in TOKEN.findall(plain)[:MOST_WORDS]]
    named = {f"w {word}" for word in words}
    named.update(f"b {one} {two}" for one, two in zip(words, words[1:], strict=False))
    named.update(f"k {one} {two}" for one, two in zip(words, words[2:], strict=False))
    for word in words:
        if DENSE.search(word):
            named.update(word[at : at + size] for size in (1, 2, 3) for at in range(len(word)))
        elif len(word) > 4:
            named.add(f"p {word[:4]}")
    if len(words) <= 4:
        named.add("short")
    return named


def _masked(word: str) -> str:
    return f"#{min(len(word), 8)}" if word[0].isdecimal() else word


def _meant(spoken: list[Sentence]) -> set[str]:
    meant: set[str] = set()
    for sentence in spoken:
        placed = sorted(
            {(at, one.lstrip("~")) for one, places in sentence.places.items() for at in places}
        )
        meanings = sorted({one for _, one in placed})
        meant.update(f"m {one}" for one in meanings)
        meant.update(f"mm {one} {two}" for one, two in combinations(meanings, 2))
        for trio in combinations([one for one in meanings if one in TELLING], 3):
            meant.add(f"mt {' '.join(trio)}")
        for here, (at, one) in enumerate(placed):
            for beyond, two in placed[here + 1 : here + 8]:
                if 0 < beyond - at <= 3:
                    meant.add(f"mn {one} {two}")
        if sentence.refuses:
            meant.add("m refuses")
    return meant
