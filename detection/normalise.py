"""Normalises text: one form of each letter and digit, no invisible characters, no accents."""

import re
import unicodedata
from functools import cache

KEYCAP = re.compile("([0-9#*])\ufe0f?\u20e3")
NOT_ASCII = re.compile("[^\x00-\x7f]+")
OTHER_ALPHABET = re.compile("[\u0370-\u058f\u13a0-\u13ff\u1d00-\u1dbf\ua4d0-\ua4ff]")
WORD = re.compile(r"[^\W_]+")
LATIN = re.compile("[a-z0-9]")
# Letters in flags and boxes, and signs that are not decomposed by Unicode.
BOXED = {
    code + offset: chr(ord("a") + offset)
    for code in (0x1F1E6, 0x1F130, 0x1F150, 0x1F170)
    for offset in range(26)
}
EXTRA = {
    **{"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "€": " eur "},
    **{"⓪": "0", "🄋": "0", "’": "'", "‘": "'", "。": ". ", "、": ", ", "，": ", "},
    **{"！": "! ", "？": "? ", "：": ": "},
}
# Lookalikes that the Unicode list does not contain, or lists with another letter.
LOOKALIKES = dict(zip("бвгдезикмнртцшьηωυιν", "6brde3ukmhptuwbnwuiv", strict=True))
INVISIBLE = "\ufe0f\u034f\u115f\u3164"
# Ways to hide a word from a program, but not from a reader.
_OTHER = "[\u0370-\u058f\u13a0-\u13ff\ua4d0-\ua4ff]"
DISGUISES = {
    "homoglyph": re.compile(f"[A-Za-z]{_OTHER}|{_OTHER}[A-Za-z]"),
    "invisible": re.compile("\\w[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\u034f]++[A-Za-z0-9]"),
    "fullwidth": re.compile("[\uff10-\uff5a\U0001d400-\U0001d7ff\u2460-\u24ff]{2}"),
    "emoji": re.compile("[0-9]\ufe0f?\u20e3|[\U0001f130-\U0001f189\U0001f1e6-\U0001f1ff]{3}"),
}
LEET = str.maketrans("0134578@$", "oieastbas")
# Single letters with something between them: i.n.s.t.a and j u n o.
SPACED = re.compile(r"(?<!\w)\w(?:[ .·•*_/|~-]{1,3}\w(?!\w)){3,}")
BLANKS, SIGNS = re.compile("[ ·•*|~]"), re.compile(r"[\W_]")


def fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    text = KEYCAP.sub(r"\1", text)
    text = NOT_ASCII.sub(lambda run: run[0].translate(_FOLDED), text).lower()
    if OTHER_ALPHABET.search(text):
        text = WORD.sub(_unmask, text)
    return text


def _unmask(word: re.Match[str]) -> str:
    """A word in which letters of another alphabet stand for Latin ones."""
    return "".join(map(_latin, word[0])) if LATIN.search(word[0]) else word[0]


class _Folded(dict[int, str]):
    """A cache of normalised characters."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold_character(chr(code))
        return folded


_FOLDED = _Folded(BOXED)


def _fold_character(character: str) -> str:
    if character in EXTRA:
        return EXTRA[character]
    category = unicodedata.category(character)
    if category in ("Cf", "Cs") or character in INVISIBLE:
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category in ("Zs", "Zl", "Zp"):
        return " " if category == "Zs" else "\n"
    folded = unicodedata.normalize("NFKC", character).lower()
    apart = unicodedata.normalize("NFD", folded)
    # Accents are removed from Latin and Arabic letters; marks of kana are part of the letter.
    if apart[0] < "\u0370" or "\u0620" <= apart[0] <= "\u06ff":
        apart = "".join(mark for mark in apart if not unicodedata.combining(mark))
        return EXTRA.get(apart, apart)
    return folded


@cache
def _latin(letter: str) -> str:
    """The Latin letter that this one looks like, or the letter itself."""
    if letter in LOOKALIKES or not OTHER_ALPHABET.match(letter):
        return LOOKALIKES.get(letter, letter)
    # Imported late: its data takes time to load, and most processes never need it.
    from confusable_homoglyphs import confusables

    found = confusables.is_confusable(letter, greedy=True, preferred_aliases=[])
    alike = [one["c"].lower() for each in found or [] for one in each["homoglyphs"]]
    return next((one for one in alike if one.isascii() and one.isalpha()), letter)


def disguises_of(text: str) -> list[str]:
    if text.isascii():
        return []
    return [name for name, pattern in DISGUISES.items() if pattern.search(text)]


def unleet(word: str) -> str:
    """Replaces digits in a word with letters, as in wh4ts4pp."""
    return word.translate(LEET)


def close_up(text: str, *, keep_dots: bool = False) -> str:
    """Joins spaced-out words, with or without the dot before a top-level domain."""

    def join(found: re.Match[str]) -> str:
        return (BLANKS if keep_dots and "." in found[0] else SIGNS).sub("", found[0])

    return SPACED.sub(join, text)
