"""Initials and a stable colour for users without an avatar image."""

import unicodedata
import zlib

TONES = 12
_JOINER = "\u200d"
_NON_JOINER = "\u200c"
_VIRAMA = 9  # Combining class of the sign that joins two consonants into one letter.


def avatar_tone(user_id: str) -> int:
    return zlib.crc32(user_id.encode()) % TONES


def initials(name: str) -> str:
    """The first letters of the first and the last word, as grapheme clusters, in any script."""
    words = unicodedata.normalize("NFC", name).split()
    letters = [_first_letter(word) for word in ([words[0], words[-1]] if words[1:] else words)]
    # Adjacent Arabic letters would join into a word.
    joins = any(unicodedata.bidirectional(letter[0]) == "AL" for letter in letters)
    return (_NON_JOINER if joins else "").join(letters)


def _first_letter(word: str) -> str:
    start = next((i for i, char in enumerate(word) if char.isalnum()), 0)
    end = start + 1
    while end < len(word) and _continues(word[start:end], word[end]):
        end += 1
    return _as_capital(word[start:end])


def _continues(letter: str, char: str) -> bool:
    before = letter[-1]
    return (
        unicodedata.category(char) in {"Mn", "Mc", "Me", "Cf"}
        or before == _JOINER
        or unicodedata.combining(before) == _VIRAMA
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # Skin tone modifiers.
        or (_is_flag_half(char) and _is_flag_half(letter))
    )


def _is_flag_half(text: str) -> bool:
    return len(text) == 1 and "\U0001f1e6" <= text <= "\U0001f1ff"


def _as_capital(letter: str) -> str:
    # Not upper(): Georgian has capitals but does not use them in names.
    capital = letter.title()
    return capital if len(capital) == len(letter) else letter
