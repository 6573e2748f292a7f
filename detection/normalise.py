"""Text as a reader takes it in, whatever characters it is made of: one form of each letter and
digit, nothing invisible, no accents. Each step is one pass."""

import re
import unicodedata
from functools import lru_cache

# Letters of other alphabets that look like ours. Only inside words that also have ours, so that
# text in those alphabets stays what it is.
LOOKALIKES = str.maketrans(
    "абвгдеёзикмнорстухцшьіјѕһѵԁԛԝαβγεηικμνορτυχωϲ",
    "a6brdee3ukmhopctyxuwbijshvdqwabyenikuvoptuxwc",
)
KEYCAP = re.compile("([0-9#*])\ufe0f?\u20e3")
CIRCLED = {ord("⓪"): "0", ord("🄋"): "0"}
# Letters as flags and boxes.
BOXED = {
    code + offset: chr(ord("a") + offset)
    for code in (0x1F1E6, 0x1F130, 0x1F150, 0x1F170)
    for offset in range(26)
}
MIXED = re.compile(r"[a-z][^\W\da-z_]|[^\W\da-z_][a-z]")
WORD = re.compile(r"[^\W_]+")
LEET = str.maketrans("0134578@$", "oieastbas")
UNLEET = str.maketrans("oilsbzeat", "011582347")
EXTRA = {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ı": "i", "€": " eur "}


def _fold_character(character: str) -> str:
    if character in "\n\t" or " " <= character <= "~":
        return character.lower()
    if character in EXTRA:
        return EXTRA[character]
    category = unicodedata.category(character)
    if category == "Cf" or character in "\ufe0f\u034f\u115f\u3164":
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category in ("Zs", "Zl", "Zp"):
        return " " if category == "Zs" else "\n"
    folded = unicodedata.normalize("NFKC", character).lower()
    apart = unicodedata.normalize("NFD", folded)
    # Accents go from Latin and Arabic letters; a kana's marks are part of it.
    if apart[0] < "\u0250" or "\u0620" <= apart[0] <= "\u06ff":
        apart = "".join(mark for mark in apart if not unicodedata.combining(mark))
        return EXTRA.get(apart, apart)
    return folded


class _Folded(dict[int, str]):
    """What each character becomes, worked out once."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold_character(chr(code))
        return folded


_FOLDED = _Folded(CIRCLED | BOXED)


def fold(text: str) -> str:
    return text.lower() if text.isascii() else _fold_odd(text)


# Each text is one of the few before the next ones, too.
@lru_cache(maxsize=2048)
def _fold_odd(text: str) -> str:
    text = KEYCAP.sub(r"\1", text).translate(_FOLDED)
    if not text.isascii() and MIXED.search(text):
        text = WORD.sub(_unmask, text)
    return text


def _unmask(word: re.Match[str]) -> str:
    return word[0].translate(LOOKALIKES) if MIXED.search(word[0]) else word[0]


BLANKS = re.compile("[ ·•*|~]")
SIGNS = re.compile("[ ·•*_/|~-]")
SPACED = re.compile(r"(?<!\w)\w(?:[ .·•*_/|~-]{1,3}\w(?!\w)){3,}")


def close_up(text: str) -> str:
    """i.n.s.t.a and j u n o, as one reads them. A dot before the end of an address stays, and what
    can stand after it."""
    return SPACED.sub(lambda found: (BLANKS if "." in found[0] else SIGNS).sub("", found[0]), text)


def without_dots(text: str) -> str:
    return SPACED.sub(lambda found: re.sub(r"\W|_", "", found[0]), text)


def count_odd_digits(text: str) -> int:
    """Digits that no keyboard gives by itself: as emoji, in circles, as wide as letters."""
    if text.isascii():
        return 0
    odd = sum(
        not char.isascii() and not "\u0600" <= char <= "\u06ff"
        for char in filter(str.isdigit, text)
    )
    return odd + len(KEYCAP.findall(text))


def unleet(word: str) -> str:
    """wh4ts4pp, as one reads it."""
    return word.translate(LEET)


def redigit(word: str) -> str:
    """O1l2, as one reads it."""
    return word.translate(UNLEET)
